// Products of 64 x 256 by warpgroups, operands in shared memory, one after the other into the same sums: the
// rate of the tensor cores, and the latency of a chain. Dynamic shared memory: 40 KiB. All elements are 1, so
// that a sum counts the products that went into it; the checksum is one sum of every thread.
#include "../compute/wgmma.cuh"
#include "../src/ptx.cuh"
#include "report.cuh"

namespace ptxwire {
namespace {

constexpr int kRowsA = 64, kRowsB = 256, kRowBytes = 128, kWarpgroup = 128;

template <typename Multiply>
__device__ __forceinline__ void chain(unsigned one, int count, Report* report, Multiply multiply) {
  extern __shared__ __align__(1024) char memory[];
  auto* words = reinterpret_cast<unsigned*>(memory);
  for (int i = threadIdx.x; i < (kRowsA + kRowsB) * kRowBytes / 4; i += blockDim.x) words[i] = one;
  fence_proxy_async_shared();
  const uint64_t a = matrix_descriptor(shared_address(memory));
  const uint64_t b = matrix_descriptor(shared_address(memory) + kRowsA * kRowBytes);
  float sum[128];
  const Stopwatch watch;
  wgmma_fence();
#pragma unroll 1
  for (int i = 0; i < count; i += 4) {
#pragma unroll
    for (int k = 0; k < 4; ++k) multiply(sum, a + k * 2, b + k * 2, i + k != 0);
    wgmma_commit();
  }
  wgmma_wait<0>(sum);
  const auto checksum = static_cast<unsigned>(sum[0]);
  const unsigned long long clk = watch.stop(checksum);
  write_report(report, clk, static_cast<unsigned long long>(count) * (blockDim.x / kWarpgroup), 0, checksum);
}

}  // namespace
}  // namespace ptxwire

/// `count`: products of every warpgroup, a multiple of 4.
extern "C" __global__ void __launch_bounds__(256) wgmma_chain_bf16(int count, ptxwire::Report* report) {
  ptxwire::chain(0x3F803F80, count, report, [](float(&sum)[128], uint64_t a, uint64_t b, bool add) {
    ptxwire::wgmma_bf16(sum, a, b, add);
  });
}

extern "C" __global__ void __launch_bounds__(256) wgmma_chain_e4m3(int count, ptxwire::Report* report) {
  ptxwire::chain(0x38383838, count, report, [](float(&sum)[128], uint64_t a, uint64_t b, bool add) {
    ptxwire::wgmma_e4m3(sum, a, b, add);
  });
}
