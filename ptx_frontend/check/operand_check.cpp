#include "ptx_frontend/check/operand_check.hpp"

#include <algorithm>
#include <bit>

#include "ptx_frontend/check/operand_message.hpp"
#include "ptx_frontend/isa/special_register.hpp"
#include "ptx_frontend/syntax/selector.hpp"

namespace ptxwire::ptx {
namespace {

using Result = std::optional<OperandError>;

Type wide_type(Type type) {
  switch (type) {
    case Type::u16:
      return Type::u32;
    case Type::s16:
      return Type::s32;
    case Type::u32:
      return Type::u64;
    case Type::s32:
      return Type::s64;
    default:
      return type;
  }
}

bool is_packed(Type type) {
  return type == Type::f16x2 || type == Type::bf16x2 || type == Type::u16x2 || type == Type::s16x2 ||
         type == Type::f32x2;
}

}  // namespace

std::string type_name(Type type) {
  static constexpr std::string_view kNames[] = {
      "none", "pred", "b8",   "b16",    "b32",    "b64",   "b128", "u8",     "u16",  "u32", "u64",
      "s8",   "s16",  "s32",  "s64",    "f16",    "f16x2", "bf16", "bf16x2", "tf32", "f32", "f32x2",
      "f64",  "e4m3", "e5m2", "e4m3x2", "e5m2x2", "u8x4",  "s8x4", "u16x2",  "s16x2"};
  return "." + std::string(kNames[static_cast<size_t>(type)]);
}

bool register_fits(Type reg, Type type, bool wider) {
  if (reg == Type::pred || type == Type::pred) return reg == type;
  const unsigned have = type_bytes(reg), want = type_bytes(type);
  if (wider ? have < want : have != want) return false;
  if (is_bits(type)) return true;
  if (is_signed_integer(type) || is_unsigned_integer(type))
    return is_integer_or_bits(reg) || reg == Type::f16x2;
  // Floating types: the very type, or untyped bits.
  return reg == type || is_bits(reg);
}

const Symbol* OperandChecker::symbol_of(const Operand& operand) const {
  if (operand.symbol == kNoSymbol) return nullptr;
  if ((operand.symbol & kModuleSymbolBit) != 0) return &module_.symbols[operand.symbol & ~kModuleSymbolBit];
  return &function_.symbols[operand.symbol];
}

std::string_view OperandChecker::selector_of(const Operand& operand) const {
  const std::string_view text =
      std::string_view(*module_.text).substr(operand.range.begin, operand.range.end - operand.range.begin);
  return text.substr(text.rfind('.') + 1);
}

Type OperandChecker::register_type(const Operand& operand) const {
  if (operand.kind == OperandKind::special) return special_register_info(operand.special).type;
  const Symbol* symbol = symbol_of(operand);
  return symbol != nullptr && symbol->kind == SymbolKind::reg ? symbol->type : Type::none;
}

// ---------------------------------------------------------------- registers, constants, symbols

Result OperandChecker::check_constant(const OperandSpec& spec, Type type, const Operand& operand) const {
  if (spec.destination) return mismatch(operand, "a destination must be a register, found a constant");
  if (spec.register_only) return mismatch(operand, "expected a register, found a constant");
  const bool integer = operand.kind == OperandKind::integer;
  const bool single = operand.kind == OperandKind::float32;
  if (is_packed(type) || type == Type::f16 || type == Type::bf16 || type == Type::tf32) {
    return mismatch(
        operand, "constants of type " + type_name(type) + " do not exist, expected a register",
        "move the bit pattern into a .b" + std::to_string(8 * type_bytes(type)) + " register first");
  }
  if (type == Type::f32 || type == Type::f64) {
    if (integer)
      return mismatch(operand,
                      "expected a floating-point constant for type " + type_name(type) + ", found an integer",
                      "write 1.0 or 0f3F800000");
    return {};
  }
  if (!integer) {
    const bool bits_fit = is_bits(type) && type_bytes(type) == (single ? 4U : 8U);
    if (!bits_fit)
      return mismatch(operand, "expected an integer constant for type " + type_name(type) +
                                   ", found a floating-point constant");
    return {};
  }
  const bool in_range = !spec.ranged || (operand.value >= spec.low && operand.value <= spec.high &&
                                         operand.value % spec.step == 0 &&
                                         (!spec.power_of_two || std::has_single_bit(operand.value)));
  if (!in_range) {
    std::string range = std::to_string(spec.low);
    if (spec.high != spec.low) range += " to " + std::to_string(spec.high);
    if (spec.step > 1) range += " in steps of " + std::to_string(spec.step);
    if (spec.power_of_two) range += ", a power of two";
    return OperandError{"operand-range",
                        operand.range,
                        "constant " + std::to_string(static_cast<int64_t>(operand.value)) +
                            " is out of range, expected " + range,
                        {}};
  }
  return {};
}

Result OperandChecker::check_special(const OperandSpec& spec, Type type, const Operand& operand) const {
  const SpecialRegisterInfo& info = special_register_info(operand.special);
  if (spec.destination && !spec.in_vector)
    return mismatch(operand, "special registers are read-only, expected a register as destination");
  if (!spec.special && !spec.in_vector) {
    return mismatch(operand, "a special register cannot be used here, only mov and cvt read it",
                    "move it into a register first");
  }
  if (info.vector && operand.component == 0)
    return mismatch(operand, "this special register is a vector, expected a component such as " +
                                 std::string(info.name) + ".x");
  // %tid and its like were 16-bit registers once and may still be read so.
  const bool legacy = info.vector && info.ptx == 10 && type_bytes(type) == 2 && is_integer_or_bits(type);
  if (legacy || register_fits(info.type, type, spec.wider)) return {};
  return mismatch(operand, std::string(info.name) + " has type " + type_name(info.type) + ", expected " +
                               type_name(type));
}

Result OperandChecker::check_symbol_value(const OperandSpec& spec, Type type, const Operand& operand,
                                          const Symbol& symbol) const {
  const bool variable = symbol.kind == SymbolKind::variable || symbol.kind == SymbolKind::parameter ||
                        symbol.kind == SymbolKind::function || symbol.kind == SymbolKind::alias;
  if (!variable) return mismatch(operand, quoted(symbol.name) + " is a label, expected a register");
  if (spec.destination)
    return mismatch(operand, quoted(symbol.name) + " is not a register, a destination must be one");
  if (!spec.symbol) {
    return mismatch(operand,
                    quoted(symbol.name) + " is a " + std::string(space_name(symbol.space)) +
                        " variable, expected a register or a constant",
                    "take its address with mov, or its value with ld");
  }
  const auto is_it = [&](uint32_t index) { return &function_.symbols[index] == &symbol; };
  const auto& own = function_.parameters;
  if (symbol.space == Space::param && std::none_of(own.begin(), own.end(), is_it) &&
      std::none_of(function_.returns.begin(), function_.returns.end(), is_it)) {
    return mismatch(operand, quoted(symbol.name) + " is an argument of a call, its address cannot be taken",
                    "st.param and ld.param reach it by name");
  }
  const bool near_space = symbol.space == Space::shared || symbol.space == Space::local ||
                          symbol.space == Space::param || symbol.space == Space::constant;
  const unsigned bytes = type_bytes(type);
  if (!is_integer_or_bits(type) || bytes > 8 || bytes < 2 || (!near_space && bytes != 8)) {
    return mismatch(operand, "the address of " + quoted(symbol.name) +
                                 " has 64 bits, expected an integer type of that size such as .u64, found " +
                                 type_name(type));
  }
  return {};
}

Result OperandChecker::check_identifier(const OperandSpec& spec, Type type, const Operand& operand) const {
  const Symbol* symbol = symbol_of(operand);
  if (symbol == nullptr) return {};  // reported when the name was looked up
  if (symbol->kind != SymbolKind::reg) return check_symbol_value(spec, type, operand, *symbol);
  if (operand.negated && spec.destination) return mismatch(operand, "'!' cannot stand before a destination");
  if (operand.negated && symbol->type != Type::pred)
    return mismatch(
        operand, "'!' negates predicates only, " + quoted(operand.name) + " is " + type_name(symbol->type));
  if (symbol->vector > 1 && operand.component == 0) {
    return mismatch(operand, quoted(operand.name) + " is a vector register, expected one component such as " +
                                 std::string(operand.name) + ".x");
  }
  if (operand.component == kSelector)
    return mismatch(operand, "'." + std::string(selector_of(operand)) +
                                 "' selects bytes of a video operand, this instruction has none");
  if (operand.component > (symbol->vector == 1 ? 0 : symbol->vector))
    return mismatch(operand, quoted(operand.name) + " has no component " + std::to_string(operand.component));
  if (register_fits(symbol->type, type, spec.wider)) return {};
  std::string wanted = type == Type::pred ? "a predicate register" : "a register for type " + type_name(type);
  if (type != Type::pred && spec.wider)
    wanted += " (" + std::to_string(8 * type_bytes(type)) + " bits or wider)";
  return mismatch(operand,
                  quoted(operand.name) + " is declared " + type_name(symbol->type) + ", expected " + wanted);
}

Result OperandChecker::check_pair(const OperandSpec& spec, Type type, const Operand& operand) const {
  if (!spec.second_predicate)
    return mismatch(operand, "this instruction has no second result, expected one destination");
  OperandSpec first = spec;
  first.second_predicate = first.needs_second = false;
  if (Result error = check_value(first, type, operand.elements[0])) return error;
  if (operand.elements[0].kind == OperandKind::sink && operand.elements[1].kind == OperandKind::sink)
    return mismatch(operand, "one of the two results must be wanted");
  OperandSpec second = first;
  second.may_sink = !spec.needs_second || type == Type::pred;
  return check_value(second, Type::pred, operand.elements[1]);
}

Result OperandChecker::check_value(const OperandSpec& spec, Type type, const Operand& operand) const {
  if (spec.needs_second && operand.kind != OperandKind::pair) {
    return mismatch(operand, "this instruction has two results, expected a pair d|p");
  }
  switch (operand.kind) {
    case OperandKind::integer:
    case OperandKind::float32:
    case OperandKind::float64:
      return check_constant(spec, type, operand);
    case OperandKind::special:
      return check_special(spec, type, operand);
    case OperandKind::pair:
      return check_pair(spec, type, operand);
    case OperandKind::sink:
      if (spec.may_sink) return {};
      return mismatch(operand, "'_' cannot stand here, expected a register");
    case OperandKind::name_offset:
      if (const Symbol* symbol = symbol_of(operand.elements[0])) {
        if (symbol->kind != SymbolKind::reg) return check_symbol_value(spec, type, operand, *symbol);
        return mismatch(operand, "expected a register or a constant, found a register with an offset");
      }
      return {};
    case OperandKind::identifier:
      if (spec.constant) return mismatch(operand, "expected a constant");
      return check_identifier(spec, type, operand);
    case OperandKind::vector:
      if (operand.elements.size() == 1 && spec.may_brace) return check_value(spec, type, operand.elements[0]);
      return mismatch(operand,
                      "expected one register, found a vector of " + std::to_string(operand.elements.size()));
    case OperandKind::address:
      return mismatch(operand, "expected a register or a constant, found an address");
    default:
      return mismatch(operand, "expected a register or a constant");
  }
}

Result OperandChecker::check_vector(const OperandSpec& spec, Type type, unsigned count,
                                    const Operand& operand) const {
  if (count > 1 && spec.second_predicate) {
    OperandSpec first = spec;
    first.second_predicate = false;
    if (operand.kind != OperandKind::pair) return check_vector(first, type, count, operand);
    if (Result error = check_vector(first, type, count, operand.elements[0])) return error;
    return check_value(first, Type::pred, operand.elements[1]);
  }
  if (count <= 1) return check_value(spec, type, operand);
  if (operand.kind == OperandKind::sink && spec.may_sink) return {};
  if (const Symbol* symbol = symbol_of(operand); symbol != nullptr && symbol->kind == SymbolKind::reg &&
                                                 symbol->vector == count && operand.component == 0) {
    return register_fits(symbol->type, type, spec.wider)
               ? Result{}
               : mismatch(operand, quoted(operand.name) + " is a vector of " + type_name(symbol->type) +
                                       ", expected " + type_name(type));
  }
  if (operand.kind == OperandKind::special && spec.special && operand.component == 0 && count == 4 &&
      special_register_info(operand.special).vector)
    return {};
  if (operand.kind != OperandKind::vector || operand.elements.size() != count) {
    return mismatch(operand, "expected a vector of " + std::to_string(count) + " registers, { ... }");
  }
  OperandSpec element = spec;
  element.may_sink = spec.destination;
  element.in_vector = true;  // there ptxas takes special registers
  for (const Operand& part : operand.elements) {
    if (Result error = check_value(element, type, part)) return error;
  }
  return {};
}

/// mov.b64 d, {a, b}: all parts of one size, which together make the type.
Result OperandChecker::check_parts(const OperandSpec& spec, Type type, const Operand& operand) const {
  if (operand.kind != OperandKind::vector)
    return mismatch(operand, "expected a vector of registers, { ... }");
  const size_t count = operand.elements.size();
  const unsigned bytes = count == 0 ? 0 : type_bytes(type) / static_cast<unsigned>(count);
  if ((count != 1 && count != 2 && count != 4 && count != 8) || bytes == 0) {
    return mismatch(operand, "a vector of " + std::to_string(count) + " registers cannot make up type " +
                                 type_name(type));
  }
  bool any = false;
  for (const Operand& part : operand.elements) {
    if (part.kind == OperandKind::sink && spec.destination) continue;
    if (part.kind == OperandKind::integer && !spec.destination) continue;
    any = true;
    const Type reg = register_type(part);
    if (reg == Type::none && symbol_of(part) == nullptr && part.kind == OperandKind::identifier) continue;
    if (type_bytes(reg) != bytes) {
      return mismatch(part, "expected a register of " + std::to_string(8 * bytes) + " bits, so that " +
                                std::to_string(count) + " make up type " + type_name(type));
    }
  }
  if (!any && spec.destination) return mismatch(operand, "expected at least one register in the vector");
  return {};
}

Result OperandChecker::check_operand(const OperandSpec& spec, const Candidate& candidate,
                                     const Operand& operand, std::string_view spelling) const {
  const Modifiers& m = candidate.modifiers;
  Type type = spec.fixed;
  if (spec.type_source == TypeSource::type) type = m.type;
  if (spec.type_source == TypeSource::source_type) type = m.source_type;
  if (spec.type_source == TypeSource::wide) type = wide_type(m.type);
  switch (spec.kind) {
    case OperandClass::value:
      return spec.vector ? check_vector(spec, type, m.vector, operand) : check_value(spec, type, operand);
    case OperandClass::address:
      return check_address(m.space, operand);
    case OperandClass::source_address:
      return check_address(m.source_space, operand);
    case OperandClass::shared_address:
      return check_address(Space::shared, operand);
    case OperandClass::policy:
      return check_value(OperandSpec{}, Type::u64, operand);
    case OperandClass::cta_mask:
      return check_value(OperandSpec{}, Type::u16, operand);
    case OperandClass::sign:
      if (operand.kind == OperandKind::integer && operand.value + 1 != 2 && operand.value + 1 != 0)
        return mismatch(operand, "expected -1 or 1");
      return check_value(spec, Type::s32, operand);
    case OperandClass::source_size:
      if (register_type(operand) == Type::pred) return {};
      return check_value(OperandSpec{}, Type::u32, operand);
    case OperandClass::bulk_size:
      return check_multiple(operand, 16, "operand-range", "a bulk copy moves a multiple of 16 bytes");
    case OperandClass::parity: {
      OperandSpec bit = spec;
      bit.ranged = true;
      bit.high = 1;
      return check_value(bit, Type::u32, operand);
    }
    case OperandClass::variable: {
      OperandSpec with_symbol = spec;
      with_symbol.symbol = true;
      return check_value(with_symbol, type, operand);
    }
    case OperandClass::parts:
      return check_parts(spec, type, operand);
    case OperandClass::barrier:
      return check_barrier(operand);
    case OperandClass::threads:
      return check_multiple(operand, 32, "thread-count",
                            "a thread count of a barrier is a multiple of the warp size 32");
    case OperandClass::tensor:
      if (operand.kind == OperandKind::address && operand.elements.size() == 2)
        return check_coordinates(operand.elements[1], spelling);
      return mismatch(operand, "expected a tensor map with coordinates, [map, {c0, ...}]");
    case OperandClass::vector:
      return check_braces(operand, "a vector");
    case OperandClass::sink:
      if (operand.kind == OperandKind::sink) return {};
      return mismatch(operand, "expected '_' as destination, this form gives no result");
    case OperandClass::matrix:
      return check_fragment(spec, candidate, operand, spelling);
    case OperandClass::descriptor:
      return check_descriptor(operand);
    case OperandClass::texture:
    case OperandClass::surface:
      return check_texture(m, operand, spelling, spec.kind == OperandClass::surface);
    case OperandClass::gradient:
      return check_gradient(operand, spelling);
    case OperandClass::handle:
      return check_handle(operand, {});
    case OperandClass::part:
    case OperandClass::lanes:
    case OperandClass::mask:
      return check_video(spec, operand);
    case OperandClass::values:
      return check_values(operand);
    case OperandClass::tensor_memory:
      return check_tensor_memory(operand);
    case OperandClass::tensor_matrix:
      if (operand.kind == OperandKind::address) return check_tensor_memory(operand);
      return check_descriptor(operand);
    case OperandClass::label:
    case OperandClass::targets:
    case OperandClass::call:
      return {};  // labels and calls: control_check.cpp
  }
  return {};
}

Result OperandChecker::check(const Candidate& candidate, const Instruction& instruction) const {
  const auto& specs = candidate.operands;
  const auto& operands = instruction.operands;
  if (!specs.empty() && specs[0]->kind == OperandClass::call) return {};
  size_t required = 0;
  for (const OperandSpec* spec : specs) required += spec->optional ? 0 : 1;
  if (operands.size() < required || operands.size() > specs.size()) {
    const std::string wanted = required == specs.size()
                                   ? std::to_string(required)
                                   : std::to_string(required) + " to " + std::to_string(specs.size());
    return OperandError{"operand-count",
                        instruction.head_range,
                        "'" + std::string(instruction.text) + "' takes " + wanted + " operands, found " +
                            std::to_string(operands.size()),
                        {},
                        0};
  }
  size_t spare = operands.size() - required;  // optional operands that are there
  size_t at = 0;
  for (const OperandSpec* spec : specs) {
    if (spec->optional) {
      if (spare == 0) continue;
      --spare;
    }
    const bool sizes = spec->kind == OperandClass::source_size && at != 0 &&
                       operands[at].kind == OperandKind::integer &&
                       operands[at - 1].kind == OperandKind::integer;
    if (sizes && operands[at].value > operands[at - 1].value) {
      return OperandError{
          "operand-range",
          operands[at].range,
          "more bytes are read than the " + std::to_string(operands[at - 1].value) + " that are copied",
          {},
          at + 1};
    }
    if (Result error = check_operand(*spec, candidate, operands[at], instruction.text)) {
      error->operand = at + 1;
      return error;
    }
    ++at;
  }
  return {};
}

}  // namespace ptxwire::ptx
