// Atomics on global and shared memory, and what programmers build from them.
#include <cstdint>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda/atomic>

// Results that do not depend on the order in which threads come.
extern "C" __global__ void global_atomics(const int* in, int* ints, unsigned long long* longs, float* floats,
                                          double* doubles) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int x = in[i];
  atomicAdd(&ints[0], x);
  atomicSub(&ints[1], x);
  atomicMin(&ints[2], x);
  atomicMax(&ints[3], x);
  atomicAnd(&ints[4], x | 0xFF);
  atomicOr(&ints[5], x & 0xFFF);
  atomicXor(&ints[6], x);
  atomicInc(reinterpret_cast<unsigned*>(&ints[7]), 10);
  atomicDec(reinterpret_cast<unsigned*>(&ints[8]), 10);
  atomicMin(reinterpret_cast<unsigned*>(&ints[9]), static_cast<unsigned>(x));
  atomicAdd(&longs[0], static_cast<unsigned long long>(x) << 20);
  atomicMax(&longs[1], static_cast<unsigned long long>(x) << 33);
  atomicAnd(&longs[2], ~(1ULL << (x & 63)));
  atomicAdd(&floats[0], static_cast<float>(x & 255));
  atomicAdd(&doubles[0], 0.25 * x);
}

extern "C" __global__ void shared_atomics(const int* in, int* out, float* floats, double* doubles) {
  __shared__ int bins[16];
  __shared__ int extremes[2];
  __shared__ float sum;
  __shared__ double wide;
  __shared__ unsigned long long total;
  if (threadIdx.x < 16) bins[threadIdx.x] = 0;
  if (threadIdx.x == 0) {
    extremes[0] = 1 << 30;
    extremes[1] = -(1 << 30);
    sum = 0;
    wide = 0;
    total = 0;
  }
  __syncthreads();
  const int x = in[blockIdx.x * blockDim.x + threadIdx.x];
  atomicAdd(&bins[x & 15], 1);
  atomicMin(&extremes[0], x);
  atomicMax(&extremes[1], x);
  atomicAdd(&sum, static_cast<float>(x & 63));
  atomicAdd(&wide, static_cast<double>(x) * 0.5);
  atomicAdd(&total, static_cast<unsigned long long>(x & 1023) << 32);
  __syncthreads();
  int* to = out + 19 * blockIdx.x;
  if (threadIdx.x < 16) to[threadIdx.x] = bins[threadIdx.x];
  if (threadIdx.x == 0) {
    to[16] = extremes[0];
    to[17] = extremes[1];
    to[18] = static_cast<int>(total >> 32);
    floats[blockIdx.x] = sum;
    doubles[blockIdx.x] = wide;
  }
}

// Every thread draws a ticket; tickets are a permutation.
extern "C" __global__ void tickets(unsigned* counter, unsigned* owner) {
  const unsigned ticket = atomicAdd(counter, 1U);
  owner[ticket] = blockIdx.x * blockDim.x + threadIdx.x;
}

__device__ void multiply_atomically(float* target, float factor) {
  auto* bits = reinterpret_cast<unsigned*>(target);
  unsigned old = *bits, seen;
  do {
    seen = old;
    old = atomicCAS(bits, seen, __float_as_uint(__uint_as_float(seen) * factor));
  } while (old != seen);
}

extern "C" __global__ void cas_loops(float* product, unsigned long long* wide, unsigned short* narrow) {
  multiply_atomically(product, threadIdx.x % 2 == 0 ? 2.0F : 0.5F);
  if (threadIdx.x == 0) multiply_atomically(product, 3.0F);
  unsigned long long old = *wide, seen;
  do {
    seen = old;
    old = atomicCAS(wide, seen, seen + 3);
  } while (old != seen);
  unsigned short old16 = *narrow, seen16;
  do {
    seen16 = old16;
    old16 = atomicCAS(narrow, seen16, static_cast<unsigned short>(seen16 + 1));
  } while (old16 != seen16);
}

// A spin lock: one lane of each warp at a time, and only with release and acquire is the plain sum right.
extern "C" __global__ void spin_lock(int* lock, int* sum) {
  if ((threadIdx.x & 31) == 0) {
    while (atomicCAS(lock, 0, 1) != 0) __nanosleep(20);
    __threadfence();
    *static_cast<volatile int*>(sum) = *static_cast<volatile int*>(sum) + static_cast<int>(blockIdx.x) + 1;
    __threadfence();
    atomicExch(lock, 0);
  }
}

// libcu++: scoped atomics, a message passed between CTAs.
extern "C" __global__ void message(int* data, int* flag, int* out) {
  cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
  if (blockIdx.x == 0) {
    data[threadIdx.x] = 100 + static_cast<int>(threadIdx.x);
    __syncthreads();
    if (threadIdx.x == 0) ready.store(1, cuda::std::memory_order_release);
  } else {
    if (threadIdx.x == 0)
      while (ready.load(cuda::std::memory_order_acquire) != 1) {
      }
    __syncthreads();
    out[(blockIdx.x - 1) * blockDim.x + threadIdx.x] = data[threadIdx.x] * static_cast<int>(blockIdx.x);
    cuda::atomic_ref<int, cuda::thread_scope_system>(flag[1]).fetch_add(1, cuda::std::memory_order_acq_rel);
  }
}

// sm_90 adds whole vectors.
extern "C" __global__ void vector_atomics(float2* pairs, float4* quads, float4* before) {
  atomicAdd(&pairs[threadIdx.x & 3], make_float2(1, 0.5F));
  const float4 old = atomicAdd(&quads[threadIdx.x], make_float4(1, 2, 3, 4));
  before[threadIdx.x] = old;
}

// Pairs of 16-bit floats in one word, and vectors of them; halves[i] and bfloats[i] get lane + 1 added per
// lane.
extern "C" __global__ void narrow_atomics(__half2* halves, __nv_bfloat162* bfloats, uint4* rows) {
  const int lane = static_cast<int>(threadIdx.x);
  atomicAdd(&halves[lane & 1], __floats2half2_rn(static_cast<float>(lane + 1), 0.25F));
  atomicAdd(&bfloats[lane & 1], __floats2bfloat162_rn(1, static_cast<float>(lane)));
  const __half2 h = __floats2half2_rn(1, 2);
  const uint32_t bits = *reinterpret_cast<const uint32_t*>(&h);
  asm volatile("red.global.add.noftz.v4.f16x2 [%0], {%1, %1, %1, %1};" ::"l"(&rows[lane & 1]), "r"(bits)
               : "memory");
}

// On global memory add.f32 takes subnormal numbers for zero, on shared memory it does not.
extern "C" __global__ void subnormals(float* global, float* out, float small) {
  __shared__ float shared;
  shared = small;
  __syncwarp();
  if (threadIdx.x == 0) {
    atomicAdd(global, small);
    atomicAdd(&shared, small);
    out[0] = shared;
  }
}
