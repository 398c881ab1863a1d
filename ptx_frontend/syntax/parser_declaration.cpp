// Declarations: registers, variables, parameters and initialisers.
#include <bit>

#include "ptx_frontend/isa/modifier_field.hpp"
#include "ptx_frontend/syntax/parser.hpp"

namespace ptxwire::ptx {

bool Parser::parse_name(std::string_view& name, SourceRange& range, std::string_view what) {
  if (!at_name()) return fail_expected(what);
  name = spelling();
  range = token_.range;
  advance();
  return true;
}

bool Parser::parse_alignment(uint32_t& align) {
  if (!accept_word(".align")) return true;
  const SourceRange range = token_.range;
  uint64_t value = 0;
  if (!parse_integer(value, "a number of bytes after .align")) return false;
  if (!std::has_single_bit(value) || value > (1U << 30)) {
    fail_at(range, "bad-alignment", "alignment " + std::to_string(value) + " is not a power of two");
    value = 1;
  }
  align = static_cast<uint32_t>(value);
  return true;
}

/// [.v2 | .v4] .type
bool Parser::parse_type(Symbol& symbol) {
  if (accept_word(".v2")) {
    symbol.vector = 2;
  } else if (accept_word(".v4")) {
    symbol.vector = 4;
  }
  if (token_.kind != TokenKind::dot_word) return fail_expected("a type such as .b32");
  symbol.type = type_from_word(spelling().substr(1));
  // Texture, sampler and surface references are 64-bit handles.
  if (at_word(".texref") || at_word(".samplerref") || at_word(".surfref")) symbol.type = Type::u64;
  const bool declarable = is_bits(symbol.type) || is_signed_integer(symbol.type) ||
                          is_unsigned_integer(symbol.type) || symbol.type == Type::pred ||
                          symbol.type == Type::f16 || symbol.type == Type::f16x2 ||
                          symbol.type == Type::f32 || symbol.type == Type::f64;
  if (!declarable) {
    return fail("unknown-type", "unknown type '" + std::string(spelling()) +
                                    "', expected a type such as .b32, .u64 or .f16x2");
  }
  if (symbol.vector * type_bytes(symbol.type) > 16) {
    return fail("unknown-type", "a vector has at most 128 bits, found " +
                                    std::to_string(8 * symbol.vector * type_bytes(symbol.type)));
  }
  advance();
  return true;
}

bool Parser::parse_dimensions(Symbol& symbol) {
  dimensions_.clear();
  while (accept('[')) {
    symbol.is_array = true;
    if (accept(']')) {
      if (!dimensions_.empty() || symbol.unsized) {
        return fail_at(previous_, "bad-dimension", "only the first dimension may be left open");
      }
      symbol.unsized = true;
      dimensions_.push_back(0);
      continue;
    }
    const SourceRange range = token_.range;
    uint64_t count = 0;
    if (!parse_integer(count, "a number of elements")) return false;
    if (count == 0 && dimensions_.empty()) {  // [0] is [] in other words
      if (!expect(']', "after the array dimension")) return false;
      symbol.unsized = true;
      dimensions_.push_back(0);
      continue;
    }
    if (static_cast<int64_t>(count) <= 0 ||
        (symbol.elements != 0 && count > (uint64_t{1} << 40) / symbol.elements)) {
      fail_at(range, "bad-dimension", "array dimension must be between 1 and 2^40 elements");
      count = 1;
    }
    dimensions_.push_back(count);
    if (!expect(']', "after the array dimension")) return false;
    symbol.elements *= count;
  }
  if (symbol.unsized) symbol.elements = 0;
  return true;
}

/// name [<count>] [dimensions]
bool Parser::parse_declarator(Symbol& symbol) {
  if (!parse_name(symbol.name, symbol.range, "a name")) return false;
  if (symbol.name == "_")
    return fail_at(symbol.range, "syntax-error", "'_' is no name, it stands for a result that is not wanted");
  if (accept('<')) {
    const SourceRange range = token_.range;
    ConstantValue value;
    // The '>' ends the range: no comparison may be in it.
    if (!at_constant()) return fail_expected("a number of registers");
    if (!parse_binary(value, kAbovePrecedenceOfComparison)) return false;
    uint64_t count = value.is_integer() ? value.bits : 0;
    if (!value.is_integer() || count > (1U << 24)) {
      fail_at(range, "bad-register-count", "a register range has at most 2^24 registers");
      count = 1;
    }
    symbol.parametrised = true;
    symbol.count = static_cast<uint32_t>(count);
    return expect('>', "after the number of registers");
  }
  return parse_dimensions(symbol);
}

bool Parser::parse_registers(std::vector<Symbol>& into, uint32_t scope) {
  Symbol prototype;
  prototype.kind = SymbolKind::reg;
  prototype.space = Space::reg;
  prototype.scope = scope;
  if (!parse_alignment(prototype.align) || !parse_type(prototype)) return false;
  if (accept(';')) return true;  // declares nothing
  do {
    Symbol symbol = prototype;
    if (!parse_declarator(symbol)) return false;
    if (symbol.is_array)
      return fail_at(symbol.range, "bad-dimension", "registers have no array dimensions, expected <count>");
    into.push_back(std::move(symbol));
  } while (accept(','));
  return expect_semicolon();
}

bool Parser::parse_variables(Linkage linkage, Space space, std::vector<Symbol>& into, uint32_t scope) {
  Symbol prototype;
  prototype.kind = space == Space::param ? SymbolKind::parameter : SymbolKind::variable;
  prototype.space = space;
  prototype.linkage = linkage;
  prototype.scope = scope;
  if (!parse_attribute() || !parse_alignment(prototype.align) || !parse_type(prototype)) return false;
  if (accept(';')) return true;  // declares nothing
  do {
    Symbol symbol = prototype;
    if (!parse_declarator(symbol)) return false;
    if (accept('=')) {
      if (space != Space::global && space != Space::constant) {
        fail_at(symbol.range, "bad-initialiser",
                "'" + std::string(symbol.name) +
                    "' cannot be initialised, only .global and .const variables can");
      }
      if (!parse_initialiser(symbol)) return false;
    }
    into.push_back(std::move(symbol));
  } while (accept(','));
  return expect_semicolon();
}

/// .param|.reg [.align n] .type [.ptr [.space] [.align n]] name [dims]
bool Parser::parse_parameter(Symbol& symbol, bool name_optional) {
  if (accept_word(".param")) {
    symbol.kind = SymbolKind::parameter;
    symbol.space = Space::param;
  } else if (accept_word(".reg")) {
    symbol.kind = SymbolKind::reg;
    symbol.space = Space::reg;
  } else {
    return fail_expected("'.param' in a parameter list");
  }
  if (!parse_alignment(symbol.align) || !parse_type(symbol)) return false;
  if (accept_word(".ptr")) {
    symbol.pointer = true;
    uint32_t pointee_align = 0;
    for (std::string_view word : {".const", ".global", ".local", ".shared"}) {
      if (accept_word(word)) break;
    }
    if (!parse_alignment(pointee_align)) return false;
  }
  if (name_optional && (token_.is(',') || token_.is(')'))) return true;
  if (name_optional && at_name() && spelling() == "_") {
    advance();
    return parse_dimensions(symbol);
  }
  return parse_declarator(symbol);
}

bool Parser::parse_parameter_list(std::vector<Symbol>& parameters, bool name_optional) {
  if (!expect('(', "before the parameters")) return false;
  if (accept(')')) return true;
  do {
    Symbol symbol;
    if (!parse_parameter(symbol, name_optional)) return false;
    parameters.push_back(std::move(symbol));
  } while (accept(','));
  return expect(')', "after the parameters");
}

// ---------------------------------------------------------------- initialisers

bool Parser::parse_initialiser(Symbol& symbol) {
  const bool aggregate = symbol.is_array || symbol.vector > 1;
  if (symbol.vector > 1) dimensions_.push_back(symbol.vector);
  if (!aggregate) return parse_initialiser_item(symbol, 0);
  if (!token_.is('{')) return fail_expected("'{' before the initial values of an array");
  return parse_initialiser_list(symbol, 0, 0);
}

/// Values of dimension `dimension`; `first` is the number of the scalar they begin with.
bool Parser::parse_initialiser_list(Symbol& symbol, size_t dimension, uint64_t first) {
  if (!expect('{', "before initial values")) return false;
  ++open_braces_;
  uint64_t stride = 1;
  for (size_t i = dimension + 1; i < dimensions_.size(); ++i) stride *= dimensions_[i];
  const bool open = dimension == 0 && symbol.unsized;
  uint64_t n = 0;
  if (!token_.is('}')) {
    do {
      if (!open && n >= dimensions_[dimension]) {
        return fail("bad-initialiser", "more initial values than elements, the dimension has " +
                                           std::to_string(dimensions_[dimension]));
      }
      const bool nested = dimension + 1 < dimensions_.size();
      if (nested && token_.is('{')) {
        if (!parse_initialiser_list(symbol, dimension + 1, first + n * stride)) return false;
      } else if (nested) {
        return fail_expected("'{' before the values of an inner dimension");
      } else if (!parse_initialiser_item(symbol, first + n)) {
        return false;
      }
      ++n;
    } while (accept(','));
  }
  if (open) {
    symbol.elements = n * stride / symbol.vector;
    symbol.unsized = false;
  }
  if (!expect('}', "after the initial values")) return false;
  --open_braces_;
  return true;
}

/// A constant, a symbol (generic(sym) or not) with an addend, or one byte of an address: 0xff00(sym).
bool Parser::parse_initialiser_item(Symbol& symbol, uint64_t index) {
  InitialiserItem item;
  item.bytes = static_cast<uint8_t>(type_bytes(symbol.type));
  item.offset = index * item.bytes;
  if (at_constant()) {
    if (!parse_initialiser_constant(symbol, item)) return false;
    if (!token_.is('(')) {
      if (item.bytes < 8) item.value &= (uint64_t{1} << (8 * item.bytes)) - 1;
      symbol.initialiser.push_back(item);
      return true;
    }
  }
  const bool masked = accept('(');
  if (masked) {
    const int shift = std::countr_zero(item.value);
    if (item.value == 0 || shift % 8 != 0 || item.value != uint64_t{0xff} << shift || item.bytes != 1) {
      return fail("bad-initialiser",
                  "a mask selects one byte of an address (0xff, 0xff00, ...) for an 8-bit element");
    }
    item.mask_shift = static_cast<uint8_t>(shift);
    item.value = 0;
  }
  if (at_name() && spelling() == "generic") {
    item.generic = true;
    advance();
    if (!expect('(', "after generic")) return false;
  }
  SourceRange range;
  if (!parse_name(item.name, range, "an initial value: a constant or the name of a variable or function"))
    return false;
  if (item.generic && !expect(')', "after the symbol")) return false;
  if (accept('+') && !parse_integer(item.value, "an addend")) return false;
  if (masked && !expect(')', "after the symbol")) return false;
  symbol.initialiser.push_back(item);
  return true;
}

bool Parser::parse_initialiser_constant(const Symbol& symbol, InitialiserItem& item) {
  const SourceRange range = token_.range;
  ConstantValue value;
  if (!parse_constant(value)) return false;
  if (symbol.type == Type::f16 || symbol.type == Type::f16x2) {
    return fail_at(
        range, "bad-initialiser",
        "a " + std::string(symbol.type == Type::f16 ? ".f16" : ".f16x2") + " variable takes no initial value",
        "declare it .b16 or .b32 and give the bit pattern");
  }
  const bool wants_float = is_float(symbol.type);
  const bool raw_bits = is_bits(symbol.type) && type_bytes(symbol.type) >= 4;
  if (wants_float == value.is_integer() && !raw_bits) {
    return fail_at(range, "bad-initialiser",
                   wants_float ? "expected a floating-point initial value (1.0, 0f3F800000)"
                               : "expected an integer initial value");
  }
  item.value = value.bits;
  if (item.bytes == 4 && value.kind == ConstantValue::Kind::f64) {
    item.value = std::bit_cast<uint32_t>(static_cast<float>(value.real()));
  } else if (item.bytes == 8 && value.kind == ConstantValue::Kind::f32) {
    item.value = std::bit_cast<uint64_t>(value.real());
  }
  return true;
}

}  // namespace ptxwire::ptx
