// Element formats of matrix instructions, as the tests write them down, and matrices of small whole numbers.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <vector>

namespace ptxwire::sim::test {

/// An element format: how a small whole number is written down.
struct Format {
  const char* name;
  uint32_t bits;
  int exponent_bits, mantissa_bits;  ///< 0: an integer
  int low, high;                     ///< values that the tests use

  [[nodiscard]] uint32_t depth() const { return 256 / bits; }
  [[nodiscard]] uint32_t encode(int value) const {
    if (exponent_bits == 0) return static_cast<uint32_t>(value) & static_cast<uint32_t>((1ULL << bits) - 1);
    if (value == 0) return 0;
    const int magnitude = std::abs(value), exponent = std::ilogb(magnitude);
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const auto fraction =
        static_cast<uint32_t>(std::ldexp(magnitude, mantissa_bits - exponent)) & ((1U << mantissa_bits) - 1);
    const uint32_t sign = value < 0 ? 1U << (exponent_bits + mantissa_bits) : 0;
    const uint32_t word = sign | static_cast<uint32_t>(exponent + bias) << mantissa_bits | fraction;
    return bits == 32 ? word << (31 - exponent_bits - mantissa_bits) : word;
  }
};

inline constexpr Format kF16{"f16", 16, 5, 10, -4, 4}, kBf16{"bf16", 16, 8, 7, -4, 4},
    kTf32{"tf32", 32, 8, 10, -9, 9}, kE4m3{"e4m3", 8, 4, 3, -6, 6}, kE5m2{"e5m2", 8, 5, 2, -4, 4},
    kS8{"s8", 8, 0, 0, -128, 127}, kU8{"u8", 8, 0, 0, 0, 255}, kB1{"b1", 1, 0, 0, 0, 1};

using Matrix = std::vector<int>;  ///< [row][k]

inline Matrix drawn(const Format& format, uint32_t rows, uint32_t seed) {
  std::mt19937 random(seed);
  Matrix matrix(size_t{rows} * format.depth());
  for (int& value : matrix)
    value = format.low + static_cast<int>(random() % static_cast<uint32_t>(format.high - format.low + 1));
  return matrix;
}

}  // namespace ptxwire::sim::test
