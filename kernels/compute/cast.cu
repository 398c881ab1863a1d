// bf16 to fp8 (e4m3) with one scale per 128 values, and transposes of tiles of 128 x 128.
#include <cuda_fp8.h>

#include "grid.cuh"

namespace {

using namespace ptxwire;

constexpr float kLargest = 448.0f;  ///< of e4m3
constexpr int kTile = 128;

__device__ __forceinline__ float absolute_maximum(uint32_t pair) {
  const float2 v = unpacked(pair);
  return fmaxf(fabsf(v.x), fabsf(v.y));
}

/// Two values as two bytes.
__device__ __forceinline__ uint32_t narrowed(uint32_t pair, float factor) {
  const float2 v = unpacked(pair);
  return __nv_cvt_float2_to_fp8x2(make_float2(v.x * factor, v.y * factor), __NV_SATFINITE, __NV_E4M3);
}

}  // namespace

/// Row c of the grid: groups of 128 values go to 16 lanes of 16 bytes. scales[row][group] = largest / 448.
extern "C" __global__ void cast_rows(const uint4* from, uint2* to, float* scales, int vectors) {
  const long long first = static_cast<long long>(cta_number()) * vectors;
  for (int i = thread_number(); i < vectors; i += threads_in_cta()) {
    const uint4 v = from[first + i];
    float largest = fmaxf(fmaxf(absolute_maximum(v.x), absolute_maximum(v.y)),
                          fmaxf(absolute_maximum(v.z), absolute_maximum(v.w)));
#pragma unroll
    for (int lanes = 8; lanes > 0; lanes /= 2) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, lanes));
    largest = fmaxf(largest, 1e-4f);
    const float factor = kLargest / largest;
    to[first + i] = make_uint2(narrowed(v.x, factor) | narrowed(v.y, factor) << 16,
                               narrowed(v.z, factor) | narrowed(v.w, factor) << 16);
    if (i % 16 == 0) scales[(first + i) / 16] = largest / kLargest;
  }
}

/// A tile of 128 tokens x 128 channels per CTA (x: channels, y: tokens), scaled per channel, written channel
/// by channel. 256 threads. Shared memory: 128 rows of 132 16-bit words, one pair of banks more than the
/// tile.
extern "C" __global__ void __launch_bounds__(256)
    cast_transpose(const uint32_t* from, uint32_t* to, float* scales, int channels, int tokens) {
  extern __shared__ uint16_t tile[];
  constexpr int kPitch = kTile + 4;
  const int column = blockIdx.x * kTile, row = blockIdx.y * kTile;
#pragma unroll 8
  for (int i = threadIdx.x; i < kTile * kTile / 2; i += 256) {
    const int r = i / (kTile / 2), c = i % (kTile / 2);
    const uint32_t pair = from[(static_cast<long long>(row + r) * channels + column) / 2 + c];
    *reinterpret_cast<uint32_t*>(tile + r * kPitch + 2 * c) = pair;
  }
  __syncthreads();
  // Two threads per channel, 64 tokens each.
  const int channel = threadIdx.x / 2, half = threadIdx.x % 2;
  float largest = 1e-4f;
  for (int r = half * 64; r < half * 64 + 64; ++r)
    largest = fmaxf(largest, fabsf(__uint_as_float(uint32_t{tile[r * kPitch + channel]} << 16)));
  largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, 1));
  const float factor = kLargest / largest;
  uint32_t* const out = to + ((static_cast<long long>(column + channel) * tokens + row) + half * 64) / 4;
#pragma unroll 4
  for (int i = 0; i < 16; ++i) {
    const uint16_t* const v = tile + (half * 64 + 4 * i) * kPitch + channel;
    const uint32_t low = v[0] | static_cast<uint32_t>(v[kPitch]) << 16,
                   high = v[2 * kPitch] | static_cast<uint32_t>(v[3 * kPitch]) << 16;
    out[i] = narrowed(low, factor) | narrowed(high, factor) << 16;
  }
  if (half == 0)
    scales[static_cast<long long>(blockIdx.y) * channels + column + channel] = largest / kLargest;
}

/// A matrix of bytes, a tile of 128 x 128 per CTA in the order of cta_number(), `columns` / 128 tiles next to
/// each other. 512 threads; 128 rows of 132 bytes.
extern "C" __global__ void __launch_bounds__(512)
    transpose_bytes(const uint32_t* from, uint32_t* to, int rows, int columns) {
  extern __shared__ uint8_t bytes[];
  constexpr int kPitch = kTile + 4;
  const int across = columns / kTile;
  const int column = cta_number() % across * kTile, row = cta_number() / across * kTile;
#pragma unroll 8
  for (int i = threadIdx.x; i < kTile * kTile / 4; i += 512) {
    const int r = i / (kTile / 4), c = i % (kTile / 4);
    *reinterpret_cast<uint32_t*>(bytes + r * kPitch + 4 * c) =
        from[(static_cast<long long>(row + r) * columns + column) / 4 + c];
  }
  __syncthreads();
#pragma unroll 8
  for (int i = threadIdx.x; i < kTile * kTile / 4; i += 512) {
    const int c = i / (kTile / 4), r = i % (kTile / 4) * 4;
    const uint8_t* const v = bytes + r * kPitch + c;
    to[(static_cast<long long>(column + c) * rows + row + r) / 4] =
        v[0] | v[kPitch] << 8 | v[2 * kPitch] << 16 | static_cast<uint32_t>(v[3 * kPitch]) << 24;
  }
}
