// What an order costs: one warp stores `outstanding` times 16 bytes per lane, then orders them; `repeats`
// times. Only the order is timed, up to the next instruction. Word w of each 512 bytes holds w, and the
// flag the number of repeats; the checksum is the sum of all words over all repeats.
#include <utility>

#include "report.cuh"

namespace ptxwire {
namespace {

enum class Order { fence_cta, fence_gpu, fence_sys, store_release_gpu, store_release_sys, red_release_sys };

template <Order kOrder>
__device__ __forceinline__ void order(int* flag, int value) {
  if constexpr (kOrder == Order::fence_cta) asm volatile("fence.acq_rel.cta;" ::: "memory");
  if constexpr (kOrder == Order::fence_gpu) asm volatile("fence.acq_rel.gpu;" ::: "memory");
  if constexpr (kOrder == Order::fence_sys) asm volatile("fence.acq_rel.sys;" ::: "memory");
  if constexpr (kOrder == Order::store_release_gpu)
    asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
  if constexpr (kOrder == Order::store_release_sys)
    asm volatile("st.release.sys.global.s32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
  if constexpr (kOrder == Order::red_release_sys)
    asm volatile("red.release.sys.global.add.s32 [%0], 1;" ::"l"(flag) : "memory");
}

constexpr int kBatch = 8;

/// 16 bytes per lane, `kOffset` bytes from `at` on: an immediate, so that a store is one instruction.
template <int kOffset>
__device__ __forceinline__ void store(uint4* at, unsigned word) {
  asm volatile("st.global.v4.u32 [%0+%1], {%2, %3, %4, %5};" ::"l"(at), "n"(kOffset), "r"(word),
               "r"(word + 1), "r"(word + 2), "r"(word + 3)
               : "memory");
}
template <int... kIndex>
__device__ __forceinline__ void store_batch(uint4* at, unsigned word, std::integer_sequence<int, kIndex...>) {
  (store<512 * kIndex>(at, word), ...);
}

template <Order kOrder>
__device__ __forceinline__ void order_stores(uint4* to, int* flag, int outstanding, int repeats,
                                             Report* report) {
  constexpr bool kFence =
      kOrder == Order::fence_cta || kOrder == Order::fence_gpu || kOrder == Order::fence_sys;
  const unsigned long long begin = clock_now();
  __syncwarp();
  const unsigned long long clock_cost = clock_now() - begin;
  unsigned long long total = 0;
  unsigned sum = 0;
  const unsigned lane = threadIdx.x, word = 4 * lane;
#pragma unroll 1
  for (int repeat = 1; repeat <= repeats; ++repeat) {
    uint4* at = to + lane;
    int left = outstanding;
#pragma unroll 1
    for (; left >= kBatch; left -= kBatch, at += 32 * kBatch)
      store_batch(at, word, std::make_integer_sequence<int, kBatch>());
#pragma unroll 1
    for (; left > 0; --left, at += 32) store<0>(at, word);
    sum += outstanding * (4 * word + 6);
    __syncwarp();
    const unsigned long long start = clock_now();
    if (kFence || lane == 0) order<kOrder>(flag, repeat);
    __syncwarp();
    total += clock_now() - start - clock_cost;
  }
  if (kFence && lane == 0) *flag = repeats;
  write_report(report, total, repeats, 512ULL * outstanding * repeats, sum);
}

}  // namespace
}  // namespace ptxwire

#define PTXWIRE_ORDER(NAME)                                                                   \
  extern "C" __global__ void order_##NAME(uint4* to, int* flag, int outstanding, int repeats, \
                                          ptxwire::Report* report) {                          \
    ptxwire::order_stores<ptxwire::Order::NAME>(to, flag, outstanding, repeats, report);      \
  }

PTXWIRE_ORDER(fence_cta)
PTXWIRE_ORDER(fence_gpu)
PTXWIRE_ORDER(fence_sys)
PTXWIRE_ORDER(store_release_gpu)
PTXWIRE_ORDER(store_release_sys)
PTXWIRE_ORDER(red_release_sys)
