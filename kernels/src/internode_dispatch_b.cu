// Internode dispatch, revision B: the GPU posts. _2, _4, _8: nodes that a token can go to, at most.
#include "internode_dispatch_roles.cuh"

namespace ptxwire {

extern "C" __global__ void __launch_bounds__(kInternodeDispatchThreads, 1)
    internode_dispatch_b_2(InternodeComm comm, InternodeDispatchInput in, InternodeDispatchOutput out,
                           InternodeDispatchShape shape) {
  internode_dispatch<2>(comm, GpuPosting(), in, out, shape);
}
extern "C" __global__ void __launch_bounds__(kInternodeDispatchThreads, 1)
    internode_dispatch_b_4(InternodeComm comm, InternodeDispatchInput in, InternodeDispatchOutput out,
                           InternodeDispatchShape shape) {
  internode_dispatch<4>(comm, GpuPosting(), in, out, shape);
}
extern "C" __global__ void __launch_bounds__(kInternodeDispatchThreads, 1)
    internode_dispatch_b_8(InternodeComm comm, InternodeDispatchInput in, InternodeDispatchOutput out,
                           InternodeDispatchShape shape) {
  internode_dispatch<8>(comm, GpuPosting(), in, out, shape);
}

}  // namespace ptxwire
