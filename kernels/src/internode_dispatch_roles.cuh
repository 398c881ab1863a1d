// Internode dispatch: which warp does what.
#pragma once

#include "internode_dispatch_forward.cuh"
#include "internode_dispatch_receive.cuh"
#include "internode_dispatch_send.cuh"

namespace ptxwire {

template <int kMost, typename Post>
__device__ void internode_dispatch(const InternodeComm& comm, const Post& post,
                                   const InternodeDispatchInput& in, const InternodeDispatchOutput& out,
                                   const InternodeDispatchShape& shape) {
  const int channels = static_cast<int>(gridDim.x) / 2, channel = static_cast<int>(blockIdx.x) / 2;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  if (blockIdx.x % 2 == 0) {
    __shared__ ForwarderBoard board;
    if (warp < kGpusPerNode) {
      const int destination = (warp + channel) % kGpusPerNode;
      const int local_experts = shape.experts / (comm.nodes * kGpusPerNode);
      const RegisterForward forward{
          shape.row, DispatchSlots(comm, shape.row, destination, channel * kGpusPerNode + comm.nvlink.rank),
          (comm.node * kGpusPerNode + destination) * local_experts, local_experts};
      forward_rows(comm, in, out, shape, forward, board, channels, channel, destination, lane);
    } else if (warp == kGpusPerNode) {
      return_slots(comm, post, shape, board, channel, lane);
    }
  } else {
    __shared__ SenderBoard board;
    if (warp < kRdmaSenders) {
      send_rows<kMost>(comm, post, in, out.slot_record, shape, board, channels, channel, warp, lane);
    } else if (warp == kRdmaSenders) {
      post_rows(comm, post, in, shape, board, channels, channel, lane);
    } else {
      const int source = (warp + channel) % kGpusPerNode;
      const RegisterReceive receive{
          shape.row, DispatchSlots(comm, shape.row, comm.nvlink.rank, channel * kGpusPerNode + source), out};
      receive_rows(comm, in, out, receive, channels, channel, source, lane);
    }
  }
}

}  // namespace ptxwire
