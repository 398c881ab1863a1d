// Loads and stores with cache hints, volatile access, fences: a value is a value whatever the hint.
#include <cstdint>

extern "C" __global__ void hints(const int* in, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  int sum = __ldg(&in[i]);
  sum += 2 * __ldcg(&in[(i + 1) % n]);
  sum += 3 * __ldca(&in[(i + 2) % n]);
  sum += 4 * __ldcs(&in[(i + 3) % n]);
  sum += 5 * __ldlu(&in[(i + 4) % n]);
  sum += 6 * __ldcv(&in[(i + 5) % n]);
  sum += 7 * *static_cast<const volatile int*>(&in[(i + 6) % n]);
  __stwb(&out[i], sum);
  __stcg(&out[n + i], sum + 1);
  __stcs(&out[2 * n + i], sum + 2);
  __stwt(&out[3 * n + i], sum + 3);
  *static_cast<volatile int*>(&out[4 * n + i]) = sum + 4;
}

extern "C" __global__ void wide_hints(const int4* in, int4* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  int4 a = __ldg(&in[i]);
  const int4 b = __ldcs(&in[i ^ 1]);
  a.x += b.w;
  a.y += b.z;
  a.z += b.y;
  a.w += b.x;
  __stcs(&out[i], a);
}

// The last CTA to finish adds up what the others left: a fence and an atomic make it see everything.
extern "C" __global__ void last_block(const int* in, int* partial, unsigned* finished, int* total) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    int sum = 0;
    for (int k = 0; k < 32; ++k) sum += in[blockIdx.x * 32 + k];
    partial[blockIdx.x] = sum;
    __threadfence();
    last = atomicInc(finished, gridDim.x) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last || threadIdx.x != 0) return;
  int sum = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) sum += __ldcg(&partial[b]);
  *total = sum;
}

// Two CTAs count to `rounds` in turn.
extern "C" __global__ void ping_pong(volatile int* turn, int rounds, int* seen) {
  if (threadIdx.x != 0) return;
  int count = 0;
  for (int r = static_cast<int>(blockIdx.x); r < rounds; r += 2) {
    while (*turn != r) {
    }
    ++count;
    __threadfence_system();
    *turn = r + 1;
  }
  seen[blockIdx.x] = count;
}
