// One or several rows of bf16 per CTA to one number each.
#include "grid.cuh"

namespace {
using namespace ptxwire;
}

/// sums[c] = float sum of the `vectors` x 8 values of row c: every thread several vectors, then the CTA.
extern "C" __global__ void sum_row(const uint4* from, float* sums, int vectors) {
  __shared__ float scratch[32];
  const long long first = static_cast<long long>(cta_number()) * vectors;
  float sum = 0;
#pragma unroll 4
  for (int i = thread_number(); i < vectors; i += threads_in_cta()) {
    const uint4 v = from[first + i];
    const float2 a = unpacked(v.x), b = unpacked(v.y), c = unpacked(v.z), d = unpacked(v.w);
    sum += ((a.x + a.y) + (b.x + b.y)) + ((c.x + c.y) + (d.x + d.y));
  }
  sum = warp_sum(sum);
  if (thread_number() % 32 == 0) scratch[thread_number() / 32] = sum;
  __syncthreads();
  if (thread_number() != 0) return;
  for (unsigned warp = 1; warp < threads_in_cta() / 32; ++warp) sum += scratch[warp];
  sums[cta_number()] = sum;
}

/// products[r] = dot product of rows r of two matrices of 128 columns, 16 lanes of 16 bytes per row; a CTA takes
/// `rows` rows.
extern "C" __global__ void dot_rows(const uint4* left, const uint4* right, float* products, int rows) {
  const long long first = static_cast<long long>(cta_number()) * rows;
  const int lane = thread_number() % 16, per_step = threads_in_cta() / 16;
#pragma unroll 2
  for (int r = thread_number() / 16; r < rows; r += per_step) {
    const uint4 u = left[(first + r) * 16 + lane], v = right[(first + r) * 16 + lane];
    float sum = 0;
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      const float2 a = unpacked((&u.x)[w]), b = unpacked((&v.x)[w]);
      sum += a.x * b.x + a.y * b.y;
    }
#pragma unroll
    for (int lanes = 8; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(~0u, sum, lanes);
    if (lane == 0) products[first + r] = sum;
  }
}
