// Intranode dispatch, revision D: 768 threads, the receiver moves rows with bulk copies through shared
// memory. Launched in clusters of 2 CTAs where their number is even; the kernel itself does not depend on it.
#include "dispatch.cuh"

namespace ptxwire {
namespace {

/// Bytes of dynamic shared memory per warp: one half row, then the mbarrier in the last 16 bytes.
constexpr int kStagingBytes = 8192;
constexpr int kMbarrierOffset = kStagingBytes - 16;

/// A row in two halves, each loaded into shared memory and stored from there. A half may be loaded only when
/// the store of the one before it has left shared memory. Needs row bytes / 2 <= kMbarrierOffset.
struct BulkRowCopy {
  uint32_t staging = 0, mbarrier = 0, parity = 0;

  __device__ void operator()(int lane, int vectors, int4* to, const int4* from) {
    if (lane == 0) {
      const int first = vectors / 2;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int offset = half == 0 ? 0 : first;
        const int bytes = (half == 0 ? first : vectors - first) * 16;
        bulk_store_wait<0>();
        mbarrier_arrive_expect(mbarrier, bytes);
        bulk_load(staging, from + offset, bytes, mbarrier, kEvictFirst);
        mbarrier_wait(mbarrier, parity);
        parity ^= 1;
        bulk_store(to + offset, staging, bytes, kEvictNormal);
      }
    }
    __syncwarp();
  }
  __device__ void finish() { bulk_store_wait<0>(); }
};

template <PayloadHint kHint>
__device__ void dispatch(const CommBuffers& comm, const DispatchInput& in, const DispatchOutput& out,
                         const DispatchShape& shape) {
  extern __shared__ __align__(128) char shared_bytes[];
  if (blockIdx.x % 2 == 0) {
    dispatch_send<kHint>(comm, in, out.slot_record, shape);
    return;
  }
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  BulkRowCopy copy_row;
  copy_row.staging = shared_address(shared_bytes) + warp * kStagingBytes;
  copy_row.mbarrier = copy_row.staging + kMbarrierOffset;
  if (lane == 0) {
    mbarrier_init(copy_row.mbarrier, 1);
    fence_mbarrier_init();
  }
  __syncwarp();
  dispatch_receive<kHint>(comm, out, shape, copy_row);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(768, 1)
    dispatch_d(CommBuffers comm, DispatchInput in, DispatchOutput out, DispatchShape shape) {
  dispatch<PayloadHint::standard>(comm, in, out, shape);
}
extern "C" __global__ void __launch_bounds__(768, 1)
    dispatch_d_no_prefetch(CommBuffers comm, DispatchInput in, DispatchOutput out, DispatchShape shape) {
  dispatch<PayloadHint::no_prefetch>(comm, in, out, shape);
}
extern "C" __global__ void __launch_bounds__(768, 1)
    dispatch_d_plain(CommBuffers comm, DispatchInput in, DispatchOutput out, DispatchShape shape) {
  dispatch<PayloadHint::plain>(comm, in, out, shape);
}
extern "C" __global__ void __launch_bounds__(768, 1)
    dispatch_d_volatile(CommBuffers comm, DispatchInput in, DispatchOutput out, DispatchShape shape) {
  dispatch<PayloadHint::safe>(comm, in, out, shape);
}

}  // namespace ptxwire
