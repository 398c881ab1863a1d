// Bulk copies by one thread per CTA: `chunks` commands of `bytes` each, at most `stages` (1, 2, 4 or 8) of
// them in flight. Dynamic shared memory: stages * bytes. CTA c works on the range of chunks * bytes from c
// on. The checksum is the sum of all words of the chunks that shared memory holds at the end.
#include "../src/ptx.cuh"
#include "report.cuh"

namespace ptxwire {
namespace {

constexpr int kMaxStages = 8;

__device__ __forceinline__ unsigned shared_sum(const char* shared, int bytes) {
  unsigned sum = 0;
#pragma unroll 1
  for (int i = threadIdx.x; i < bytes / 4; i += blockDim.x)
    sum += reinterpret_cast<const unsigned*>(shared)[i];
  return sum;
}

/// One mbarrier per stage, which counts the bytes of its load. Their number is a power of two.
struct Stages {
  uint32_t barriers, data;
  int count, shift, bytes;

  [[nodiscard]] __device__ int of(int chunk) const { return chunk & (count - 1); }
  [[nodiscard]] __device__ uint32_t barrier(int chunk) const { return barriers + of(chunk) * 8; }
  [[nodiscard]] __device__ uint32_t at(int chunk) const { return data + of(chunk) * bytes; }
  __device__ void load(int chunk, const char* from, uint64_t policy) const {
    mbarrier_arrive_expect(barrier(chunk), bytes);
    bulk_load(at(chunk), from + int64_t{chunk} * bytes, bytes, barrier(chunk), policy);
  }
  __device__ void wait(int chunk) const { mbarrier_wait(barrier(chunk), chunk >> shift & 1); }
};

__device__ __forceinline__ Stages make_stages(const void* barriers, const void* data, int count, int bytes) {
  const Stages stages{shared_address(barriers), shared_address(data), count, __ffs(count) - 1, bytes};
  if (threadIdx.x == 0) {
    for (int s = 0; s < count; ++s) mbarrier_init(stages.barriers + 8 * s, 1);
    fence_mbarrier_init();
  }
  return stages;
}

/// Waits until at most `pending` of this thread's bulk stores are not done: kRead, have not read their
/// source.
template <bool kRead>
__device__ __forceinline__ void wait_stores(int pending) {
#define PTXWIRE_WAIT(N)                                                      \
  case N:                                                                    \
    if constexpr (kRead)                                                     \
      asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory"); \
    else                                                                     \
      asm volatile("cp.async.bulk.wait_group %0;" ::"n"(N) : "memory");      \
    break
  switch (pending) {
    PTXWIRE_WAIT(0);
    PTXWIRE_WAIT(1);
    PTXWIRE_WAIT(3);
    PTXWIRE_WAIT(7);
    default:
      __trap();
  }
#undef PTXWIRE_WAIT
}

__device__ __forceinline__ uint64_t policy_of(int evict_first) {
  return evict_first ? kEvictFirst : kEvictNormal;
}

}  // namespace
}  // namespace ptxwire

extern "C" __global__ void bulk_load(const char* from, int bytes, int chunks, int stage_count,
                                     int evict_first, ptxwire::Report* report) {
  extern __shared__ __align__(128) char data[];
  __shared__ uint64_t barriers[ptxwire::kMaxStages];
  const ptxwire::Stages stages = ptxwire::make_stages(barriers, data, stage_count, bytes);
  from += int64_t{blockIdx.x} * chunks * bytes;
  const uint64_t policy = ptxwire::policy_of(evict_first);
  const ptxwire::Stopwatch watch;
  if (threadIdx.x == 0) {
#pragma unroll 1
    for (int chunk = 0; chunk < chunks; ++chunk) {
      if (chunk >= stage_count) stages.wait(chunk - stage_count);
      stages.load(chunk, from, policy);
    }
#pragma unroll 1
    for (int chunk = max(0, chunks - stage_count); chunk < chunks; ++chunk) stages.wait(chunk);
  }
  const unsigned long long clk = watch.stop(0);
  ptxwire::write_report(report, clk, chunks, int64_t{chunks} * bytes,
                        ptxwire::shared_sum(data, min(stage_count, chunks) * bytes));
}

