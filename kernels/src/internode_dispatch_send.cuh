// Internode dispatch, the sending roles: RDMA senders and their coordinator.
#pragma once

#include "internode_dispatch.cuh"

namespace ptxwire {

inline constexpr int kRdmaSenders = 7;  ///< warps; the next one coordinates
inline constexpr int kSenderBarrier = 0;

/// What the sending warps of a CTA tell each other.
struct SenderBoard {
  volatile int ticket;           ///< the token whose turn it is to take slots
  volatile int next[kMaxNodes];  ///< index that the next row to node m gets
  int complete[kMaxNodes];       ///< rows to node m of which all before are in place
};

/// Copies a row to up to kMost places with one warp: kUnroll loads in flight per lane, each stored `count`
/// times.
template <int kUnroll, int kMost>
__device__ __forceinline__ void warp_copy_to_all(int lane, int vectors, int4* const (&to)[kMost], int count,
                                                 const int4* from) {
  constexpr PayloadHint kHint = PayloadHint::standard;
  constexpr int kStride = 32 * kUnroll;
  int4 v[kUnroll];
  int i = lane;
#pragma unroll 1
  for (; i + kStride - lane <= vectors; i += kStride) {
#pragma unroll
    for (int j = 0; j < kUnroll; ++j) v[j] = load_payload<kHint>(from + i + 32 * j);
#pragma unroll
    for (int d = 0; d < kMost; ++d)
      if (d < count)
#pragma unroll
        for (int j = 0; j < kUnroll; ++j) store_payload<kHint>(to[d] + i + 32 * j, v[j]);
  }
  const int left = vectors - i - 1;  // not negative where this lane still has a vector
#pragma unroll
  for (int j = 0; j < kUnroll; ++j)
    v[j] = load_payload_unless_negative<kHint>(left - 32 * j, from + i + 32 * j);
#pragma unroll
  for (int d = 0; d < kMost; ++d)
    if (d < count)
#pragma unroll
      for (int j = 0; j < kUnroll; ++j)
        store_payload_unless_negative<kHint>(left - 32 * j, to[d] + i + 32 * j, v[j]);
}

/// Tells every node, and each of its GPUs, which of its rows this channel brings: as -(v+1), because 0 means
/// "not yet written".
template <typename Post>
__device__ void send_ranges(const InternodeComm& comm, const Post& post, const InternodeDispatchInput& in,
                            int channels, int channel, int warp, int lane) {
  for (int m = warp; m < comm.nodes; m += kRdmaSenders) {
    int* ranges = m == comm.node ? comm.receive_ranges(channel, m) : comm.send_ranges(channel, m);
    if (lane < kRangeInts) {
      const bool whole_node = lane >= 2 * kGpusPerNode,
                 is_end = whole_node ? lane % 2 == 1 : lane >= kGpusPerNode;
      const int* prefix = whole_node
                              ? in.node_channel_prefix + m * channels
                              : in.rank_channel_prefix + (m * kGpusPerNode + lane % kGpusPerNode) * channels;
      store_relaxed_sys(ranges + lane, -(is_end ? prefix[channel] : before(prefix, channel)) - 1);
    }
    __syncwarp();
    if (m != comm.node)
      post.put_warp(comm, m, channel, comm.receive_ranges(channel, comm.node), ranges,
                    kRangeInts * static_cast<int>(sizeof(int)), lane);
  }
}

/// The slots that one token has been given.
template <int kMost>
struct TokenSlots {
  char* slot[kMost];
  int count;
};

/// Everything of a row but the row itself, into all of its slots.
template <int kMost>
__device__ void copy_small_parts(const InternodeDispatchInput& in, const InternodeDispatchShape& shape,
                                 const TokenSlots<kMost>& to, int token, int lane) {
  const RowShape& row = shape.row;
#pragma unroll 1
  for (int i = lane; i < row.scales; i += 32) {
    const float scale =
        load_payload<PayloadHint::standard>(in.scales + static_cast<int64_t>(token) * row.scales + i);
#pragma unroll
    for (int d = 0; d < kMost; ++d)
      if (d < to.count) store_payload(reinterpret_cast<float*>(to.slot[d] + row.scale_offset()) + i, scale);
  }
  if (lane < row.topk) {
    const int64_t position = static_cast<int64_t>(token) * row.topk + lane;
    const int idx = static_cast<int>(load_payload<PayloadHint::standard>(in.topk_idx + position));
    const float weight = load_payload<PayloadHint::standard>(in.topk_weights + position);
#pragma unroll
    for (int d = 0; d < kMost; ++d)
      if (d < to.count) {
        store_payload(reinterpret_cast<int*>(to.slot[d] + row.idx_offset()) + lane, idx);
        store_payload(reinterpret_cast<float*>(to.slot[d] + row.weight_offset()) + lane, weight);
      }
  }
}

/// One of the sending warps. Lane m looks after node m. kMost: nodes that a token can go to.
template <int kMost, typename Post>
__device__ void send_rows(const InternodeComm& comm, const Post& post, const InternodeDispatchInput& in,
                          int* slot_record, const InternodeDispatchShape& shape, SenderBoard& board,
                          int channels, int channel, int warp, int lane) {
  const TokenRange range = channel_tokens(shape.tokens, channels, channel);
  if (warp == 0 && lane == 0) board.ticket = range.begin;
  if (warp == 0 && lane < kMaxNodes) board.next[lane] = board.complete[lane] = 0;
  send_ranges(comm, post, in, channels, channel, warp, lane);
  named_barrier(kSenderBarrier, (kRdmaSenders + 1) * 32);

  const bool has_node = lane < comm.nodes;
  const int ranks = comm.nodes * kGpusPerNode;
  char* const area = !has_node           ? nullptr
                     : lane == comm.node ? comm.receive_slots(channel, lane)
                                         : comm.send_slots(channel, lane);
  const unsigned long long* credit = comm.consumed(channel, has_node ? lane : 0);
  int consumed = 0;
  int previous = -1;  // what the token before of this warp was given
  for (int token = range.begin + warp;; token += kRdmaSenders) {
    const bool is_token = token < range.end;  // after the last one comes a turn to publish it
    uint64_t members = 0;
    if (is_token && has_node)
      members = *reinterpret_cast<const uint64_t*>(in.membership + static_cast<int64_t>(token) * ranks +
                                                   lane * kGpusPerNode);
    if (lane == 0) {
      const Deadline deadline;
      while (board.ticket != token) deadline.check("RDMA sender, turn", comm.rank(), channel, token);
    }
    __syncwarp();
    int index = -1;
    if (members != 0) {
      index = board.next[lane];
      board.next[lane] = index + 1;
      const Deadline deadline;
      while (index - consumed >= comm.rdma_slots) {
        consumed = static_cast<int>(load_volatile(credit));
        deadline.check("RDMA sender, credit", comm.rank(), channel, lane);
      }
    }
    if (is_token && has_node) slot_record[static_cast<int64_t>(token) * comm.nodes + lane] = index;
    if (previous >= 0) store_release_cta(&board.complete[lane], previous + 1);
    previous = index;
    __syncwarp();
    if (lane == 0) board.ticket = token + 1;
    if (!is_token) break;

    char* own_slot = nullptr;
    if (index >= 0) {
      own_slot = area + static_cast<int64_t>(index % comm.rdma_slots) * comm.slot_bytes;
      // Bytes 0 or 1 become bits: the product brings the one of byte i to bit 56 + i.
      const int gpus = static_cast<int>(members * 0x0102040810204080 >> 56);
      store_payload(reinterpret_cast<int64_t*>(own_slot + shape.row.meta()), pack_meta({comm.node, gpus}));
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
    copy_small_parts<kMost>(in, shape, to, token, lane);
    __syncwarp();
  }
}

/// The warp that posts complete rows: a chunk at a time to each node in turn, and the rest at the end.
template <typename Post>
__device__ void post_rows(const InternodeComm& comm, const Post& post, const InternodeDispatchInput& in,
                          const InternodeDispatchShape& shape, SenderBoard& board, int channels, int channel,
                          int lane) {
  int left = 0, issued = 0;
  if (lane < comm.nodes) {
    const int* prefix = in.node_channel_prefix + lane * channels;
    left = prefix[channel] - before(prefix, channel);
  }
  named_barrier(kSenderBarrier, (kRdmaSenders + 1) * 32);
  Deadline deadline;
  while (__any_sync(kFullWarp, left > 0)) {
    for (int i = 0; i < comm.nodes; ++i) {
      const int m = (channel + i) % comm.nodes;
      const int rest = shuffle(left, m);
      if (rest == 0) continue;
      const int from = shuffle(issued, m);
      const int ready = shuffle(load_acquire_cta(&board.complete[m]), 0) - from;
      if (ready < shape.rdma_chunk && ready != rest) continue;
      const int rows = min(ready, shape.rdma_chunk);
      if (lane == 0) {
        if (m == comm.node) {
          fence_sys();
          atomic_add_sys(comm.produced(channel, m), static_cast<unsigned long long>(rows));
        } else {
          // A whole number of chunks makes a ring: the slots are in one piece.
          const int64_t offset = static_cast<int64_t>(from % comm.rdma_slots) * comm.slot_bytes;
          post.put(comm, m, channel, comm.receive_slots(channel, comm.node) + offset,
                   comm.send_slots(channel, m) + offset, rows * comm.slot_bytes);
          post.add(comm, m, channel, comm.produced(channel, comm.node), rows);
        }
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
