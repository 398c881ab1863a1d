// Internode dispatch, revision D, the sending roles: no turns between the senders; what is in place is kept
// in a window per node.
#pragma once

#include "internode_bulk.cuh"
#include "internode_dispatch_send.cuh"

namespace ptxwire {

/// Which rows to node m are in place: all before `complete`, and of the 32 from there on those whose bit is
/// set.
struct SenderWindows {
  static constexpr int kRows = 32;
  int complete[kMaxNodes];
  volatile unsigned window[kMaxNodes];
  int lock[kMaxNodes];

  /// By one thread per node at a time: row `index` is in place.
  __device__ void put(int node, int index, const Deadline& deadline, int rank, int channel) {
    while (true) {
      if (try_lock_cta(&lock[node])) {
        const int first = load_acquire_cta(&complete[node]), offset = index - first;
        const bool near = offset < kRows;  // or too far ahead of the slowest
        if (near) {
          unsigned rows = window[node] | 1u << offset;
          if (offset == 0) {
            const int done = rows == 0xffffffffu ? kRows : __ffs(static_cast<int>(~rows)) - 1;
            rows = done == kRows ? 0 : rows >> done;
            store_release_cta(&complete[node], first + done);
          }
          window[node] = rows;
        }
        // Unlocked before the way out: lanes that have left wait for the others of their warp, and those may
        // need a lock whose holder waits in the same way.
        unlock_cta(&lock[node]);
        if (near) return;
      }
      deadline.check("RDMA sender, window", rank, channel, node);
    }
  }
};

/// Scales, meta, idx and weights into all slots of a token.
template <int kMost>
__device__ void copy_small_parts(const InternodeDispatchInput& in, const BulkSlot& part,
                                 const TokenSlots<kMost>& to, int token, int lane) {
#pragma unroll 1
  for (int i = lane; i < part.row.scales; i += 32) {
    const float scale =
        load_payload<PayloadHint::standard>(in.scales + static_cast<int64_t>(token) * part.row.scales + i);
#pragma unroll
    for (int d = 0; d < kMost; ++d)
      if (d < to.count) store_payload(reinterpret_cast<float*>(to.slot[d] + part.scale_offset()) + i, scale);
  }
  if (lane < part.row.topk) {
    const int64_t position = static_cast<int64_t>(token) * part.row.topk + lane;
    const int idx = static_cast<int>(load_payload<PayloadHint::standard>(in.topk_idx + position));
    const float weight = load_payload<PayloadHint::standard>(in.topk_weights + position);
#pragma unroll
    for (int d = 0; d < kMost; ++d)
      if (d < to.count) {
        store_payload(reinterpret_cast<int*>(to.slot[d] + part.idx_offset()) + lane, idx);
        store_payload(reinterpret_cast<float*>(to.slot[d] + part.weight_offset()) + lane, weight);
      }
  }
}

/// One of the sending warps. Lane m looks after node m. Every warp walks all tokens, so all of them know
/// which slots are whose.
template <int kMost>
__device__ void send_rows_bulk(const InternodeComm& comm, const ApartPosting& post,
                               const InternodeDispatchInput& in, int* slot_record,
                               const InternodeDispatchShape& shape, SenderWindows& windows, int channels,
                               int channel, int warp, int lane) {
  const TokenRange range = channel_tokens(shape.tokens, channels, channel);
  const BulkSlot part{shape.row};
  if (warp == 0 && lane < kMaxNodes) windows.complete[lane] = windows.lock[lane] = windows.window[lane] = 0;
  send_ranges(comm, post, in, channels, channel, warp, lane);
  named_barrier(kSenderBarrier, (kRdmaSenders + 1) * 32);

  const bool has_node = lane < comm.nodes;
  const int ranks = comm.nodes * kGpusPerNode;
  char* const area = !has_node           ? nullptr
                     : lane == comm.node ? comm.receive_slots(channel, lane)
                                         : comm.send_slots(channel, lane);
  const unsigned long long* credit = comm.consumed(channel, has_node ? lane : 0);
  int consumed = 0, next = 0, owner = 0;
  for (int token = range.begin; token < range.end; ++token) {
    uint64_t members = 0;
    if (has_node)
      members = *reinterpret_cast<const uint64_t*>(in.membership + static_cast<int64_t>(token) * ranks +
                                                   lane * kGpusPerNode);
    const int index = members != 0 ? next++ : -1;
    const bool mine = owner == warp;
    if (++owner == kRdmaSenders) owner = 0;
    if (!mine) continue;
    if (has_node) slot_record[static_cast<int64_t>(token) * comm.nodes + lane] = index;
    if (index >= 0) {
      const Deadline deadline;
      while (index - consumed >= comm.rdma_slots) {
        consumed = static_cast<int>(load_volatile(credit));
        deadline.check("RDMA sender, credit", comm.rank(), channel, lane);
      }
    }
    __syncwarp();

    char* own_slot = nullptr;
    if (index >= 0) {
      own_slot = area + static_cast<int64_t>(index % comm.rdma_slots) * comm.slot_bytes;
      // Bytes 0 or 1 become bits: the product brings the one of byte i to bit 56 + i.
      const int gpus = static_cast<int>(members * 0x0102040810204080 >> 56);
      store_payload(reinterpret_cast<int64_t*>(own_slot + part.meta()), pack_meta({comm.node, gpus}));
    }
    TokenSlots<kMost> to;
    unsigned nodes = __ballot_sync(kFullWarp, index >= 0);
    to.count = __popc(nodes);
    int4* rows[kMost];
#pragma unroll
    for (int d = 0; d < kMost; ++d) {
      to.slot[d] = shuffle(own_slot, nodes != 0 ? __ffs(static_cast<int>(nodes)) - 1 : 0);
      rows[d] = reinterpret_cast<int4*>(to.slot[d]);
      nodes &= nodes - 1;
    }
    warp_copy_to_all<5, kMost>(lane, shape.row.row_vectors, rows, to.count,
                               in.rows + static_cast<int64_t>(token) * shape.row.row_vectors);
    copy_small_parts<kMost>(in, part, to, token, lane);
    __syncwarp();
    if (index >= 0) windows.put(lane, index, Deadline(), comm.rank(), channel);
    __syncwarp();
  }
}

/// The warp that posts complete rows: a chunk at a time to each node in turn, from the own node on, and the
/// rest at the end.
__device__ inline void post_rows_bulk(const InternodeComm& comm, const ApartPosting& post,
                                      const InternodeDispatchInput& in, const InternodeDispatchShape& shape,
                                      SenderWindows& windows, int channels, int channel, int lane) {
  int left = 0, issued = 0;
  if (lane < comm.nodes) {
    const int* prefix = in.node_channel_prefix + lane * channels;
    left = prefix[channel] - before(prefix, channel);
  }
  named_barrier(kSenderBarrier, (kRdmaSenders + 1) * 32);
  Deadline deadline;
  while (__any_sync(kFullWarp, left > 0)) {
    for (int i = 0; i < comm.nodes; ++i) {
      const int m = (channel + comm.node + i) % comm.nodes;
      const int rest = shuffle(left, m);
      if (rest == 0) continue;
      const int from = shuffle(issued, m);
      const int ready = shuffle(load_acquire_cta(&windows.complete[m]), 0) - from;
      if (ready < shape.rdma_chunk && ready != rest) continue;
      const int rows = min(ready, shape.rdma_chunk);
      if (m == comm.node) {
        if (lane == 0) {
          fence_sys();
          atomic_add_sys(comm.produced(channel, m), static_cast<unsigned long long>(rows));
        }
      } else {
        // A whole number of chunks makes a ring: the slots are in one piece.
        const int64_t offset = static_cast<int64_t>(from % comm.rdma_slots) * comm.slot_bytes;
        post.put_warp(comm, m, channel, comm.receive_slots(channel, comm.node) + offset,
                      comm.send_slots(channel, m) + offset, rows * comm.slot_bytes, lane);
        if (lane == 0) post.add(comm, m, channel, comm.produced(channel, comm.node), rows);
      }
      __syncwarp();
      if (lane == m) {
        left -= rows;
        issued += rows;
      }
      deadline = Deadline();
    }
    deadline.check("sender coordinator", comm.rank(), channel, 0);
  }
}

}  // namespace ptxwire
