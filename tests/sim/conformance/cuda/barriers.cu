// CTA barriers: the reducing variants, named barriers, warps that leave early.
#include <cstdint>

extern "C" __global__ void reducing(const int* in, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int count = __syncthreads_count(in[i] > 50);
  const int all = __syncthreads_and(in[i] >= 0);
  const int any = __syncthreads_or(in[i] == 13);
  out[3 * i] = count;
  out[3 * i + 1] = all;
  out[3 * i + 2] = any;
}

extern "C" __global__ void tree_sum(const int* in, long long* out) {
  __shared__ long long partial[256];
  partial[threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x];
  __syncthreads();
  for (int half = 128; half != 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = partial[0];
}

__device__ void named_sync(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
__device__ void named_arrive(int barrier, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

// Warp 0 makes, warps 1 and 2 take, through one buffer with a barrier for full and one for empty.
extern "C" __global__ void producer_consumers(const int* in, int* out, int rounds) {
  __shared__ int box[32];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int r = 0; r < rounds; ++r) {
    if (warp == 0) {
      if (r != 0) named_sync(2, 96);
      box[lane] = in[r * 32 + lane] * 2;
      __threadfence_block();
      named_arrive(1, 96);
    } else {
      named_sync(1, 96);
      out[(r * 2 + warp - 1) * 32 + lane] = box[(lane + warp) % 32] + warp;
      if (r + 1 != rounds) named_arrive(2, 96);
    }
  }
}

extern "C" __global__ void early_exit(const int* in, int* out) {
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  if (threadIdx.x >= 40) return;
  atomicAdd(&sum, in[threadIdx.x]);
  __syncthreads();
  out[threadIdx.x] = sum;
}
