// RDMA posted by the GPU: latency by ping-pong, bandwidth by streams of writes, all forms of queue entries.
#include "../src/rdma.cuh"
#include "report.cuh"

namespace ptxwire {
namespace {

__device__ __forceinline__ int acquire(const int* address) {
  int v;
  asm volatile("ld.acquire.sys.global.s32 %0, [%1];" : "=r"(v) : "l"(address) : "memory");
  return v;
}

}  // namespace

/// Rank `rdma.rank` and `peer` pass a flag to and fro `rounds` times; rank 0 of the two (`first`) begins.
/// `flag` and `payload` lie in the heap. kind 0: 4 bytes inline; 1: `bytes` of payload, then an atomic
/// addition to the flag. result[0] = cycles of all rounds. One warp.
extern "C" __global__ void __launch_bounds__(32, 1)
    rdma_ping_pong(RdmaState rdma, int peer, int first, int kind, int* flag, char* payload, int bytes,
                   int rounds, long long* result) {
  const int lane = static_cast<int>(threadIdx.x);
  const long long start = clock64();
  for (int round = 1; round <= rounds; ++round) {
    for (int half = 0; half < 2; ++half) {
      if ((half == 0) == (first != 0)) {
        if (kind != 0) rdma_put_warp(rdma, peer, 0, payload + bytes, payload, bytes, lane, false);
        if (lane == 0) {
          if (kind != 0)
            rdma_add(rdma, peer, 0, flag, 1);
          else
            rdma_put_inline(rdma, peer, 0, flag, round);
        }
      } else if (lane == 0) {
        while (acquire(flag) < round) {
        }
      }
      __syncwarp();
    }
  }
  if (lane == 0) {
    rdma_quiet(rdma, peer, 0);
    result[0] = clock64() - start;
  }
}

/// Every CTA (one warp) writes `count` messages of `bytes` to `peer` over a queue of its own and rings for
/// every `batch`-th; then it waits until all are complete. result[CTA] = cycles.
extern "C" __global__ void __launch_bounds__(32, 1)
    rdma_stream(RdmaState rdma, int peer, char* to, const char* from, int bytes, int count, int batch,
                int* done, long long* result) {
  const int lane = static_cast<int>(threadIdx.x), cta = static_cast<int>(blockIdx.x);
  const int64_t offset = static_cast<int64_t>(cta) * bytes;
  const long long start = clock64();
  for (int i = 0; i < count; ++i)
    rdma_put_warp(rdma, peer, cta, to + offset, from + offset, bytes, lane, (i + 1) % batch == 0);
  if (lane == 0) {
    rdma_add(rdma, peer, cta, done + cta, 1);
    rdma_quiet(rdma, peer, cta);
    result[cta] = clock64() - start;
  }
}

}  // namespace ptxwire
