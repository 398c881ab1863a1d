// Internode combine: which warp does what.
#pragma once

#include "internode_combine_forward.cuh"
#include "internode_combine_receive.cuh"
#include "internode_combine_send.cuh"

namespace ptxwire {

template <int kMost, typename Post>
__device__ void internode_combine(const InternodeComm& comm, const Post& post,
                                  const InternodeCombineInput& in, const InternodeCombineOutput& out,
                                  const InternodeCombineShape& shape) {
  const int channels = static_cast<int>(gridDim.x) / 2, channel = static_cast<int>(blockIdx.x) / 2;
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const int warps_per_node = max(kForwarderWarps / comm.nodes, 1), forwarders = comm.nodes * warps_per_node;
  const int receivers = forwarders + kGpusPerNode;
  if (blockIdx.x % 2 == 0) {
    __shared__ CombineForwarderBoard<kMaxForwarders> board;
    for (int i = thread; i < kMaxForwarders * kGpusPerNode; i += static_cast<int>(blockDim.x))
      board.released[i / kGpusPerNode][i % kGpusPerNode] = 0;
    __syncthreads();
    if (warp < kGpusPerNode) {
      send_rows_back(comm, in, shape, channels, channel, (warp + channel) % kGpusPerNode, lane);
    } else if (warp < receivers) {
      const int forwarder = warp - kGpusPerNode;
      forward_sums(comm, post, in, shape, board.released[forwarder], channels, channel,
                   forwarder / warps_per_node, forwarder % warps_per_node, warps_per_node, lane);
    } else {
      return_nvlink_slots(comm, board, channels, channel, warps_per_node, lane);
    }
  } else {
    __shared__ CombineReceiverBoard board;
    for (int i = thread; i < kMaxReceivers * kMaxCombineNodes; i += static_cast<int>(blockDim.x))
      board.released[i / kMaxCombineNodes][i % kMaxCombineNodes] = 0;
    __syncthreads();
    if (warp < receivers)
      receive_sums<kMost>(comm, in, out, shape, board.released[warp], channels, channel, warp, receivers,
                          lane);
    else
      return_rdma_slots(comm, post, shape, board, channel, receivers, lane);
  }
}

}  // namespace ptxwire
