// From BF16 to e4m3 with one scale per 128 elements: scale = 448 / max(|x|, 1e-4), saturating; what travels
// beside the row is its inverse, max / 448.
#pragma once

#include <cstdint>

#include "ptx.cuh"

namespace ptxwire {

inline constexpr int kScaleGroup = 128;
inline constexpr int kLanesPerScale = kScaleGroup / 8;  ///< of 8 elements each

/// Of two neighbours in memory `low` comes first.
__device__ __forceinline__ unsigned cast_pair(float low, float high) {
  unsigned short v;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(v) : "f"(high), "f"(low));
  return v;
}

/// Eight elements of each lane; the lanes of a group of 128 elements are in step.
__device__ __forceinline__ uint2 cast_vector(int4 bf16, float& inverse_scale) {
  constexpr float kSmallest = 1e-4f, kLargestE4m3 = 448.0f;
  const unsigned words[4] = {static_cast<unsigned>(bf16.x), static_cast<unsigned>(bf16.y),
                             static_cast<unsigned>(bf16.z), static_cast<unsigned>(bf16.w)};
  float x[8];
  float largest = kSmallest;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    x[2 * i] = __uint_as_float(words[i] << 16);
    x[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000u);
    largest = fmaxf(largest, fmaxf(fabsf(x[2 * i]), fabsf(x[2 * i + 1])));
  }
#pragma unroll
  for (int step = kLanesPerScale / 2; step > 0; step /= 2)
    largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, step));
  inverse_scale = __fdiv_rn(largest, kLargestE4m3);
  const float scale = __fdiv_rn(kLargestE4m3, largest);
  return {cast_pair(x[0] * scale, x[1] * scale) | cast_pair(x[2] * scale, x[3] * scale) << 16,
          cast_pair(x[4] * scale, x[5] * scale) | cast_pair(x[6] * scale, x[7] * scale) << 16};
}

}  // namespace ptxwire
