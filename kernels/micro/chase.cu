// Latency by pointer chase: each load gives the address of the next. A ring lies in memory, one node every
// `stride` bytes, each node the address of the next one; the host builds it. Thread t starts at node
// t * lane_nodes.
#include "../src/ptx.cuh"
#include "report.cuh"

namespace ptxwire {
namespace {

enum class Path { l1, l2, system };
constexpr int kUnroll = 16;

template <Path kPath>
__device__ __forceinline__ uint64_t follow(uint64_t node) {
  uint64_t next;
  if constexpr (kPath == Path::l1)
    asm volatile("ld.global.ca.u64 %0, [%1];" : "=l"(next) : "l"(node) : "memory");
  else if constexpr (kPath == Path::l2)
    asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(next) : "l"(node) : "memory");
  else
    asm volatile("ld.volatile.global.u64 %0, [%1];" : "=l"(next) : "l"(node) : "memory");
  return next;
}

/// `accesses` is a multiple of kUnroll. `warm` of the same accesses come before the clock starts.
template <Path kPath>
__device__ __forceinline__ void chase(uint64_t ring, int stride, int lane_nodes, int warm, int accesses,
                                      Report* report) {
  const uint64_t start = ring + uint64_t{threadIdx.x} * lane_nodes * stride;
  uint64_t node = start;
#pragma unroll 1
  for (int i = 0; i < warm; ++i) node = follow<kPath>(node);
  wait_for(node);
  unsigned sum = 0;
  node = start;
  const Stopwatch watch;
#pragma unroll 1
  for (int i = 0; i < accesses; i += kUnroll)
#pragma unroll
    for (int j = 0; j < kUnroll; ++j) {
      const uint64_t next = follow<kPath>(node);
      sum += static_cast<unsigned>(node);  // of the node before, while the load is on its way
      node = next;
    }
  const unsigned long long clk = watch.stop(static_cast<unsigned>(node));
  sum -= static_cast<unsigned>(accesses) * static_cast<unsigned>(ring);
  write_report(report, clk, accesses, 8ULL * accesses * blockDim.x, sum);
}

/// Writes the time of every access to `samples`, without what the clock itself costs.
template <Path kPath>
__device__ __forceinline__ void chase_each(uint64_t ring, int warm, int accesses, unsigned* samples,
                                           Report* report) {
  uint64_t node = ring;
#pragma unroll 1
  for (int i = 0; i < warm; ++i) node = follow<kPath>(node);
  wait_for(node);
  unsigned long long clock_cost = ~0ULL, total = 0;
#pragma unroll 1
  for (int i = 0; i < 8; ++i) {
    const unsigned long long begin = clock_now();
    wait_for(node + i);
    clock_cost = min(clock_cost, clock_now() - begin);
  }
  unsigned sum = 0;
  node = ring;
#pragma unroll 1
  for (int i = 0; i < accesses; ++i) {
    const unsigned long long begin = clock_now();
    const uint64_t next = follow<kPath>(node);
    wait_for(next);
    const unsigned long long took = clock_now() - begin - clock_cost;
    samples[i] = static_cast<unsigned>(took);
    total += took;
    sum += static_cast<unsigned>(node - ring);
    node = next;
  }
  write_report(report, total, accesses, 8ULL * accesses, sum);
}

/// The ring moved to shared memory: node i at i * stride holds the shared address of the next one. `base` is
/// where the chasing thread will find it.
__device__ __forceinline__ void copy_ring(uint32_t to, uint32_t base, const char* ring, int stride,
                                          int nodes) {
#pragma unroll 1
  for (int i = threadIdx.x; i < nodes; i += blockDim.x) {
    const char* next = *reinterpret_cast<const char* const*>(ring + static_cast<int64_t>(i) * stride);
    const uint32_t address = base + static_cast<uint32_t>(next - ring);
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(to + i * stride), "r"(address) : "memory");
  }
}

template <bool kOtherCta>
__device__ __forceinline__ uint32_t follow_shared(uint32_t node) {
  uint32_t next;
  if constexpr (kOtherCta)
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(next) : "r"(node) : "memory");
  else
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(next) : "r"(node) : "memory");
  return next;
}

template <bool kOtherCta>
__device__ __forceinline__ void chase_shared_ring(uint32_t ring, int accesses, Report* report) {
  uint32_t node = ring;
  unsigned sum = 0;
  const Stopwatch watch;
#pragma unroll 1
  for (int i = 0; i < accesses; i += kUnroll)
#pragma unroll
    for (int j = 0; j < kUnroll; ++j) {
      const uint32_t next = follow_shared<kOtherCta>(node);
      sum += node;
      node = next;
    }
  const unsigned long long clk = watch.stop(node);
  write_report(report, clk, accesses, 4ULL * accesses * blockDim.x,
               sum - static_cast<unsigned>(accesses) * ring);
}

}  // namespace
}  // namespace ptxwire

#define PTXWIRE_CHASE(NAME, PATH)                                                                    \
  extern "C" __global__ void NAME(uint64_t ring, int stride, int lane_nodes, int warm, int accesses, \
                                  ptxwire::Report* report) {                                         \
    ptxwire::chase<ptxwire::Path::PATH>(ring, stride, lane_nodes, warm, accesses, report);           \
  }                                                                                                  \
  extern "C" __global__ void NAME##_each(uint64_t ring, int warm, int accesses, unsigned* samples,   \
                                         ptxwire::Report* report) {                                  \
    ptxwire::chase_each<ptxwire::Path::PATH>(ring, warm, accesses, samples, report);                 \
  }

PTXWIRE_CHASE(chase_l1, l1)
PTXWIRE_CHASE(chase_l2, l2)
PTXWIRE_CHASE(chase_system, system)

/// Launched with nodes * stride bytes of dynamic shared memory.
extern "C" __global__ void chase_shared(const char* ring, int stride, int nodes, int accesses,
                                        ptxwire::Report* report) {
  extern __shared__ char shared[];
  const uint32_t base = ptxwire::shared_address(shared);
  ptxwire::copy_ring(base, base, ring, stride, nodes);
  ptxwire::chase_shared_ring<false>(base, accesses, report);
}

/// The first CTA of each cluster chases through the shared memory of the next one.
extern "C" __global__ void chase_cluster(const char* ring, int stride, int nodes, int accesses,
                                         ptxwire::Report* report) {
  extern __shared__ char shared[];
  const uint32_t base = ptxwire::shared_address(shared);
  uint32_t rank, size, seen_by_the_one_before, next;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(seen_by_the_one_before) : "r"(base), "r"(rank));
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(next) : "r"(base), "r"((rank + 1) % size));
  ptxwire::copy_ring(base, seen_by_the_one_before, ring, stride, nodes);
  asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
  if (rank == 0) ptxwire::chase_shared_ring<true>(next, accesses, report);
  asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
