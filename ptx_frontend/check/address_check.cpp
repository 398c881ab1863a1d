// Addresses, and operands with rules of their own: barriers, multiples, matrix fragments.
#include <charconv>

#include "ptx_frontend/check/operand_check.hpp"
#include "ptx_frontend/check/operand_message.hpp"

namespace ptxwire::ptx {

using Result = std::optional<OperandError>;

OperandError mismatch(const Operand& operand, std::string message, std::string hint) {
  return {"operand-mismatch", operand.range, std::move(message), std::move(hint)};
}

std::string quoted(std::string_view name) { return "'" + std::string(name) + "'"; }

std::string_view space_name(Space space) {
  switch (space) {
    case Space::global:
      return ".global";
    case Space::shared:
      return ".shared";
    case Space::local:
      return ".local";
    case Space::param:
      return ".param";
    case Space::constant:
      return ".const";
    case Space::reg:
      return ".reg";
    case Space::generic:
      break;
  }
  return "generic";
}

Result OperandChecker::check_address(Space space, const Operand& operand) const {
  if (operand.kind != OperandKind::address)
    return mismatch(operand, "expected an address in brackets, such as [%rd1+8]");
  if (operand.elements.size() != 1)
    return mismatch(operand, "expected one address, found more in the brackets");
  const Operand& base = operand.elements[0];
  if (base.kind == OperandKind::integer) {
    if (space == Space::local) return {};
    return mismatch(operand,
                    "a constant address is only possible in .local space, expected a register or a variable");
  }
  const Symbol* symbol = symbol_of(base);
  if (symbol == nullptr) {
    return base.kind == OperandKind::identifier
               ? Result{}
               : mismatch(base, "expected a register or a variable as address");
  }
  if (symbol->kind == SymbolKind::reg) {
    const Type type = symbol->type;
    const bool any_width =
        space == Space::shared || space == Space::local || space == Space::param || space == Space::constant;
    if (!is_integer_or_bits(type) || type_bytes(type) > 8) {
      return mismatch(base, quoted(base.name) + " is declared " + type_name(type) +
                                ", an address must be an integer register");
    }
    if (!any_width && type_bytes(type) != 8) {
      return OperandError{"address-width",
                          base.range,
                          quoted(base.name) + " has " + std::to_string(8 * type_bytes(type)) + " bits, a " +
                              std::string(space_name(space)) + " address needs a 64-bit register",
                          {}};
    }
    return {};
  }
  if (symbol->kind == SymbolKind::function || symbol->kind == SymbolKind::alias)
    return mismatch(base, quoted(base.name) + " is a function, expected a variable or a register");
  const bool no_generic_address =
      space == Space::generic && (symbol->space == Space::param || symbol->space == Space::constant);
  if (no_generic_address || (space != Space::generic && symbol->space != space)) {
    return OperandError{"state-space-mismatch",
                        base.range,
                        quoted(base.name) + " is in " + std::string(space_name(symbol->space)) +
                            " space, the instruction accesses " + std::string(space_name(space)),
                        {}};
  }
  return {};
}

Result OperandChecker::check_barrier(const Operand& operand) const {
  if (operand.kind == OperandKind::integer && operand.value > 15) {
    return OperandError{"barrier-range",
                        operand.range,
                        "barrier " + std::to_string(static_cast<int64_t>(operand.value)) +
                            " does not exist, expected 0 to 15",
                        {}};
  }
  return check_value(OperandSpec{}, Type::u32, operand);
}

Result OperandChecker::check_multiple(const Operand& operand, unsigned unit, std::string_view id,
                                      std::string_view rule) const {
  if (operand.kind == OperandKind::integer && operand.value % unit != 0) {
    return OperandError{id,
                        operand.range,
                        std::string(rule) + ", found " + std::to_string(static_cast<int64_t>(operand.value)),
                        {}};
  }
  return check_value(OperandSpec{}, Type::u32, operand);
}

Result OperandChecker::check_braces(const Operand& operand, std::string_view what) const {
  if (operand.kind == OperandKind::vector) return {};
  return mismatch(operand, "expected " + std::string(what) + " in braces, { ... }");
}

namespace {

/// The number behind `mark` in a spelling: 128 of m64n128k16; 0 if there is none.
unsigned number_behind(std::string_view spelling, std::string_view mark) {
  const size_t at = spelling.find(mark);
  unsigned number = 0;
  if (at != std::string_view::npos)
    std::from_chars(spelling.data() + at + mark.size(), spelling.data() + spelling.size(), number);
  return number;
}

/// How many registers of a thread hold the fragment, where the spelling says so (PTX ISA 9.7.14.5.15 and
/// 9.7.15.5); 0: not known here.
unsigned fragment_registers(std::string_view spelling, const OperandSpec& spec, Type type) {
  if (spelling.starts_with("ldmatrix") || spelling.starts_with("stmatrix"))
    return number_behind(spelling, ".x");
  if (!spelling.starts_with("wgmma")) return 0;
  if (!spec.destination) return 4;  // A from registers
  return number_behind(spelling, "m64n") / (type == Type::f16 ? 4 : 2);
}

}  // namespace

Result OperandChecker::check_descriptor(const Operand& operand) const {
  if (operand.kind == OperandKind::vector) return mismatch(operand, "expected a matrix descriptor");
  const Symbol* symbol = symbol_of(operand);
  if (symbol == nullptr) return check_value(OperandSpec{}, Type::b64, operand);
  if (symbol->kind == SymbolKind::reg && symbol->vector == 1 && type_bytes(symbol->type) == 8 &&
      is_integer_or_bits(symbol->type))
    return {};
  return mismatch(operand, quoted(operand.name) + " is declared " + type_name(symbol->type) +
                               ", a matrix descriptor needs a 64-bit register");
}

Result OperandChecker::check_fragment(const OperandSpec& spec, const Modifiers& m, const Operand& operand,
                                      std::string_view spelling) const {
  const Symbol* symbol = symbol_of(operand);
  const bool vector_register = symbol != nullptr && symbol->kind == SymbolKind::reg && symbol->vector > 1;
  if (operand.kind != OperandKind::vector && !vector_register)
    return mismatch(operand, "expected a matrix fragment, { ... }");
  const size_t count = vector_register ? symbol->vector : operand.elements.size();
  const unsigned wanted = fragment_registers(spelling, spec, m.type);
  if (spelling.starts_with("wgmma")) {
    const unsigned n = number_behind(spelling, "m64n");
    if (n == 0 || n > 256 || n % 8 != 0)
      return mismatch(operand, "n is " + std::to_string(n) + ", expected a multiple of 8 up to 256");
  }
  if (wanted != 0 && count != wanted)
    return mismatch(operand, "a fragment of this instruction has " + std::to_string(wanted) +
                                 " registers, found " + std::to_string(count));
  for (const Operand& part : operand.elements) {
    const Type type = register_type(part);
    if (type == Type::none || type == Type::pred || (wanted != 0 && type_bytes(type) != 4))
      return mismatch(part, "expected a 32-bit register as part of a matrix fragment");
  }
  return {};
}

}  // namespace ptxwire::ptx
