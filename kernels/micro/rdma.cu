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
/// addition to the flag. An access of the record is a round of two messages, the checksum
/// sums their numbers. One warp.
extern "C" __global__ void __launch_bounds__(32, 1)
    rdma_ping_pong(RdmaState rdma, int peer, int first, int kind, int* flag, char* payload, int bytes,
                   int rounds, Report* report) {
  const int lane = static_cast<int>(threadIdx.x);
  unsigned checksum = 0;
  const unsigned long long start = clock_now();
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
        checksum += static_cast<unsigned>(round);
      }
      __syncwarp();
    }
  }
  const unsigned long long clk = clock_now() - start;
  if (lane == 0) rdma_quiet(rdma, peer, 0);
  write_report(report, clk, static_cast<unsigned long long>(rounds), 2ull * bytes * rounds, checksum);
}

/// Every CTA (one warp) writes `count` messages of `bytes` to `peer` over a queue of its own and rings for
/// every `batch`-th; then it waits until all are complete. An access of the record is a message; the
/// checksum is their number.
extern "C" __global__ void __launch_bounds__(32, 1)
    rdma_stream(RdmaState rdma, int peer, char* to, const char* from, int bytes, int count, int batch,
                int* done, Report* report) {
  const int lane = static_cast<int>(threadIdx.x), cta = static_cast<int>(blockIdx.x);
  const int64_t offset = static_cast<int64_t>(cta) * bytes;
  const unsigned long long start = clock_now();
  for (int i = 0; i < count; ++i)
    rdma_put_warp(rdma, peer, cta, to + offset, from + offset, bytes, lane, (i + 1) % batch == 0);
  if (lane == 0) {
    rdma_add(rdma, peer, cta, done + cta, 1);
    rdma_quiet(rdma, peer, cta);
  }
  __syncwarp();
  write_report(report, clock_now() - start, static_cast<unsigned long long>(count),
               static_cast<unsigned long long>(bytes) * count, lane == 0 ? static_cast<unsigned>(count) : 0u);
}

}  // namespace ptxwire
