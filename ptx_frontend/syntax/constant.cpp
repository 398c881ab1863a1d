#include "ptx_frontend/syntax/constant.hpp"

#include <bit>
#include <charconv>

namespace ptxwire::ptx {
namespace {

/// Digits of a base into 64 bits. Decimal numbers must fit; digits beyond 64 bits of the other bases are
/// dropped from the top, as ptxas does.
ConstantError read_digits(std::string_view digits, unsigned base, uint64_t& value) {
  if (digits.empty()) return ConstantError::bad_digit;
  value = 0;
  for (char c : digits) {
    const unsigned digit = c >= '0' && c <= '9' ? c - '0' : (c | 0x20) >= 'a' ? (c | 0x20) - 'a' + 10U : 99U;
    if (digit >= base) return ConstantError::bad_digit;
    if (base == 10 && value > (UINT64_MAX - digit) / 10) return ConstantError::overflow;
    value = value * base + digit;
  }
  return ConstantError::none;
}

ConstantError read_integer(std::string_view text, ConstantValue& result) {
  bool is_unsigned = false;
  if (text.back() == 'U') {
    is_unsigned = true;
    text.remove_suffix(1);
  }
  unsigned base = 10;
  if (text.size() > 1 && text[0] == '0') {
    const char kind = static_cast<char>(text[1] | 0x20);
    base = kind == 'x' ? 16 : kind == 'b' ? 2 : 8;
    text.remove_prefix(base == 8 ? 1 : 2);
  }
  uint64_t value = 0;
  const ConstantError error = read_digits(text, base, value);
  if (error != ConstantError::none) return error;
  // A literal is .s64 unless it carries U or does not fit.
  result = ConstantValue::integer(value, is_unsigned || (value >> 63) != 0);
  return ConstantError::none;
}

ConstantError read_floating(std::string_view text, ConstantValue& result) {
  const char kind = text.size() > 1 && text[0] == '0' ? static_cast<char>(text[1] | 0x20) : '\0';
  if (kind == 'f' || kind == 'd') {
    const size_t digits = kind == 'f' ? 8 : 16;
    uint64_t value = 0;
    if (text.size() != digits + 2 || read_digits(text.substr(2), 16, value) != ConstantError::none) {
      return ConstantError::bad_digit;
    }
    result = {kind == 'f' ? ConstantValue::Kind::f32 : ConstantValue::Kind::f64, false, value};
    return ConstantError::none;
  }
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code == std::errc::result_out_of_range) return ConstantError::overflow;
  if (code != std::errc() || end != text.data() + text.size()) return ConstantError::bad_digit;
  result = ConstantValue::real(value);
  return ConstantError::none;
}

ConstantError apply_real(ConstantOperator op, double a, double b, ConstantValue& result) {
  const auto truth = [&](bool value) { result = ConstantValue::integer(value ? 1 : 0, false); };
  switch (op) {
    case ConstantOperator::add:
      result = ConstantValue::real(a + b);
      break;
    case ConstantOperator::subtract:
      result = ConstantValue::real(a - b);
      break;
    case ConstantOperator::multiply:
      result = ConstantValue::real(a * b);
      break;
    case ConstantOperator::divide:
      result = ConstantValue::real(a / b);
      break;
    case ConstantOperator::less:
      truth(a < b);
      break;
    case ConstantOperator::less_equal:
      truth(a <= b);
      break;
    case ConstantOperator::greater:
      truth(a > b);
      break;
    case ConstantOperator::greater_equal:
      truth(a >= b);
      break;
    case ConstantOperator::equal:
      truth(a == b);
      break;
    case ConstantOperator::not_equal:
      truth(a != b);
      break;
    default:
      return ConstantError::needs_integers;
  }
  return ConstantError::none;
}

/// The C rule: the operation is unsigned if either operand is. Signed arithmetic wraps.
ConstantError apply_integer(ConstantOperator op, const ConstantValue& a, const ConstantValue& b,
                            ConstantValue& result) {
  const bool is_unsigned = a.is_unsigned || b.is_unsigned;
  const uint64_t x = a.bits, y = b.bits;
  const auto sx = static_cast<int64_t>(x), sy = static_cast<int64_t>(y);
  const auto value = [&](uint64_t bits) { result = ConstantValue::integer(bits, is_unsigned); };
  const auto truth = [&](bool holds) { result = ConstantValue::integer(holds ? 1 : 0, false); };
  switch (op) {
    case ConstantOperator::add:
      value(x + y);
      break;
    case ConstantOperator::subtract:
      value(x - y);
      break;
    case ConstantOperator::multiply:
      value(x * y);
      break;
    case ConstantOperator::divide:
    case ConstantOperator::remainder: {
      if (y == 0) return ConstantError::division_by_zero;
      const bool divide = op == ConstantOperator::divide;
      if (is_unsigned) {
        value(divide ? x / y : x % y);
      } else if (sy == -1) {
        value(divide ? 0 - x : 0);  // INT64_MIN / -1 would trap
      } else {
        value(static_cast<uint64_t>(divide ? sx / sy : sx % sy));
      }
      break;
    }
    // Shifts take the type of the left operand (ISA 4.5.5).
    case ConstantOperator::shift_left:
      result = ConstantValue::integer(y > 63 ? 0 : x << y, a.is_unsigned);
      break;
    case ConstantOperator::shift_right:
      result = ConstantValue::integer(
          a.is_unsigned ? (y > 63 ? 0 : x >> y) : static_cast<uint64_t>(sx >> (y > 63 ? 63 : y)),
          a.is_unsigned);
      break;
    case ConstantOperator::less:
      truth(is_unsigned ? x < y : sx < sy);
      break;
    case ConstantOperator::less_equal:
      truth(is_unsigned ? x <= y : sx <= sy);
      break;
    case ConstantOperator::greater:
      truth(is_unsigned ? x > y : sx > sy);
      break;
    case ConstantOperator::greater_equal:
      truth(is_unsigned ? x >= y : sx >= sy);
      break;
    case ConstantOperator::equal:
      truth(x == y);
      break;
    case ConstantOperator::not_equal:
      truth(x != y);
      break;
    case ConstantOperator::bit_and:
      result = ConstantValue::integer(x & y, true);
      break;
    case ConstantOperator::bit_xor:
      result = ConstantValue::integer(x ^ y, true);
      break;
    case ConstantOperator::bit_or:
      result = ConstantValue::integer(x | y, true);
      break;
    case ConstantOperator::logical_and:
      truth(x != 0 && y != 0);
      break;
    case ConstantOperator::logical_or:
      truth(x != 0 || y != 0);
      break;
  }
  return ConstantError::none;
}

}  // namespace

