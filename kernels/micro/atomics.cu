// Atomics and reductions: thread t of the grid adds 1 to counter t % counters, `repeats` times; counters lie
// `spacing` bytes apart. One counter: all at the same address; 32 with 4 bytes between them: one line; more
// with 128: spread. The checksum of `atom` is the sum of what it returned, that of `red` counts the
// additions.
#include "report.cuh"

namespace ptxwire {
namespace {

template <typename T, bool kSystem>
__device__ __forceinline__ T atom_add(char* address) {
  T old;
  if constexpr (sizeof(T) == 4 && kSystem)
    asm volatile("atom.relaxed.sys.global.add.u32 %0, [%1], 1;" : "=r"(old) : "l"(address) : "memory");
  else if constexpr (sizeof(T) == 4)
    asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], 1;" : "=r"(old) : "l"(address) : "memory");
  else if constexpr (kSystem)
    asm volatile("atom.relaxed.sys.global.add.u64 %0, [%1], 1;" : "=l"(old) : "l"(address) : "memory");
  else
    asm volatile("atom.relaxed.gpu.global.add.u64 %0, [%1], 1;" : "=l"(old) : "l"(address) : "memory");
  return old;
}

template <typename T, bool kSystem>
__device__ __forceinline__ void red_add(char* address) {
  if constexpr (sizeof(T) == 4 && kSystem)
    asm volatile("red.relaxed.sys.global.add.u32 [%0], 1;" ::"l"(address) : "memory");
  else if constexpr (sizeof(T) == 4)
    asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;" ::"l"(address) : "memory");
  else if constexpr (kSystem)
    asm volatile("red.relaxed.sys.global.add.u64 [%0], 1;" ::"l"(address) : "memory");
  else
    asm volatile("red.relaxed.gpu.global.add.u64 [%0], 1;" ::"l"(address) : "memory");
}

template <typename T, bool kSystem, bool kReturns>
__device__ __forceinline__ void add(char* counters, int count, int spacing, int repeats, Report* report) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  char* address = counters + static_cast<int64_t>(thread % count) * spacing;
  unsigned sum = 0;
  const Stopwatch watch;
#pragma unroll 1
  for (int i = 0; i < repeats; ++i) {
    if constexpr (kReturns) {
      sum += static_cast<unsigned>(atom_add<T, kSystem>(address));
    } else {
      red_add<T, kSystem>(address);
      ++sum;
    }
  }
  const unsigned long long clk = watch.stop(sum);
  const unsigned long long adds = static_cast<unsigned long long>(repeats) * blockDim.x;
  write_report(report, clk, adds, adds * sizeof(T), sum);
}

}  // namespace
}  // namespace ptxwire

#define PTXWIRE_ATOMICS(NAME, TYPE, SYSTEM, RETURNS)                                   \
  extern "C" __global__ void NAME(char* counters, int count, int spacing, int repeats, \
                                  ptxwire::Report* report) {                           \
    ptxwire::add<TYPE, SYSTEM, RETURNS>(counters, count, spacing, repeats, report);    \
  }

PTXWIRE_ATOMICS(atom_gpu_u32, unsigned, false, true)
PTXWIRE_ATOMICS(atom_sys_u32, unsigned, true, true)
PTXWIRE_ATOMICS(atom_gpu_u64, unsigned long long, false, true)
PTXWIRE_ATOMICS(atom_sys_u64, unsigned long long, true, true)
PTXWIRE_ATOMICS(red_gpu_u32, unsigned, false, false)
PTXWIRE_ATOMICS(red_sys_u32, unsigned, true, false)
PTXWIRE_ATOMICS(red_gpu_u64, unsigned long long, false, false)
PTXWIRE_ATOMICS(red_sys_u64, unsigned long long, true, false)
