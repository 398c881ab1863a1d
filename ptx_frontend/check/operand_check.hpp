// Does an operand fit what a row of the table wants? Types, constants, address spaces, counts.
#pragma once

#include <optional>
#include <string>

#include "ptx_frontend/check/spelling.hpp"
#include "ptx_frontend/syntax/ast.hpp"

namespace ptxwire::ptx {

/// What is wrong with an operand. Ranges are of the module text.
struct OperandError {
  std::string_view id;
  SourceRange range;
  std::string message, hint;
  size_t operand = 0;  ///< how far the match went: rows that go further give the better message
};

/// Checks the operands of instructions whose names are resolved.
class OperandChecker {
 public:
  OperandChecker(const Module& module, const Function& function) : module_(module), function_(function) {}

  /// Nothing if the instruction fits the candidate.
  [[nodiscard]] std::optional<OperandError> check(const Candidate& candidate,
                                                  const Instruction& instruction) const;

  /// The symbol an identifier was resolved to, or null.
  [[nodiscard]] const Symbol* symbol_of(const Operand& operand) const;

  /// "h10" of an operand with a selector.
  [[nodiscard]] std::string_view selector_of(const Operand& operand) const;

  /// Type of a register or special register; none for anything else.
  [[nodiscard]] Type register_type(const Operand& operand) const;

 private:
  using Result = std::optional<OperandError>;
  [[nodiscard]] Result check_operand(const OperandSpec& spec, const Candidate& candidate,
                                     const Operand& operand, std::string_view spelling) const;
  [[nodiscard]] Result check_value(const OperandSpec& spec, Type type, const Operand& operand) const;
  [[nodiscard]] Result check_identifier(const OperandSpec& spec, Type type, const Operand& operand) const;
  [[nodiscard]] Result check_symbol_value(const OperandSpec& spec, Type type, const Operand& operand,
                                          const Symbol& symbol) const;
  [[nodiscard]] Result check_constant(const OperandSpec& spec, Type type, const Operand& operand) const;
  [[nodiscard]] Result check_special(const OperandSpec& spec, Type type, const Operand& operand) const;
  [[nodiscard]] Result check_vector(const OperandSpec& spec, Type type, unsigned count,
                                    const Operand& operand) const;
  [[nodiscard]] Result check_pair(const OperandSpec& spec, Type type, const Operand& operand) const;
  [[nodiscard]] Result check_parts(const OperandSpec& spec, Type type, const Operand& operand) const;
  [[nodiscard]] Result check_address(Space space, const Operand& operand) const;
  [[nodiscard]] Result check_barrier(const Operand& operand) const;
  [[nodiscard]] Result check_multiple(const Operand& operand, unsigned unit, std::string_view id,
                                      std::string_view rule) const;
  [[nodiscard]] Result check_descriptor(const Operand& operand) const;
  [[nodiscard]] Result check_fragment(const OperandSpec& spec, const Candidate& candidate,
                                      const Operand& operand, std::string_view spelling) const;
  // ---- textures, surfaces and video (media_check.cpp), tensor memory (address_check.cpp)
  [[nodiscard]] Result check_texture(const Modifiers& m, const Operand& operand, std::string_view spelling,
                                     bool surface) const;
  [[nodiscard]] Result check_gradient(const Operand& operand, std::string_view spelling) const;
  [[nodiscard]] Result check_handle(const Operand& operand, std::optional<bool> surface) const;
  [[nodiscard]] Result check_video(const OperandSpec& spec, const Operand& operand) const;
  [[nodiscard]] Result check_tensor_memory(const Operand& operand) const;
  [[nodiscard]] Result check_values(const Operand& operand) const;
  [[nodiscard]] Result check_coordinates(const Operand& operand, std::string_view spelling) const;
  [[nodiscard]] Result check_braces(const Operand& operand, std::string_view what) const;

  const Module& module_;
  const Function& function_;
};

/// May a register of `reg` stand where an instruction works on `type`? `wider`: also a wider register
/// (ISA 9.4.1).
bool register_fits(Type reg, Type type, bool wider);

/// ".u32" of Type::u32.
std::string type_name(Type type);

}  // namespace ptxwire::ptx
