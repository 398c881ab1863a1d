// Bulk copies: global to shared with an mbarrier, shared to global with a group, and cuda::barrier itself.
#include <cuda/barrier>
#include <cuda/ptx>

#include <cstdint>

using Barrier = cuda::barrier<cuda::thread_scope_block>;
namespace device = cuda::device;

extern "C" __global__ void bulk_round_trip(const int* in, int* out, int factor) {
  __shared__ alignas(128) int tile[256];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ Barrier barrier;
  if (threadIdx.x == 0) {
    init(&barrier, blockDim.x);
    device::experimental::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  Barrier::arrival_token token;
  if (threadIdx.x == 0) {
    device::experimental::cp_async_bulk_global_to_shared(tile, in + blockIdx.x * 256, sizeof(tile), barrier);
    token = device::barrier_arrive_tx(barrier, 1, sizeof(tile));
  } else {
    token = barrier.arrive();
  }
  barrier.wait(cuda::std::move(token));
  for (int k = threadIdx.x; k < 256; k += blockDim.x) tile[k] = tile[k] * factor + k;
  device::experimental::fence_proxy_async_shared_cta();
  __syncthreads();
  if (threadIdx.x == 0) {
    device::experimental::cp_async_bulk_shared_to_global(out + blockIdx.x * 256, tile, sizeof(tile));
    device::experimental::cp_async_bulk_commit_group();
    device::experimental::cp_async_bulk_wait_group_read<0>();
  }
}

extern "C" __global__ void split_barrier(const int* in, int* out, int rounds) {
  __shared__ int values[64];
  __shared__ Barrier barrier;
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  int x = in[threadIdx.x];
  for (int r = 0; r < rounds; ++r) {
    values[threadIdx.x] = x;
    barrier.arrive_and_wait();
    x = values[(threadIdx.x + 1) % 64] + r;
    barrier.arrive_and_wait();
  }
  out[threadIdx.x] = x;
}

// The parity form, as communication kernels write it by hand.
extern "C" __global__ void parity_wait(const uint4* in, uint4* out, int tiles) {
  __shared__ alignas(128) uint4 stage[2][32];
  __shared__ alignas(8) uint64_t full[2];
  const uint32_t lane = threadIdx.x;
  const auto address = [](const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); };
  if (lane == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(&full[0])));
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(&full[1])));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncwarp();
  const auto issue = [&](int tile) {
    const int s = tile & 1;
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(&full[s])), "r"(512)
                 : "memory");
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
            address(stage[s])),
        "l"(in + tile * 32), "r"(512), "r"(address(&full[s]))
        : "memory");
  };
  if (lane == 0) issue(0);
  for (int tile = 0; tile < tiles; ++tile) {
    if (lane == 0 && tile + 1 < tiles) issue(tile + 1);
    asm volatile(
        "{\n.reg .pred P1;\nLAB_WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n"
        "@P1 bra DONE;\nbra LAB_WAIT;\nDONE:\n}" ::"r"(address(&full[tile & 1])),
        "r"(tile >> 1 & 1)
        : "memory");
    uint4 v = stage[tile & 1][31 - lane];
    v.x += tile;
    out[tile * 32 + lane] = v;
    __syncwarp();
  }
}

extern "C" __global__ void bulk_reduce(const float* in, float* sums) {
  __shared__ alignas(16) float tile[64];
  tile[threadIdx.x] = in[blockIdx.x * 64 + threadIdx.x];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(sums),
                 "r"(static_cast<uint32_t>(__cvta_generic_to_shared(tile))), "r"(256)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
  }
}
