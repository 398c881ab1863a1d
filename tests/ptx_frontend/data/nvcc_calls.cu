// Source of nvcc_calls.ptx: nvcc -ptx -arch=sm_90a nvcc_calls.cu -o nvcc_calls.ptx (nvcc 13.0).
// One kernel with what the linker and the call ABI have to cope with: recursion, a struct by value, an
// indirect call through a table, static and dynamic shared memory, a constant, an indexed kernel parameter, a
// spin with a time-out.
#include <cstdio>

__device__ __forceinline__ int load_acquire(const int* p) {
  int r;
  asm volatile("ld.acquire.sys.global.s32 %0, [%1];" : "=r"(r) : "l"(p) : "memory");
  return r;
}

__device__ int table[4] = {1, 2, 3, 4};
__constant__ int constants[8];
extern __shared__ int dynamic[];

__device__ __noinline__ int recurse(int a, int4 b) {
  int local[10];
  for (int i = 0; i < 10; ++i) local[i] = a * i + b.x;
  return local[b.y & 7] + (a > 0 ? recurse(a - 1, b) : 0);
}

typedef int (*Function)(int);
__device__ int increment(int x) { return x + 1; }
__device__ int twice(int x) { return x * 2; }
__device__ Function functions[2] = {increment, twice};

struct Parameters {
  int a[40];
  float f;
};

extern "C" __global__ void __launch_bounds__(256, 2) calls(int* flag, int* out, Parameters p, int n) {
  __shared__ double fixed[33];
  fixed[threadIdx.x & 31] = n;
  __syncthreads();
  long long begin = clock64();
  while (load_acquire(flag) != n) {
    if (clock64() - begin > 200000000LL) {
      printf("timeout %d\n", n);
      __trap();
    }
  }
  dynamic[threadIdx.x] = p.a[n];
  __syncthreads();
  out[threadIdx.x] = dynamic[n] + recurse(n, make_int4(1, 2, 3, n)) + functions[n & 1](n) + table[n & 3] +
                     constants[n] + (int)fixed[n] + (int)p.f;
}
