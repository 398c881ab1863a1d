// Internode combine, revision A: the host posts. _2, _4, _8: nodes that a token can go to, at most.
#include "internode_combine_roles.cuh"

namespace ptxwire {

extern "C" __global__ void __launch_bounds__(kInternodeCombineThreads, 1)
    internode_combine_a_2(InternodeComm comm, HostPosting post, InternodeCombineInput in,
                          InternodeCombineOutput out, InternodeCombineShape shape) {
  internode_combine<2>(comm, post, in, out, shape);
}
extern "C" __global__ void __launch_bounds__(kInternodeCombineThreads, 1)
    internode_combine_a_4(InternodeComm comm, HostPosting post, InternodeCombineInput in,
                          InternodeCombineOutput out, InternodeCombineShape shape) {
  internode_combine<4>(comm, post, in, out, shape);
}
extern "C" __global__ void __launch_bounds__(kInternodeCombineThreads, 1)
    internode_combine_a_8(InternodeComm comm, HostPosting post, InternodeCombineInput in,
                          InternodeCombineOutput out, InternodeCombineShape shape) {
  internode_combine<8>(comm, post, in, out, shape);
}

}  // namespace ptxwire
