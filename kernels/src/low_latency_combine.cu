// Low-latency combine, states a and c.
#include "low_latency_combine_receive.cuh"
#include "low_latency_combine_send.cuh"

namespace ptxwire {
namespace {

template <LowLatencyRevision kRevision>
__device__ __forceinline__ void combine(const RdmaState& rdma, const LowLatencySet& set,
                                        const LowLatencyWorkspace& work, const LowLatencyCombineInput& in,
                                        int4* out, const LowLatencyShape& shape) {
  if (shape.phases & kSendPhase) combine_send<kRevision>(rdma, set, work, in, shape);
  if (shape.phases & kReceivePhase) combine_receive<kRevision>(rdma, set, work, in, out, shape);
}

}  // namespace

/// `out` [T][H] BF16.
extern "C" __global__ void __launch_bounds__(1024, 1)
    low_latency_combine_a(RdmaState rdma, LowLatencySet set, LowLatencyWorkspace work,
                          LowLatencyCombineInput in, int4* out, LowLatencyShape shape) {
  combine<LowLatencyRevision::a>(rdma, set, work, in, out, shape);
}
extern "C" __global__ void __launch_bounds__(1024, 1)
    low_latency_combine_c(RdmaState rdma, LowLatencySet set, LowLatencyWorkspace work,
                          LowLatencyCombineInput in, int4* out, LowLatencyShape shape) {
  combine<LowLatencyRevision::c>(rdma, set, work, in, out, shape);
}

}  // namespace ptxwire
