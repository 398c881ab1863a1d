// Internode combine, revision B: the GPU posts. _2, _4, _8: nodes that a token can go to, at most.
#include "internode_combine_roles.cuh"

namespace ptxwire {

extern "C" __global__ void __launch_bounds__(kInternodeCombineThreads, 1)
    internode_combine_b_2(InternodeComm comm, InternodeCombineInput in, InternodeCombineOutput out,
                          InternodeCombineShape shape) {
  internode_combine<2>(comm, GpuPosting(), in, out, shape);
}
extern "C" __global__ void __launch_bounds__(kInternodeCombineThreads, 1)
    internode_combine_b_4(InternodeComm comm, InternodeCombineInput in, InternodeCombineOutput out,
                          InternodeCombineShape shape) {
  internode_combine<4>(comm, GpuPosting(), in, out, shape);
}
extern "C" __global__ void __launch_bounds__(kInternodeCombineThreads, 1)
    internode_combine_b_8(InternodeComm comm, InternodeCombineInput in, InternodeCombineOutput out,
                          InternodeCombineShape shape) {
  internode_combine<8>(comm, GpuPosting(), in, out, shape);
}

}  // namespace ptxwire
