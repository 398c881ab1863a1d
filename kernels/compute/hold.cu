// Holds SMs as a communication kernel does: `hold` only waits, as a notify kernel for its peers;
// `hold_moving` moves rows meanwhile. Both end when *flag is not 0 or `cycles` have passed. Threads,
// registers and shared memory of the launch are what they take of an SM.
#include "grid.cuh"

namespace {

using namespace ptxwire;

__device__ __forceinline__ bool over(const int* flag, long long begin, long long cycles) {
  int set;
  asm volatile("ld.relaxed.sys.global.s32 %0, [%1];" : "=r"(set) : "l"(flag) : "memory");
  return set != 0 || clock64() - begin >= cycles;
}

}  // namespace

extern "C" __global__ void hold(const int* flag, long long cycles) {
  if (thread_number() == 0) {
    const long long begin = clock64();
    while (!over(flag, begin, cycles)) __nanosleep(500);
  }
  __syncthreads();
}

/// CTA c copies its share of `rows` rows of `vectors` x 16 bytes over and over, a warp per row, in the
/// spelling of the communication kernels: `from` in local memory, `to` wherever it is (a peer's memory: over
/// NVLink). Between two rows a warp sleeps `pause_ns`. moved[c] counts the rows.
extern "C" __global__ void hold_moving(const int* flag, long long cycles, const uint4* from, uint4* to,
                                       int rows, int vectors, unsigned pause_ns, unsigned long long* moved) {
  const long long begin = clock64();
  const int lane = thread_number() % 32, warps = threads_in_cta() / 32;
  const int first = cta_number() * warps + thread_number() / 32, step = ctas_in_grid() * warps;
  unsigned long long count = 0;
  bool done = false;
  while (!done) {
    for (int r = first; r < rows && !done; r += step) {
      const long long offset = static_cast<long long>(r) * vectors;
#pragma unroll 8
      for (int i = lane; i < vectors; i += 32) {
        uint4 v;
        asm volatile("ld.global.nc.L1::no_allocate.L2::256B.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                     : "l"(from + offset + i));
        asm volatile("st.global.L1::no_allocate.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to + offset + i),
                     "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
                     : "memory");
      }
      ++count;
      if (pause_ns != 0) __nanosleep(pause_ns);
      done = __any_sync(~0u, over(flag, begin, cycles));
    }
    if (first >= rows) done = true;
  }
  if (lane == 0 && count != 0) atomicAdd(moved + cta_number(), count);
}
