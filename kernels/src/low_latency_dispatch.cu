// Low-latency dispatch: states a and c, with the cast to e4m3 or with rows as they are.
#include "low_latency_dispatch_receive.cuh"
#include "low_latency_dispatch_send.cuh"

namespace ptxwire {
namespace {

template <LowLatencyRevision kRevision, bool kCast>
__device__ __forceinline__ void dispatch(const RdmaState& rdma, const LowLatencySet& set,
                                         const LowLatencyWorkspace& work, const LowLatencyDispatchInput& in,
                                         const LowLatencyDispatchOutput& out, const LowLatencyShape& shape) {
  if (shape.phases & kSendPhase) dispatch_send<kRevision, kCast>(rdma, set, work, in, shape);
  if (!(shape.phases & kReceivePhase)) return;
  // State c joins the grid between the phases of one launch; nothing here depends on it.
  if (kRevision != LowLatencyRevision::a && (shape.phases & kSendPhase)) grid_barrier(work.grid);
  dispatch_receive<kRevision, kCast>(rdma, set, work, out, shape);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(1024, 1)
    low_latency_dispatch_a(RdmaState rdma, LowLatencySet set, LowLatencyWorkspace work,
                           LowLatencyDispatchInput in, LowLatencyDispatchOutput out, LowLatencyShape shape) {
  dispatch<LowLatencyRevision::a, true>(rdma, set, work, in, out, shape);
}
extern "C" __global__ void __launch_bounds__(1024, 1)
    low_latency_dispatch_a_bf16(RdmaState rdma, LowLatencySet set, LowLatencyWorkspace work,
                                LowLatencyDispatchInput in, LowLatencyDispatchOutput out,
                                LowLatencyShape shape) {
  dispatch<LowLatencyRevision::a, false>(rdma, set, work, in, out, shape);
}
extern "C" __global__ void __launch_bounds__(1024, 1)
    low_latency_dispatch_c(RdmaState rdma, LowLatencySet set, LowLatencyWorkspace work,
                           LowLatencyDispatchInput in, LowLatencyDispatchOutput out, LowLatencyShape shape) {
  dispatch<LowLatencyRevision::c, true>(rdma, set, work, in, out, shape);
}
extern "C" __global__ void __launch_bounds__(1024, 1)
    low_latency_dispatch_c_bf16(RdmaState rdma, LowLatencySet set, LowLatencyWorkspace work,
                                LowLatencyDispatchInput in, LowLatencyDispatchOutput out,
                                LowLatencyShape shape) {
  dispatch<LowLatencyRevision::c, false>(rdma, set, work, in, out, shape);
}

}  // namespace ptxwire
