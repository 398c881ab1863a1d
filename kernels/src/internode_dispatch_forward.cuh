// Internode dispatch, the forwarding roles: from what arrived over RDMA to the GPUs of the node.
#pragma once

#include "internode_dispatch.cuh"

namespace ptxwire {

inline constexpr int kForwarderBarrier = 1;
inline constexpr unsigned kCoordinatorSleepNs = 500;

/// What the warps of a forwarding CTA tell their coordinator.
struct ForwarderBoard {
  volatile int read[kGpusPerNode][kMaxNodes];  ///< rows from node m that forwarder d is done with
  volatile bool retired[kGpusPerNode];
};

/// How a forwarder brings a slot to another GPU through registers: its parts to arrays of their own.
struct RegisterForward {
  RowShape row;
  DispatchSlots ring;
  int first_expert, local_experts;  ///< of the other GPU

  __device__ int meta_offset(const RowShape& shape) const { return shape.meta(); }
  __device__ void operator()(const char* slot, RowMeta meta, int to, int lane) const {
    constexpr PayloadHint kHint = PayloadHint::standard;
    warp_copy<5, kHint, CopySource::payload>(lane, row.row_vectors,
                                             ring.rows + static_cast<int64_t>(to) * row.row_vectors,
                                             reinterpret_cast<const int4*>(slot));
    if (lane == 0) store_payload(ring.meta + to, pack_meta(meta));
#pragma unroll 1
    for (int i = lane; i < row.scales; i += 32)
      store_payload(ring.scales + static_cast<int64_t>(to) * row.scales + i,
                    load_payload<kHint>(reinterpret_cast<const float*>(slot + row.scale_offset()) + i));
    if (lane < row.topk) {
      const int expert =
          load_payload<kHint>(reinterpret_cast<const int*>(slot + row.idx_offset()) + lane) - first_expert;
      const float weight =
          load_payload<kHint>(reinterpret_cast<const float*>(slot + row.weight_offset()) + lane);
      const bool local = expert >= 0 && expert < local_experts;
      store_payload(ring.idx + to * row.topk + lane, local ? expert : -1);
      store_payload(ring.weights + to * row.topk + lane, local ? weight : 0.0f);
    }
  }
};

/// The warp that serves GPU `destination`. Lane m looks after node m. `forward(slot, meta, index, lane)`
/// copies what is at `slot` to slot `index` of the ring there.
template <typename Forward>
__device__ void forward_rows(const InternodeComm& comm, const InternodeDispatchInput& in,
                             const InternodeDispatchOutput& out, const InternodeDispatchShape& shape,
                             Forward& forward, ForwarderBoard& board, int channels, int channel,
                             int destination, int lane) {
  const bool has_node = lane < comm.nodes;
  const int node = has_node ? lane : 0;
  const int ring = channel * kGpusPerNode + comm.nvlink.rank;  // at the destination
  const DispatchCounters there(comm, destination, channels);
  const int* consumed_index =
      DispatchCounters(comm, comm.nvlink.rank, channels).consumed + channel * kGpusPerNode + destination;

  // What is to come from every node, passed on to the destination.
  int left = 0;
  int64_t first_record = 0;
  if (has_node) {
    const int* ranges = comm.receive_ranges(channel, node);
    int start, end, node_start, node_end;
    const Deadline deadline;
    while (true) {
      start = load_volatile(ranges + destination);
      end = load_volatile(ranges + kGpusPerNode + destination);
      node_start = load_volatile(ranges + 2 * kGpusPerNode);
      node_end = load_volatile(ranges + 2 * kGpusPerNode + 1);
      if (start < 0 && end < 0 && node_start < 0 && node_end < 0) break;
      deadline.check("forwarder, ranges", comm.rank(), channel, node);
    }
    store_relaxed_sys(there.start + ring * comm.nodes + node, start);
    store_relaxed_sys(there.end + ring * comm.nodes + node, end);
    const int offset = -node_start - 1;
    left = -node_end - 1 - offset;
    first_record = before(in.received_per_node, node) + offset;
    if (destination == 0) out.node_channel_offsets[node * channels + channel] = offset;
  }
  board.read[destination][lane] = 0;
  if (lane == 0) board.retired[destination] = false;
  named_barrier(kForwarderBarrier, (kGpusPerNode + 1) * 32);

  int arrived = 0, read = 0;  // of the ring from node `lane`
  int forwarded = 0;          // rows of node `lane` that this destination got
  int produced = 0, consumed = 0;
  RingSlot to(0, comm.nvlink_slots);
  int source = static_cast<int>(blockIdx.x) % comm.nodes;
  while (__any_sync(kFullWarp, left > 0)) {
    if (lane == 0) {
      const Deadline deadline;
      while (comm.nvlink_slots - (produced - consumed) < shape.nvlink_chunk) {
        consumed = load_volatile(consumed_index);
        deadline.check("forwarder, ring", comm.rank(), channel, destination);
      }
    }
    __syncwarp();

    const Deadline deadline;
    while (true) {  // the next node that has brought something
      if (++source >= comm.nodes) source = 0;
      if (shuffle(left, source) > 0) {
        if (lane == source && arrived == read)
          arrived = static_cast<int>(load_acquire_sys(comm.produced(channel, source)));
        if (shuffle(arrived - read, source) > 0) break;
      }
      deadline.check("forwarder, rows", comm.rank(), channel, source);
    }

    const int begin = shuffle(read, source);
    int end = shuffle(arrived, source), copied = 0;
    const char* area = comm.receive_slots(channel, source);
    RingSlot from(begin, comm.rdma_slots);
    for (int i = begin; i < end; ++i, from.next()) {
      const char* slot = area + static_cast<int64_t>(from.slot()) * comm.slot_bytes;
      const RowMeta meta = load_meta(slot + forward.meta_offset(shape.row));
      const bool wanted = (meta.gpus >> destination & 1) != 0;
      if (lane == source) {
        out.forward_record[(first_record + i) * kGpusPerNode + destination] = wanted ? forwarded : -1;
        forwarded += wanted;
      }
      if (!wanted) continue;
      forward(slot, meta, to.slot(), lane);
      ++produced;
      to.next();
      if (++copied == shape.nvlink_chunk) end = i + 1;
    }
    __syncwarp();
    if (lane == source) {
      left -= end - begin;
      board.read[destination][source] = read = end;
    }
    if (lane == 0) store_release_sys(there.produced + ring, produced);
  }
  __syncwarp();
  if (lane == 0) board.retired[destination] = true;
}

/// The warp that gives slots back to the nodes once all forwarders are past them.
template <typename Post>
__device__ void return_slots(const InternodeComm& comm, const Post& post, const InternodeDispatchShape& shape,
                             ForwarderBoard& board, int channel, int lane) {
  named_barrier(kForwarderBarrier, (kGpusPerNode + 1) * 32);
  constexpr int kNone = INT32_MAX;
  const int least = Post::least_to_give_back(shape.rdma_chunk);
  int returned = 0;
  while (true) {
    int lowest = kNone;
#pragma unroll
    for (int d = 0; d < kGpusPerNode; ++d)
      if (!board.retired[d]) lowest = min(lowest, board.read[d][lane]);
    if (__all_sync(kFullWarp, lowest == kNone)) break;
    if (lane < comm.nodes && lowest != kNone && lowest - returned >= least) {
      post.give_back(comm, lane, channel, returned, lowest);
      returned = lowest;
    }
    __nanosleep(kCoordinatorSleepNs);
  }
}

}  // namespace ptxwire
