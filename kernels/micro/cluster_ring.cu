// Distributed shared memory: each CTA of a cluster copies the `bytes` of the next one, `passes` times, 16
// bytes per lane and four of them in flight. Dynamic shared memory: 2 * bytes, the CTA's own data and the
// copy. The checksum is the sum of all words of the copies.
#include "../src/ptx.cuh"
#include "report.cuh"

namespace ptxwire {
namespace {

constexpr int kUnroll = 4;

__device__ __forceinline__ void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/// `address` as it is in the shared memory of the CTA `ahead` places further in the cluster.
__device__ __forceinline__ uint32_t in_cta_ahead(uint32_t address, uint32_t ahead) {
  uint32_t rank, size, mapped;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address), "r"((rank + ahead) % size));
  return mapped;
}

__device__ __forceinline__ uint4 load_cluster(uint32_t address) {
  uint4 v;
  asm volatile("ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "r"(address)
               : "memory");
  return v;
}
__device__ __forceinline__ void store_cluster(uint32_t address, uint4 v) {
  asm volatile("st.shared::cluster.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(v.x), "r"(v.y),
               "r"(v.z), "r"(v.w)
               : "memory");
}

/// kPull: loads go to the other CTA; else the stores do, one place back.
template <bool kPull>
__device__ __forceinline__ void ring_copy(const char* data, int bytes, int passes, Report* report) {
  extern __shared__ __align__(128) char shared[];
  for (int i = 16 * threadIdx.x; i < bytes; i += 16 * blockDim.x)
    *reinterpret_cast<uint4*>(shared + i) =
        *reinterpret_cast<const uint4*>(data + int64_t{blockIdx.x} * bytes + i);
  const uint32_t own = shared_address(shared);
  const uint32_t from = in_cta_ahead(own, kPull ? 1 : 0), to = in_cta_ahead(own + bytes, kPull ? 0 : 1);
  cluster_barrier();
  const Stopwatch watch;
  uint4 v[kUnroll];
#pragma unroll 1
  for (int pass = 0; pass < passes; ++pass)
#pragma unroll 1
    for (int i = 16 * threadIdx.x; i < bytes; i += 16 * kUnroll * blockDim.x) {
#pragma unroll
      for (int j = 0; j < kUnroll; ++j) v[j] = load_cluster(from + i + 16 * j * blockDim.x);
#pragma unroll
      for (int j = 0; j < kUnroll; ++j) store_cluster(to + i + 16 * j * blockDim.x, v[j]);
    }
  const unsigned long long clk = watch.stop(v[kUnroll - 1].w);
  cluster_barrier();
  unsigned sum = 0;
  for (int i = threadIdx.x; i < bytes / 4; i += blockDim.x)
    sum += reinterpret_cast<unsigned*>(shared + bytes)[i];
  write_report(report, clk, int64_t{bytes} / 512 * passes, int64_t{bytes} * passes, sum);
}

}  // namespace
}  // namespace ptxwire

extern "C" __global__ void cluster_ring_load(const char* data, int bytes, int passes,
                                             ptxwire::Report* report) {
  ptxwire::ring_copy<true>(data, bytes, passes, report);
}
extern "C" __global__ void cluster_ring_store(const char* data, int bytes, int passes,
                                              ptxwire::Report* report) {
  ptxwire::ring_copy<false>(data, bytes, passes, report);
}
