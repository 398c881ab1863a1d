// cp.async with groups, one stage ahead; and through the pipeline interface, with zero fill.
#include <cuda_pipeline.h>

#include <cstdint>

extern "C" __global__ void staged_sum(const int4* in, int* out, int tiles) {
  __shared__ int4 stage[2][64];
  const int t = threadIdx.x;
  const int4* from = in + blockIdx.x * tiles * 64;
  __pipeline_memcpy_async(&stage[0][t], &from[t], 16);
  __pipeline_commit();
  int sum = 0;
  for (int k = 0; k < tiles; ++k) {
    if (k + 1 < tiles) __pipeline_memcpy_async(&stage[(k + 1) & 1][t], &from[(k + 1) * 64 + t], 16);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    const int4 v = stage[k & 1][63 - t];
    sum += v.x + 2 * v.y + 3 * v.z + 4 * v.w;
    __syncthreads();
  }
  out[blockIdx.x * 64 + t] = sum;
}

extern "C" __global__ void zero_fill(const int* in, int* out, int n) {
  __shared__ int stage[128];
  const int t = threadIdx.x;
  __pipeline_memcpy_async(&stage[t], t < n ? &in[t] : in, 4, t < n ? 0 : 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  out[t] = stage[127 - t];
}
