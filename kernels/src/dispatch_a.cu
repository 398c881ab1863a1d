// Intranode dispatch, revision A: 256 threads, rows move through registers on both sides.
#include "dispatch.cuh"

namespace ptxwire {
namespace {

template <PayloadHint kHint>
__device__ void dispatch(const CommBuffers& comm, const DispatchInput& in, const DispatchOutput& out,
                         const DispatchShape& shape) {
  if (blockIdx.x % 2 == 0) {
    dispatch_send<kHint>(comm, in, out.slot_record, shape);
  } else {
    RegisterRowCopy<kHint> copy_row;
    dispatch_receive<kHint>(comm, out, shape, copy_row);
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(256, 1)
    dispatch_a(CommBuffers comm, DispatchInput in, DispatchOutput out, DispatchShape shape) {
  dispatch<PayloadHint::standard>(comm, in, out, shape);
}
extern "C" __global__ void __launch_bounds__(256, 1)
    dispatch_a_no_prefetch(CommBuffers comm, DispatchInput in, DispatchOutput out, DispatchShape shape) {
  dispatch<PayloadHint::no_prefetch>(comm, in, out, shape);
}
extern "C" __global__ void __launch_bounds__(256, 1)
    dispatch_a_plain(CommBuffers comm, DispatchInput in, DispatchOutput out, DispatchShape shape) {
  dispatch<PayloadHint::plain>(comm, in, out, shape);
}
extern "C" __global__ void __launch_bounds__(256, 1)
    dispatch_a_volatile(CommBuffers comm, DispatchInput in, DispatchOutput out, DispatchShape shape) {
  dispatch<PayloadHint::safe>(comm, in, out, shape);
}

}  // namespace ptxwire
