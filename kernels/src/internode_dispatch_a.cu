// Internode dispatch, revision A: the host posts. _2, _4, _8: nodes that a token can go to, at most.
#include "internode_dispatch_roles.cuh"

namespace ptxwire {

extern "C" __global__ void __launch_bounds__(kInternodeDispatchThreads, 1)
    internode_dispatch_a_2(InternodeComm comm, HostPosting post, InternodeDispatchInput in,
                           InternodeDispatchOutput out, InternodeDispatchShape shape) {
  internode_dispatch<2>(comm, post, in, out, shape);
}
extern "C" __global__ void __launch_bounds__(kInternodeDispatchThreads, 1)
    internode_dispatch_a_4(InternodeComm comm, HostPosting post, InternodeDispatchInput in,
                           InternodeDispatchOutput out, InternodeDispatchShape shape) {
  internode_dispatch<4>(comm, post, in, out, shape);
}
extern "C" __global__ void __launch_bounds__(kInternodeDispatchThreads, 1)
    internode_dispatch_a_8(InternodeComm comm, HostPosting post, InternodeDispatchInput in,
                           InternodeDispatchOutput out, InternodeDispatchShape shape) {
  internode_dispatch<8>(comm, post, in, out, shape);
}

}  // namespace ptxwire
