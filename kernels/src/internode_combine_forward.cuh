// Internode combine, the forwarding roles: adding what the GPUs of the node have for a token, and passing it
// on.
#pragma once

#include "internode_combine.cuh"

namespace ptxwire {

inline constexpr int kFirstForwarderBarrier = 2;

/// What the warps of a forwarding CTA tell their coordinator.
template <int kWarps>
struct CombineForwarderBoard {
  /// Rows of the ring from GPU g (its part for the warp's node) that the warp is past; kWarpRetired: all.
  volatile int released[kWarps][kGpusPerNode];
  int returned[kMaxCombineNodes][kGpusPerNode];  ///< coordinator: slots of that part that it has given back
};

/// Warp `warp` of the `warps` that serve node `node`.
template <typename Post>
__device__ void forward_sums(const InternodeComm& comm, const Post& post, const InternodeCombineInput& in,
                             const InternodeCombineShape& shape, volatile int* released, int channels,
                             int channel, int node, int warp, int warps, int lane) {
  const RowShape& row = shape.row;
  const bool stays = node == comm.node;
  const RowRange range = channel_rows(in.received_per_node, in.node_channel_offsets, node, channels, channel);
  char* const area = stays ? comm.receive_slots(channel, node) : comm.send_slots(channel, node);
  const int gpu = lane < kGpusPerNode ? lane : 0;
  const int* produced_index = CombineCounters(comm, comm.nvlink.rank, channels, channel, gpu).produced + node;
  const CombineSlots ring(comm, row, comm.nvlink.rank, channel, gpu, node);
  const auto join = [&] {
    if (warps == 1)
      __syncwarp();
    else
      named_barrier(kFirstForwarderBarrier + node, warps * 32);
  };

  int produced = 0;
  for (int first = range.begin; first < range.end; first += shape.rdma_chunk) {
    const int rows = min(shape.rdma_chunk, range.end - first), position = first - range.begin;
    if (warp == 0 && lane == 0) {
      const Deadline deadline;
      while (comm.rdma_slots - (position - static_cast<int>(load_volatile(comm.consumed(channel, node)))) <
             rows)
        deadline.check("combine forwarder, credit", comm.rank(), channel, node);
    }
    join();
    // A whole number of chunks makes a ring: the slots are in one piece.
    char* const slots = area + static_cast<int64_t>(position % comm.rdma_slots) * comm.slot_bytes;
    for (int i = warp; i < rows; i += warps) {
      int record = -1;
      if (lane < kGpusPerNode)
        record = load_payload<PayloadHint::standard>(in.forward_record +
                                                     static_cast<int64_t>(first + i) * kGpusPerNode + lane);
      if (record >= 0) {
        const Deadline deadline;
        while (produced <= record) {
          produced = load_acquire_sys(produced_index);
          deadline.check("combine forwarder, rows", comm.rank(), channel, gpu);
        }
      }
      __syncwarp();
      const int from = record >= 0 ? record % ring.slots : 0;
      const Summands<kGpusPerNode> summands(ring.rows + static_cast<int64_t>(from) * row.row_vectors,
                                            record >= 0);
      char* const slot = slots + static_cast<int64_t>(i) * comm.slot_bytes;
      summands.add_rows(row.row_vectors, lane, [slot](int vector, int4 value) {
        store_payload<PayloadHint::standard>(reinterpret_cast<int4*>(slot) + vector, value);
      });
      if (row.topk > 0) {
        const float weight = summands.weight(ring.weights + from * row.topk, lane, row.topk);
        if (lane < row.topk)
          store_payload(reinterpret_cast<float*>(slot + row.weight_offset()) + lane, weight);
      }
      __syncwarp();  // all lanes have their values: only now may the slots be reused
      if (lane < kGpusPerNode) released[lane] = released_by(record);
    }
    join();
    if (warp == warps - 1 && lane == 0) {
      if (stays) {
        fence_sys();
        atomic_add_sys(comm.produced(channel, node), static_cast<unsigned long long>(rows));
      } else {
        post.put(comm, node, channel, comm.receive_slots(channel, comm.node) + (slots - area), slots,
                 rows * comm.slot_bytes);
        post.add(comm, node, channel, comm.produced(channel, comm.node), rows);
      }
    }
    __syncwarp();
  }
  if (lane < kGpusPerNode) released[lane] = kWarpRetired;
}

/// The warp that gives slots over NVLink back: lane g those of GPU g, one node after the other.
template <int kWarps>
__device__ void return_nvlink_slots(const InternodeComm& comm, CombineForwarderBoard<kWarps>& board,
                                    int channels, int channel, int warps_per_node, int lane) {
  if (lane >= kGpusPerNode) return;
  int* consumed_index = CombineCounters(comm, lane, channels, channel, comm.nvlink.rank).consumed;
  for (int m = 0; m < comm.nodes; ++m) board.returned[m][lane] = 0;
  bool any = true;
  while (any) {
    any = false;
    for (int m = 0; m < comm.nodes; ++m) {
      int lowest = kWarpRetired;
      for (int warp = 0; warp < warps_per_node; ++warp)
        lowest = min(lowest, board.released[m * warps_per_node + warp][lane]);
      if (lowest == kWarpRetired) continue;
      any = true;
      if (lowest > board.returned[m][lane]) {
        store_relaxed_sys(consumed_index + m, lowest);
        board.returned[m][lane] = lowest;
      }
    }
    __nanosleep(kKeeperSleepNs);
  }
}

}  // namespace ptxwire