double ConstantValue::real() const {
  switch (kind) {
    case Kind::f64:
      return std::bit_cast<double>(bits);
    case Kind::f32:
      return std::bit_cast<float>(static_cast<uint32_t>(bits));
    case Kind::integer:
      break;
  }
  return is_unsigned ? static_cast<double>(bits) : static_cast<double>(static_cast<int64_t>(bits));
}

ConstantValue ConstantValue::real(double value) { return {Kind::f64, false, std::bit_cast<uint64_t>(value)}; }

ConstantError read_literal(std::string_view text, ConstantValue& value) {
  const bool hex_float =
      text.size() > 1 && text[0] == '0' && ((text[1] | 0x20) == 'f' || (text[1] | 0x20) == 'd');
  const bool hex_or_binary =
      text.size() > 1 && text[0] == '0' && ((text[1] | 0x20) == 'x' || (text[1] | 0x20) == 'b');
  const bool decimal_float = !hex_or_binary && text.find_first_of(".eE") != std::string_view::npos;
  return hex_float || decimal_float ? read_floating(text, value) : read_integer(text, value);
}

ConstantError apply(ConstantOperator op, const ConstantValue& a, const ConstantValue& b,
                    ConstantValue& result) {
  if (a.is_integer() && b.is_integer()) return apply_integer(op, a, b, result);
  return apply_real(op, a.real(), b.real(), result);
}

ConstantError apply_unary(char op, const ConstantValue& a, ConstantValue& result) {
  if (!a.is_integer()) {
    if (op != '+' && op != '-') return ConstantError::needs_integers;
    result = ConstantValue::real(op == '-' ? -a.real() : a.real());
    return ConstantError::none;
  }
  switch (op) {
    case '-':
      result = ConstantValue::integer(0 - a.bits, a.is_unsigned);
      break;
    case '~':
      result = ConstantValue::integer(~a.bits, true);
      break;
    case '!':
      result = ConstantValue::integer(a.bits == 0 ? 1 : 0, false);
      break;
    default:
      result = a;
      break;
  }
  return ConstantError::none;
}

std::string_view describe(ConstantError error) {
  switch (error) {
    case ConstantError::bad_digit:
      return "malformed number, expected decimal, 0x, 0b or octal digits with an optional U suffix, 0f and 8 "
             "hex "
             "digits, 0d and 16, or a decimal fraction";
    case ConstantError::overflow:
      return "constant does not fit in 64 bits";
    case ConstantError::division_by_zero:
      return "division by zero in a constant expression";
    case ConstantError::needs_integers:
      return "operator needs integers, one operand is floating point";
    case ConstantError::none:
      break;
  }
  return "";
}

}  // namespace ptxwire::ptx
