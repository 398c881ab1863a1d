// Addresses, and operands with rules of their own: barriers and thread counts.
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

Result OperandChecker::check_threads(const Operand& operand) const {
  if (operand.kind == OperandKind::integer && (operand.value % 32 != 0)) {
    return OperandError{"thread-count",
                        operand.range,
                        "a thread count of a barrier is a multiple of the warp size 32, found " +
                            std::to_string(static_cast<int64_t>(operand.value)),
                        {}};
  }
  return check_value(OperandSpec{}, Type::u32, operand);
}

Result OperandChecker::check_braces(const Operand& operand, std::string_view what) const {
  if (operand.kind == OperandKind::vector) return {};
  return mismatch(operand, "expected " + std::string(what) + " in braces, { ... }");
}

}  // namespace ptxwire::ptx
