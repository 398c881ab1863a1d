// What the compute kernels share: places in a grid of up to three dimensions, and bf16 pairs.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

namespace ptxwire {

/// Number of this CTA in the grid, x fastest.
__device__ __forceinline__ unsigned cta_number() {
  return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
}
__device__ __forceinline__ unsigned ctas_in_grid() { return gridDim.x * gridDim.y * gridDim.z; }
__device__ __forceinline__ unsigned thread_number() { return threadIdx.x + blockDim.x * threadIdx.y; }
__device__ __forceinline__ unsigned threads_in_cta() { return blockDim.x * blockDim.y; }

__device__ __forceinline__ float2 unpacked(uint32_t pair) {
  return {__uint_as_float(pair << 16), __uint_as_float(pair & 0xffff0000u)};
}
__device__ __forceinline__ uint32_t packed(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
}

/// Sum over a warp, in every lane.
__device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes /= 2) value += __shfl_xor_sync(~0u, value, lanes);
  return value;
}

}  // namespace ptxwire
