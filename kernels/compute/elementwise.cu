// Elementwise kernels on bf16 with the shapes of a framework's: CTAs of 128 threads, 512 elements each.
#include "grid.cuh"

namespace {

constexpr int kElementsPerThread = 4;

using namespace ptxwire;

}  // namespace

/// One element at a time, four per thread, neighbouring threads next to each other: what a copy between
/// layouts does.
extern "C" __global__ void copy_elements(const uint16_t* from, uint16_t* to) {
  const long long first =
      static_cast<long long>(cta_number()) * threads_in_cta() * kElementsPerThread + thread_number();
  uint16_t value[kElementsPerThread];
#pragma unroll
  for (int i = 0; i < kElementsPerThread; ++i) value[i] = from[first + i * threads_in_cta()];
#pragma unroll
  for (int i = 0; i < kElementsPerThread; ++i) to[first + i * threads_in_cta()] = value[i];
}

/// Vectors of four elements.
extern "C" __global__ void scale_elements(const uint2* from, uint2* to, float factor) {
  const long long i = static_cast<long long>(cta_number()) * threads_in_cta() + thread_number();
  const uint2 v = from[i];
  const float2 a = unpacked(v.x), b = unpacked(v.y);
  to[i] = make_uint2(packed(a.x * factor, a.y * factor), packed(b.x * factor, b.y * factor));
}

extern "C" __global__ void add_elements(const uint2* left, const uint2* right, uint2* to) {
  const long long i = static_cast<long long>(cta_number()) * threads_in_cta() + thread_number();
  const uint2 u = left[i], v = right[i];
  const float2 a = unpacked(u.x), b = unpacked(u.y), c = unpacked(v.x), d = unpacked(v.y);
  to[i] = make_uint2(packed(a.x + c.x, a.y + c.y), packed(b.x + d.x, b.y + d.y));
}

/// CTA c copies row c of `vectors` x 16 bytes.
extern "C" __global__ void copy_row(const uint4* from, uint4* to, int vectors) {
  const long long first = static_cast<long long>(cta_number()) * vectors;
  for (int i = thread_number(); i < vectors; i += threads_in_cta()) to[first + i] = from[first + i];
}

/// Rotates pairs (x, y) of bf16 by the angle of their position: CTA (g, 0, h) takes 4 tokens of one head, 32
/// pairs each. `stride` is that of a token's heads, in pairs.
extern "C" __global__ void rotate_pairs(const uint32_t* from, const float2* angles, uint32_t* to, int heads,
                                        int stride) {
  __shared__ float2 table[4 * 32 / 2];
  const int token = blockIdx.x * 4 + threadIdx.x / 32, pair = threadIdx.x % 32;
  if (threadIdx.x < 64) table[threadIdx.x] = angles[blockIdx.x * 64 + threadIdx.x];
  __syncthreads();
  const long long i = (static_cast<long long>(token) * heads + blockIdx.z) * stride + pair;
  const float2 v = unpacked(from[i]), turn = table[threadIdx.x / 2];
  to[i] = packed(v.x * turn.x - v.y * turn.y, v.x * turn.y + v.y * turn.x);
}
