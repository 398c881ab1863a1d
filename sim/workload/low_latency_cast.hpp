// The cast rule of low-latency dispatch, worked out from the format itself: it shares nothing with the
// kernel, whose results are compared with it bit by bit.
#pragma once

#include <cstdint>
#include <span>

namespace ptxwire::sim {

/// Elements that share a scale.
inline constexpr uint32_t kScaleGroup = 128;

/// The e4m3 nearest to `value`, ties to even, saturating at 448. Not for NaN.
uint8_t to_e4m3(float value);
float from_e4m3(uint8_t bits);

/// A row of BF16 in groups of 128: m = max(1e-4, max |x|); bytes = e4m3(x * (448 / m)), scale = m / 448.
/// `scales` holds one float per group.
void cast_row(std::span<const uint16_t> bf16, std::span<uint8_t> bytes, std::span<float> scales);

}  // namespace ptxwire::sim
