// printf, assert, trap.
#include <cassert>
#include <cstdio>

extern "C" __global__ void print(const int* in, const char* label) {
  if (threadIdx.x < 2)
    printf("thread %u of %s: %d %5.2f %c %llx 100%%\n", threadIdx.x, "block", in[threadIdx.x],
           in[threadIdx.x] * 0.5, 'a' + in[threadIdx.x] % 26, 0x123456789abcULL + threadIdx.x);
  if (threadIdx.x == 3) printf("%s done\n", label);
}

extern "C" __global__ void check(const int* in) {
  const int x = in[threadIdx.x];
  assert(x < 100);
}

extern "C" __global__ void stop(const int* in) {
  if (in[threadIdx.x] == 42) __trap();
}

extern "C" __global__ void out_of_bounds(int* data, int index) { data[index + threadIdx.x] = 1; }
