// Addresses, and operands with rules of their own: barriers, multiples, matrix fragments.
#include "ptx_frontend/check/fragment.hpp"
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

/// One coordinate per dimension of the tensor: three of cp.async.bulk.tensor.3d.
Result OperandChecker::check_coordinates(const Operand& operand, std::string_view spelling) const {
  if (Result error = check_braces(operand, "tensor coordinates")) return error;
  const size_t at = spelling.find("d.", spelling.find(".tensor.") + 1);
  if (at == std::string_view::npos || at == 0) return {};
  size_t wanted = static_cast<size_t>(spelling[at - 1] - '0');
  // A gathered or scattered box has one coordinate of columns and four of rows.
  if (spelling.find("gather4") != std::string_view::npos ||
      spelling.find("scatter4") != std::string_view::npos)
    wanted = 5;
  if (wanted < 1 || wanted > 5 || operand.elements.size() == wanted) return {};
  return mismatch(operand, "expected " + std::to_string(wanted) + " tensor coordinates, found " +
                               std::to_string(operand.elements.size()));
}

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

Result OperandChecker::check_fragment(const OperandSpec& spec, const Candidate& candidate,
                                      const Operand& operand, std::string_view spelling) const {
  const Symbol* symbol = symbol_of(operand);
  const bool vector_register = symbol != nullptr && symbol->kind == SymbolKind::reg && symbol->vector > 1;
  if (operand.kind != OperandKind::vector && !vector_register)
    return mismatch(operand, "expected a matrix fragment, { ... }");
  unsigned place = 0;  // among the matrices: D, A, B, C
  for (const OperandSpec* other : candidate.operands) {
    if (other == &spec) break;
    place += other->kind == OperandClass::matrix ? 1 : 0;
  }
  const Fragment wanted = fragment(spelling, place);
  if (spelling.starts_with("wgmma") && (wanted.n == 0 || wanted.n > 256 || wanted.n % 8 != 0))
    return mismatch(operand, "n is " + std::to_string(wanted.n) + ", expected a multiple of 8 up to 256");
  const size_t count = vector_register ? symbol->vector : operand.elements.size();
  if (wanted.registers != 0 && count != wanted.registers)
    return mismatch(operand, "a fragment of this instruction has " + std::to_string(wanted.registers) +
                                 " registers, found " + std::to_string(count));
  for (const Operand& part : operand.elements) {
    const bool constant = part.kind == OperandKind::integer || part.kind == OperandKind::float32 ||
                          part.kind == OperandKind::float64;
    if (constant && !spec.destination) continue;
    const Type type = register_type(part);
    if (type == Type::none || type == Type::pred ||
        (wanted.registers != 0 && type_bytes(type) != wanted.bytes))
      return mismatch(part, "expected a " + std::to_string(8 * wanted.bytes) +
                                "-bit register as part of a matrix fragment");
  }
  return {};
}

Result OperandChecker::check_tensor_memory(const Operand& operand) const {
  if (operand.kind != OperandKind::address || operand.elements.size() != 1)
    return mismatch(operand, "expected an address in tensor memory in brackets, such as [%r1]");
  const Operand& base = operand.elements[0];
  if (base.kind == OperandKind::integer) return {};
  return check_value(OperandSpec{}, Type::b32, base);
}

Result OperandChecker::check_values(const Operand& operand) const {
  if (operand.kind == OperandKind::vector || operand.kind == OperandKind::identifier ||
      operand.kind == OperandKind::integer || operand.kind == OperandKind::float32 ||
      operand.kind == OperandKind::float64)
    return {};
  return mismatch(operand, "expected a register or a vector of registers");
}

}  // namespace ptxwire::ptx
