#include "tests/sim/exec/exact_number.hpp"

namespace ptxwire::sim::lane_test {

using boost::multiprecision::cpp_int;
using ptx::Rounding;

namespace {

/// Brings both mantissas to the smaller exponent.
std::pair<cpp_int, cpp_int> aligned(const Dyadic& a, const Dyadic& b) {
  const int exponent = std::min(a.exponent, b.exponent);
  return {cpp_int(a.mantissa << (a.exponent - exponent)), cpp_int(b.mantissa << (b.exponent - exponent))};
}

}  // namespace

Dyadic operator+(const Dyadic& a, const Dyadic& b) {
  const auto [x, y] = aligned(a, b);
  return {x + y, std::min(a.exponent, b.exponent)};
}
Dyadic operator*(const Dyadic& a, const Dyadic& b) {
  return {a.mantissa * b.mantissa, a.exponent + b.exponent};
}
Dyadic operator-(const Dyadic& a) { return {-a.mantissa, a.exponent}; }
int compare(const Dyadic& a, const Dyadic& b) {
  const auto [x, y] = aligned(a, b);
  return x < y ? -1 : x > y ? 1 : 0;
}

uint64_t BinaryFormat::largest() const {
  return has_infinity ? infinity() - 1 : infinity() | ((uint64_t{1} << mantissa_bits) - 2);
}
bool BinaryFormat::is_nan(uint64_t pattern) const {
  const uint64_t magnitude = pattern & (sign_bit() - 1);
  return magnitude > (has_infinity ? infinity() : largest());
}
bool BinaryFormat::is_infinite(uint64_t pattern) const {
  return has_infinity && (pattern & (sign_bit() - 1)) == infinity();
}
Dyadic BinaryFormat::value(uint64_t pattern) const {
  const uint64_t mantissa = pattern & ((uint64_t{1} << mantissa_bits) - 1);
  const auto exponent = static_cast<int>(pattern >> mantissa_bits & ((uint64_t{1} << exponent_bits) - 1));
  const int bias = (1 << (exponent_bits - 1)) - 1;
  Dyadic result;
  result.mantissa = exponent == 0 ? mantissa : mantissa | uint64_t{1} << mantissa_bits;
  result.exponent = (exponent == 0 ? 1 : exponent) - bias - mantissa_bits;
  return is_negative(pattern) ? -result : result;
}

uint64_t round_into(const BinaryFormat& format, Rounding rounding, bool negative,
                    const std::function<int(const Dyadic&)>& magnitude_against, bool saturate) {
  // The largest pattern whose value is not above |x|: finite patterns are ordered as their values are.
  uint64_t lower = 0, above = format.largest() + 1;
  while (above - lower > 1) {
    const uint64_t middle = lower + (above - lower) / 2;
    (magnitude_against(format.value(middle)) >= 0 ? lower : above) = middle;
  }
  const Dyadic low = format.value(lower);
  bool up = false;
  if (magnitude_against(low) != 0) {
    // One ulp further; beyond the largest value this is the power of two that a wider exponent would hold.
    Dyadic ulp = format.value(1);
    const Dyadic step_below = lower == 0 ? ulp : low + -format.value(lower - 1);
    const bool at_power_of_two = lower >= (uint64_t{2} << format.mantissa_bits) &&
                                 (lower & ((uint64_t{1} << format.mantissa_bits) - 1)) == 0;
    ulp = at_power_of_two ? Dyadic{step_below.mantissa * 2, step_below.exponent} : step_below;
    const int half = magnitude_against(low + Dyadic{ulp.mantissa, ulp.exponent - 1});
    switch (rounding) {
      case Rounding::rz:
        up = false;
        break;
      case Rounding::rm:
        up = negative;
        break;
      case Rounding::rp:
        up = !negative;
        break;
      case Rounding::rna:
        up = half >= 0;
        break;
      default:
        up = half > 0 || (half == 0 && (lower & 1) != 0);
        break;
    }
  }
  uint64_t pattern = lower + (up ? 1 : 0);
  if (pattern > format.largest())
    pattern = saturate || !format.has_infinity ? format.largest() : format.infinity();
  return pattern | (negative ? format.sign_bit() : 0);
}

uint64_t round_into(const BinaryFormat& format, Rounding rounding, const Dyadic& x, bool saturate) {
  const bool negative = x.mantissa < 0;
  const Dyadic magnitude = negative ? -x : x;
  return round_into(
      format, rounding, negative, [&](const Dyadic& r) { return compare(magnitude, r); }, saturate);
}

std::vector<uint64_t> float_corners(const BinaryFormat& format) {
  const uint64_t one = ((uint64_t{1} << (format.exponent_bits - 1)) - 1) << format.mantissa_bits;
  const uint64_t ulp_step = uint64_t{1} << format.mantissa_bits;  // a factor of two
  std::vector<uint64_t> positive = {0,
                                    1,  // least subnormal
                                    2,
                                    ulp_step - 1,  // largest subnormal
                                    ulp_step,      // least normal
                                    ulp_step + 1,
                                    one - ulp_step,  // 0.5
                                    one - 1,
                                    one,
                                    one + 1,
                                    one + ulp_step / 2,  // 1.5
                                    one + 2 * ulp_step + 3,
                                    one + static_cast<uint64_t>(format.mantissa_bits) * ulp_step,  // ulp is 1
                                    one + static_cast<uint64_t>(format.mantissa_bits + 1) * ulp_step + 1,
                                    one + ulp_step / 3,
                                    format.largest(),
                                    format.largest() - 1};
  if (format.has_infinity) positive.push_back(format.infinity());
  positive.push_back(format.sign_bit() - 1);                           // NaN
  if (format.has_infinity) positive.push_back(format.infinity() + 1);  // signalling NaN
  std::vector<uint64_t> corners = positive;
  for (const uint64_t pattern : positive) corners.push_back(pattern | format.sign_bit());
  return corners;
}

uint64_t IeeeArithmetic::sum(const Dyadic& x, bool x_negative, const Dyadic& y, bool y_negative) const {
  const Dyadic total = x + y;
  if (total.mantissa != 0) return round_into(format, rounding, total);
  const bool negative = x_negative == y_negative ? x_negative : rounding == Rounding::rm;
  return negative ? format.sign_bit() : 0;
}

uint64_t IeeeArithmetic::add(uint64_t x, uint64_t y) const {
  if (format.is_nan(x) || format.is_nan(y)) return nan;
  if (format.is_infinite(x)) return format.is_infinite(y) && x != y ? nan : x;
  if (format.is_infinite(y)) return y;
  return sum(format.value(x), format.is_negative(x), format.value(y), format.is_negative(y));
}

uint64_t IeeeArithmetic::mul(uint64_t x, uint64_t y) const {
  if (format.is_nan(x) || format.is_nan(y)) return nan;
  const uint64_t sign = (x ^ y) & format.sign_bit();
  if (format.is_infinite(x) || format.is_infinite(y))
    return format.is_zero(x) || format.is_zero(y) ? nan : format.infinity() | sign;
  const Dyadic product = format.value(x) * format.value(y);
  return product.mantissa == 0 ? sign : round_into(format, rounding, product);
}

uint64_t IeeeArithmetic::fma(uint64_t x, uint64_t y, uint64_t z) const {
  if (format.is_nan(x) || format.is_nan(y) || format.is_nan(z)) return nan;
  const bool negative = format.is_negative(x) != format.is_negative(y);
  if (format.is_infinite(x) || format.is_infinite(y)) {
    if (format.is_zero(x) || format.is_zero(y)) return nan;
    const uint64_t product = format.infinity() | (negative ? format.sign_bit() : 0);
    return format.is_infinite(z) && z != product ? nan : product;
  }
  if (format.is_infinite(z)) return z;
  return sum(format.value(x) * format.value(y), negative, format.value(z), format.is_negative(z));
}

uint64_t IeeeArithmetic::div(uint64_t x, uint64_t y) const {
  if (format.is_nan(x) || format.is_nan(y)) return nan;
  const uint64_t sign = (x ^ y) & format.sign_bit();
  if (format.is_infinite(x)) return format.is_infinite(y) ? nan : format.infinity() | sign;
  if (format.is_infinite(y)) return sign;
  if (format.is_zero(y)) return format.is_zero(x) ? nan : format.infinity() | sign;
  if (format.is_zero(x)) return sign;
  const Dyadic a = format.value(x & ~format.sign_bit()), b = format.value(y & ~format.sign_bit());
  return round_into(format, rounding, sign != 0, [&](const Dyadic& r) { return compare(a, r * b); });
}

uint64_t IeeeArithmetic::sqrt(uint64_t x) const {
  if (format.is_nan(x)) return nan;
  if (format.is_zero(x)) return x;
  if (format.is_negative(x)) return nan;
  if (format.is_infinite(x)) return x;
  const Dyadic a = format.value(x);
  return round_into(format, rounding, false, [&](const Dyadic& r) { return compare(a, r * r); });
}

}  // namespace ptxwire::sim::lane_test
