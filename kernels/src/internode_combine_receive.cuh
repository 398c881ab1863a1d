// Internode combine, the receiving roles: adding what the nodes have for a token.
#pragma once

#include "internode_combine.cuh"

namespace ptxwire {

/// What the warps of a receiving CTA tell their coordinator: rows of the ring from node m that the warp is
/// past; kWarpRetired: all.
struct CombineReceiverBoard {
  volatile int released[kMaxReceivers][kMaxCombineNodes];
};

/// Receiver `warp` of `warps`. Lane m looks after node m. kMost: nodes that a token can go to.
template <int kMost>
__device__ void receive_sums(const InternodeComm& comm, const InternodeCombineInput& in,
                             const InternodeCombineOutput& out, const InternodeCombineShape& shape,
                             volatile int* released, int channels, int channel, int warp, int warps,
                             int lane) {
  const RowShape& row = shape.row;
  const bool has_node = lane < comm.nodes;
  const int node = has_node ? lane : 0;
  const char* const area = comm.receive_slots(channel, node);
  const unsigned long long* produced_index = comm.produced(channel, node);
  const TokenRange range = channel_tokens(shape.tokens, channels, channel);

  int produced = 0;
  for (int token = range.begin + warp; token < range.end; token += warps) {
    int record = -1;
    if (has_node)
      record = load_payload<PayloadHint::standard>(in.slot_record + static_cast<int64_t>(token) * comm.nodes +
                                                   lane);
    if (record >= 0) {
      const Deadline deadline;
      while (produced <= record) {
        produced = static_cast<int>(load_acquire_sys(produced_index));
        deadline.check("combine receiver", comm.rank(), channel, node);
      }
    }
    __syncwarp();
    const char* slot =
        area + static_cast<int64_t>(record >= 0 ? record % comm.rdma_slots : 0) * comm.slot_bytes;
    const Summands<kMost> summands(reinterpret_cast<const int4*>(slot), record >= 0);
    int4* to = out.rows + static_cast<int64_t>(token) * row.row_vectors;
    summands.add_rows(row.row_vectors, lane, [to](int vector, int4 value) {
      store_payload<PayloadHint::standard>(to + vector, value);
    });
    if (row.topk > 0) {
      const float weight =
          summands.weight(reinterpret_cast<const float*>(slot + row.weight_offset()), lane, row.topk);
      if (lane < row.topk) out.topk_weights[static_cast<int64_t>(token) * row.topk + lane] = weight;
    }
    __syncwarp();  // all lanes have their values: only now may the slots be reused
    if (has_node) released[lane] = released_by(record);
  }
  __syncwarp();
  if (has_node) released[lane] = kWarpRetired;
}

/// The warp that gives slots over RDMA back to the nodes that fill them.
template <typename Post>
__device__ void return_rdma_slots(const InternodeComm& comm, const Post& post,
                                  const InternodeCombineShape& shape, CombineReceiverBoard& board,
                                  int channel, int warps, int lane) {
  const bool has_node = lane < comm.nodes;
  const int least = Post::least_to_give_back(shape.rdma_chunk);
  int returned = 0;
  while (true) {
    int lowest = kWarpRetired;
    if (has_node)
      for (int warp = 0; warp < warps; ++warp) lowest = min(lowest, board.released[warp][lane]);
    if (__all_sync(kFullWarp, lowest == kWarpRetired)) break;
    if (lowest != kWarpRetired && lowest - returned >= least) {
      post.give_back(comm, lane, channel, returned, lowest);
      returned = lowest;
    }
    __nanosleep(kKeeperSleepNs);
  }
}

}  // namespace ptxwire
