// What every microbenchmark leaves behind: one record per CTA, in grid order. The host reads it as
// sim/workload/micro_result.hpp says.
#pragma once

#include <cstdint>

namespace ptxwire {

struct Report {
  unsigned long long clk;       ///< SM clock cycles of what is measured
  unsigned long long accesses;  ///< how many times it was done
  unsigned long long bytes;     ///< what it moved
  unsigned checksum;            ///< over the values seen, modulo 2^32; the host computes it from the inputs
  unsigned sm;
};

__device__ __forceinline__ unsigned long long clock_now() {
  unsigned long long cycles;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(cycles)::"memory");
  return cycles;
}

/// The instructions behind this one issue after `value` is there: a predicate cannot be guessed.
__device__ __forceinline__ void wait_for(unsigned long long value) {
  asm volatile("{ .reg .pred never; setp.eq.u64 never, %0, -1; @never trap; }" ::"l"(value) : "memory");
}

/// A barrier of the CTA that no thread enters before its `value` is there.
__device__ __forceinline__ void join_after(unsigned value) {
  asm volatile("{ .reg .pred p, any; setp.eq.u32 p, %0, 0; barrier.cta.red.or.pred any, 0, p; }" ::"r"(value)
               : "memory");
}

/// Time of a whole CTA: all threads construct it and call stop() together.
class Stopwatch {
 public:
  __device__ Stopwatch() {
    __syncthreads();
    begin_ = clock_now();
  }
  /// `value`: depends on the last result that the thread waits for.
  __device__ unsigned long long stop(unsigned value) const {
    join_after(value);
    return clock_now() - begin_;
  }

 private:
  unsigned long long begin_;
};

/// Adds the threads' checksums to the CTA's record and fills the rest of it. `report` starts zeroed.
__device__ __forceinline__ void write_report(Report* report, unsigned long long clk,
                                             unsigned long long accesses, unsigned long long bytes,
                                             unsigned checksum) {
  Report* mine = report + blockIdx.x;
  checksum = __reduce_add_sync(__activemask(), checksum);
  if (threadIdx.x % 32 == 0) atomicAdd(&mine->checksum, checksum);
  if (threadIdx.x != 0) return;
  mine->clk = clk;
  mine->accesses = accesses;
  mine->bytes = bytes;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(mine->sm));
}

}  // namespace ptxwire
