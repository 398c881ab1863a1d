// Exact arithmetic for expected values: dyadic numbers of any size, and rounding into a binary format by its
// definition: find the two neighbouring representable values, compare the exact number with them and with
// their middle.
#pragma once

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // false alarms inside Boost 1.74 at -O1 and above
#include <boost/multiprecision/cpp_int.hpp>
#pragma GCC diagnostic pop
#include <cstdint>
#include <functional>
#include <vector>

#include "ptx_frontend/isa/types.hpp"

namespace ptxwire::sim::lane_test {

/// mantissa * 2^exponent, exactly.
struct Dyadic {
  boost::multiprecision::cpp_int mantissa = 0;
  int exponent = 0;
};
Dyadic operator+(const Dyadic& a, const Dyadic& b);
Dyadic operator*(const Dyadic& a, const Dyadic& b);
Dyadic operator-(const Dyadic& a);
/// -1, 0 or 1 as a < b, a == b, a > b.
int compare(const Dyadic& a, const Dyadic& b);

/// A binary interchange format, or one of the 8-bit formats (e4m3 has no infinity; its NaN is all ones).
struct BinaryFormat {
  int exponent_bits;
  int mantissa_bits;
  bool has_infinity;

  [[nodiscard]] int bits() const { return 1 + exponent_bits + mantissa_bits; }
  [[nodiscard]] uint64_t infinity() const { return ((uint64_t{1} << exponent_bits) - 1) << mantissa_bits; }
  /// Bit pattern of the largest finite value.
  [[nodiscard]] uint64_t largest() const;
  [[nodiscard]] uint64_t sign_bit() const { return uint64_t{1} << (exponent_bits + mantissa_bits); }
  [[nodiscard]] bool is_nan(uint64_t pattern) const;
  [[nodiscard]] bool is_infinite(uint64_t pattern) const;
  [[nodiscard]] bool is_zero(uint64_t pattern) const { return (pattern & (sign_bit() - 1)) == 0; }
  [[nodiscard]] bool is_negative(uint64_t pattern) const { return (pattern & sign_bit()) != 0; }
  /// Exact value of a finite pattern.
  [[nodiscard]] Dyadic value(uint64_t pattern) const;
};
inline constexpr BinaryFormat kDouble{11, 52, true}, kFloat{8, 23, true}, kTensorFloat{8, 10, true},
    kHalf{5, 10, true}, kBrainFloat{8, 7, true}, kE4m3Format{4, 3, false}, kE5m2Format{5, 2, true};

/// Rounds a number of known sign whose magnitude is known only by comparison: magnitude_against(r) is the
/// sign of |x| - r. Overflow gives infinity or, with `saturate`, the largest finite value.
uint64_t round_into(const BinaryFormat& format, ptx::Rounding rounding, bool negative,
                    const std::function<int(const Dyadic&)>& magnitude_against, bool saturate = false);
/// Rounds an exact nonzero number; zero gives +0.
uint64_t round_into(const BinaryFormat& format, ptx::Rounding rounding, const Dyadic& x,
                    bool saturate = false);

/// The patterns that arithmetic trips over: zeros, subnormals, powers of two, ties, extremes, infinities,
/// NaNs.
std::vector<uint64_t> float_corners(const BinaryFormat& format);

/// x + y, x * y, x * y + z, x / y, sqrt(x) in `format`, by IEEE 754; any NaN result is returned as `nan`.
struct IeeeArithmetic {
  BinaryFormat format;
  ptx::Rounding rounding;
  uint64_t nan;
  [[nodiscard]] uint64_t add(uint64_t x, uint64_t y) const;
  [[nodiscard]] uint64_t mul(uint64_t x, uint64_t y) const;
  [[nodiscard]] uint64_t fma(uint64_t x, uint64_t y, uint64_t z) const;
  [[nodiscard]] uint64_t div(uint64_t x, uint64_t y) const;
  [[nodiscard]] uint64_t sqrt(uint64_t x) const;

 private:
  [[nodiscard]] uint64_t sum(const Dyadic& x, bool x_negative, const Dyadic& y, bool y_negative) const;
};

}  // namespace ptxwire::sim::lane_test