/// Word w of a chunk is w.
extern "C" __global__ void bulk_store(char* to, int bytes, int chunks, int stage_count, int evict_first,
                                      ptxwire::Report* report) {
  extern __shared__ __align__(128) char data[];
  for (int i = threadIdx.x; i < bytes / 4; i += blockDim.x) reinterpret_cast<int*>(data)[i] = i;
  ptxwire::fence_proxy_async_shared();
  to += int64_t{blockIdx.x} * chunks * bytes;
  const uint64_t policy = ptxwire::policy_of(evict_first);
  const uint32_t source = ptxwire::shared_address(data);
  const ptxwire::Stopwatch watch;
  if (threadIdx.x == 0) {
#pragma unroll 1
    for (int chunk = 0; chunk < chunks; ++chunk) {
      if (chunk >= stage_count) ptxwire::wait_stores<false>(stage_count - 1);
      ptxwire::bulk_store(to + int64_t{chunk} * bytes, source, bytes, policy);
    }
    ptxwire::wait_stores<false>(0);
  }
  const unsigned long long clk = watch.stop(0);
  ptxwire::write_report(report, clk, chunks, int64_t{chunks} * bytes, ptxwire::shared_sum(data, bytes));
}

/// Through shared memory from `from` to `to`. A stage is loaded again when its store has read it.
extern "C" __global__ void bulk_copy(const char* from, char* to, int bytes, int chunks, int stage_count,
                                     int evict_first, ptxwire::Report* report) {
  extern __shared__ __align__(128) char data[];
  __shared__ uint64_t barriers[ptxwire::kMaxStages];
  const ptxwire::Stages stages = ptxwire::make_stages(barriers, data, stage_count, bytes);
  from += int64_t{blockIdx.x} * chunks * bytes;
  to += int64_t{blockIdx.x} * chunks * bytes;
  const uint64_t policy = ptxwire::policy_of(evict_first);
  const ptxwire::Stopwatch watch;
  if (threadIdx.x == 0) {
#pragma unroll 1
    for (int chunk = 0; chunk < min(stage_count, chunks); ++chunk) stages.load(chunk, from, policy);
#pragma unroll 1
    for (int chunk = 0; chunk < chunks; ++chunk) {
      stages.wait(chunk);
      ptxwire::bulk_store(to + int64_t{chunk} * bytes, stages.at(chunk), bytes, policy);
      if (chunk + stage_count >= chunks) continue;
      ptxwire::wait_stores<true>(0);
      stages.load(chunk + stage_count, from, policy);
    }
    ptxwire::wait_stores<false>(0);
  }
  const unsigned long long clk = watch.stop(0);
  ptxwire::write_report(report, clk, chunks, int64_t{chunks} * bytes,
                        ptxwire::shared_sum(data, min(stage_count, chunks) * bytes));
}

/// What a bulk load adds to the latency of a plain one: a pointer chase through `ring` (see chase.cu) with
/// bulk loads of `bytes` and the same with `ld.cg`; the difference is reported. One warp, of which one thread
/// chases; the first pass of each is not timed. Dynamic shared memory: `bytes`.
extern "C" __global__ void bulk_extra_latency(uint64_t ring, int bytes, int accesses,
                                              ptxwire::Report* report) {
  extern __shared__ __align__(128) char data[];
  __shared__ uint64_t barrier;
  const ptxwire::Stages stage = ptxwire::make_stages(&barrier, data, 1, bytes);
  __syncthreads();
  unsigned sum = 0;
  unsigned long long clk = 0;
  if (threadIdx.x == 0) {
    int loads = 0;
#pragma unroll 1
    for (int pass = 0; pass < 2; ++pass) {
      uint64_t node = ring;
      sum = 0;
      const unsigned long long begin = ptxwire::clock_now();
#pragma unroll 1
      for (int i = 0; i < accesses; ++i, ++loads) {
        ptxwire::mbarrier_arrive_expect(stage.barriers, bytes);
        ptxwire::bulk_load(stage.data, reinterpret_cast<const void*>(node), bytes, stage.barriers,
                           ptxwire::kEvictNormal);
        ptxwire::mbarrier_wait(stage.barriers, loads & 1);
        sum += static_cast<unsigned>(node - ring);
        asm volatile("ld.shared.u64 %0, [%1];" : "=l"(node) : "r"(stage.data) : "memory");
      }
      ptxwire::wait_for(node);
      clk = ptxwire::clock_now() - begin;
    }
#pragma unroll 1
    for (int pass = 0; pass < 2; ++pass) {
      uint64_t node = ring;
      const unsigned long long begin = ptxwire::clock_now();
#pragma unroll 1
      for (int i = 0; i < accesses; ++i) {
        const uint64_t here = node;
        asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(node) : "l"(here) : "memory");
        if (pass == 1) sum += static_cast<unsigned>(here - ring);
      }
      ptxwire::wait_for(node);
      if (pass == 1) clk -= ptxwire::clock_now() - begin;
    }
  }
  ptxwire::write_report(report, clk, accesses, int64_t{bytes} * accesses, sum);
}
