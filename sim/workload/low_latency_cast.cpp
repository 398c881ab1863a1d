#include "sim/workload/low_latency_cast.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/workload/test_data.hpp"

namespace ptxwire::sim {

namespace {

constexpr float kLargest = 448, kSmallestMaximum = 1e-4F;
constexpr uint8_t kSign = 0x80;
constexpr uint32_t kMagnitudes = 127;  ///< 0 to 448; the 128th code is NaN

/// Of a code without sign: four bits of exponent with bias 7, three of mantissa, subnormals at 0.
float magnitude(uint32_t code) {
  const uint32_t exponent = code >> 3U, mantissa = code & 7U;
  return exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -9)
                       : std::ldexp(static_cast<float>(8 + mantissa), static_cast<int>(exponent) - 10);
}

/// Halfway from each magnitude to the next; exact, since both have few bits.
const std::array<float, kMagnitudes - 1>& midpoints() {
  static const auto table = [] {
    std::array<float, kMagnitudes - 1> between{};
    for (uint32_t code = 0; code + 1 < kMagnitudes; ++code)
      between[code] = (magnitude(code) + magnitude(code + 1)) / 2;
    return between;
  }();
  return table;
}

}  // namespace

uint8_t to_e4m3(float value) {
  const auto& between = midpoints();
  const float size = std::fabs(value);
  const auto above = std::lower_bound(between.begin(), between.end(), size);
  auto code = static_cast<uint32_t>(above - between.begin());
  if (above != between.end() && *above == size && code % 2 != 0) ++code;  // a tie goes to the even one
  return static_cast<uint8_t>(code | (std::signbit(value) ? kSign : 0U));
}

float from_e4m3(uint8_t bits) {
  const float size = magnitude(bits & 0x7fU);
  return (bits & kSign) != 0 ? -size : size;
}

void cast_row(std::span<const uint16_t> bf16, std::span<uint8_t> bytes, std::span<float> scales) {
  for (size_t group = 0; group < scales.size(); ++group) {
    const auto values = bf16.subspan(group * kScaleGroup, kScaleGroup);
    float largest = kSmallestMaximum;
    for (const uint16_t value : values) largest = std::max(largest, std::fabs(from_bf16(value)));
    scales[group] = largest / kLargest;
    const float scale = kLargest / largest;
    for (size_t i = 0; i < values.size(); ++i)
      bytes[group * kScaleGroup + i] = to_e4m3(from_bf16(values[i]) * scale);
  }
}

}  // namespace ptxwire::sim
