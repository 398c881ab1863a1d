// Constants of PTX: literal values and the arithmetic of constant expressions (ISA 4.5).
#pragma once

#include <cstdint>
#include <string_view>

#include "ptx_frontend/syntax/ast.hpp"

namespace ptxwire::ptx {

/// Value of a constant expression: a 64-bit integer (signed unless written or computed unsigned) or a double.
/// `single` marks a literal 0f...: its 32 bits are kept exactly in `bits`.
struct ConstantValue {
  enum class Kind : uint8_t { integer, f64, f32 };
  Kind kind = Kind::integer;
  bool is_unsigned = false;
  uint64_t bits = 0;

  [[nodiscard]] bool is_integer() const { return kind == Kind::integer; }
  [[nodiscard]] double real() const;
  static ConstantValue integer(uint64_t bits, bool is_unsigned) { return {Kind::integer, is_unsigned, bits}; }
  static ConstantValue real(double value);
};

/// Why a literal or an operation has no value; `none` when it has.
enum class ConstantError : uint8_t { none, bad_digit, overflow, division_by_zero, needs_integers };

/// Reads an integer or floating literal as the lexer delimits it.
ConstantError read_literal(std::string_view text, ConstantValue& value);

enum class ConstantOperator : uint8_t {
  add,
  subtract,
  multiply,
  divide,
  remainder,
  shift_left,
  shift_right,
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  not_equal,
  bit_and,
  bit_xor,
  bit_or,
  logical_and,
  logical_or
};
ConstantError apply(ConstantOperator op, const ConstantValue& a, const ConstantValue& b,
                    ConstantValue& result);

/// '+', '-', '!' or '~'.
ConstantError apply_unary(char op, const ConstantValue& a, ConstantValue& result);

/// What to tell the user about an error.
std::string_view describe(ConstantError error);

}  // namespace ptxwire::ptx
