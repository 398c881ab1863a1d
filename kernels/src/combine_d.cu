// Intranode combine, revision D: sums leave through shared memory as bulk stores. Launched in clusters of 2
// CTAs where their number is even; the kernel itself does not depend on it.
#include "combine.cuh"

namespace ptxwire {
namespace {

constexpr int kStages = 8;
constexpr int kStageBytes = 512;  // one vector per lane

/// Eight stages per warp: a stage is written again when its bulk store, eight columns ago, has completed.
struct BulkStore {
  static constexpr bool kHasBias = true;
  char* stages;
  uint32_t stages_address;
  int next = 0;

  __device__ void operator()(int lane, int4* to, int4 v) {
    if (lane == 0) bulk_store_wait<kStages - 1>();
    __syncwarp();
    const int offset = next * kStageBytes;
    next = (next + 1) % kStages;
    *reinterpret_cast<int4*>(stages + offset + lane * 16) = v;
    fence_proxy_async_shared();
    __syncwarp();
    if (lane == 0) bulk_store(to, stages_address + offset, kStageBytes, kEvictNormal);
  }
  __device__ void finish() { bulk_store_wait<0>(); }
};

template <PayloadHint kHint>
__device__ void combine_d(const CommBuffers& comm, const CombineInput& in, const CombineOutput& out,
                          const CombineShape& shape) {
  extern __shared__ __align__(128) char shared_bytes[];
  BulkStore store;
  store.stages = shared_bytes + threadIdx.x / 32 * (kStages * kStageBytes);
  store.stages_address = shared_address(store.stages);
  combine<Revision::d, kHint>(comm, in, out, shape, store);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kCombineThreads, 1)
    combine_d(CommBuffers comm, CombineInput in, CombineOutput out, CombineShape shape) {
  combine_d<PayloadHint::standard>(comm, in, out, shape);
}
extern "C" __global__ void __launch_bounds__(kCombineThreads, 1)
    combine_d_no_prefetch(CommBuffers comm, CombineInput in, CombineOutput out, CombineShape shape) {
  combine_d<PayloadHint::no_prefetch>(comm, in, out, shape);
}
extern "C" __global__ void __launch_bounds__(kCombineThreads, 1)
    combine_d_plain(CommBuffers comm, CombineInput in, CombineOutput out, CombineShape shape) {
  combine_d<PayloadHint::plain>(comm, in, out, shape);
}
extern "C" __global__ void __launch_bounds__(kCombineThreads, 1)
    combine_d_volatile(CommBuffers comm, CombineInput in, CombineOutput out, CombineShape shape) {
  combine_d<PayloadHint::safe>(comm, in, out, shape);
}

}  // namespace ptxwire
