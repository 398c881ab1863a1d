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

/// products[r] = dot product of rows r of two matrices of 128 columns, 16 lanes of 16 bytes per row; a CTA
/// takes `rows` rows.
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

/// keys[c] = the `k`-th largest of row c's `columns` floats (none of them NaN), by radix selection of two
/// bits at a time: 16 passes over the row with four barriers each, as the top-k of a framework does it.
extern "C" __global__ void select_row(const float* from, float* keys, int columns, int k) {
  __shared__ int count[4];
  const float* const row = from + static_cast<long long>(cta_number()) * columns;
  const auto ordered = [](float value) {  // as unsigned numbers in the same order
    const unsigned bits = __float_as_uint(value);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  };
  unsigned found = 0, known = 0;
  for (int shift = 30; shift >= 0; shift -= 2) {
    if (thread_number() < 4) count[thread_number()] = 0;
    __syncthreads();
    for (int i = thread_number(); i < columns; i += threads_in_cta()) {
      const unsigned key = ordered(row[i]);
      const bool matches = (key & known) == found;
#pragma unroll
      for (unsigned digit = 0; digit < 4; ++digit) {
        const unsigned votes = __ballot_sync(__activemask(), matches && (key >> shift & 3) == digit);
        if (thread_number() % 32 == 0) atomicAdd(&count[digit], __popc(votes));
      }
    }
    __syncthreads();
    unsigned digit = 3;
    for (; digit > 0 && count[digit] < k; --digit) k -= count[digit];
    __syncthreads();
    found |= digit << shift;
    known |= 3u << shift;
  }
  if (thread_number() == 0)
    keys[cta_number()] = __uint_as_float(found & 0x80000000u ? found ^ 0x80000000u : ~found);
}
