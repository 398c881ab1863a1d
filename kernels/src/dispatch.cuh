// Intranode dispatch: every token row goes to each rank that owns one of its experts.
//
// 2C CTAs for C channels. The even CTA of a channel sends: a group of warps per destination walks the
// channel's tokens and writes selected rows into the ring [channel][me] in the destination's buffer. The odd
// CTA receives: a group of warps per source copies rows out of the ring [channel][source] of the own buffer
// to their final place.
#pragma once

#include "comm.cuh"

namespace ptxwire {

struct DispatchInput {
  const int4* rows;           ///< [T][row_vectors]: BF16, or FP8 with scales
  const float* scales;        ///< [T][scales]
  const int64_t* topk_idx;    ///< [T][K] or null (K = 0)
  const float* topk_weights;  ///< [T][K]
  const uint8_t* membership;  ///< [T][R] 0 or 1
  const int* channel_prefix;  ///< [R][C]: tokens for rank d in channels c' <= c
};

struct DispatchOutput {
  int4* rows;            ///< [n][row_vectors], by source, then by token
  float* scales;         ///< [n][scales]
  int* source;           ///< [n]: token index at the source
  int64_t* topk_idx;     ///< [n][K]: local expert, others -1
  float* topk_weights;   ///< [n][K]: 0 where idx is -1
  int* channel_offsets;  ///< [R][C]: first row of channel c within the rows of source s (for combine)
  int* slot_record;      ///< [T][R]: produced index of the token in ring r, or -1 (for combine)
};

struct DispatchShape {
  int tokens, row_vectors, scales, topk, experts;
  int ring_slots, chunk;
};

/// Of a ring: its index, and the four counters as the consumer holds them.
struct DispatchRing {
  int index;
  int *start, *end, *consumed, *produced;
  __device__ DispatchRing(const CommBuffers& comm, int consumer, int channels, int channel, int source)
      : index(channel * comm.ranks + source) {
    int* metadata = at<int>(comm.peer[consumer], comm.metadata);
    const int rings = channels * comm.ranks;
    start = metadata + index;
    end = start + rings;
    consumed = end + rings;
    produced = consumed + rings;
  }
};

/// A group of `warps` warps that serves one peer.
struct PeerGroup {
  int peer, warps, warp, lane, thread;
  __device__ void join() const {
    if (warps == 1)
      __syncwarp();
    else
      named_barrier(peer, warps * 32);
  }
};
__device__ __forceinline__ PeerGroup peer_group(int ranks) {
  PeerGroup group;
  group.warps = static_cast<int>(blockDim.x) / 32 / ranks;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  group.peer = warp / group.warps;
  group.warp = warp % group.warps;
  group.lane = static_cast<int>(threadIdx.x) % 32;
  group.thread = group.warp * 32 + group.lane;
  return group;
}

template <PayloadHint kHint>
__device__ void dispatch_send(const CommBuffers& comm, const DispatchInput& in, int* slot_record,
                              const DispatchShape& shape) {
  const int channels = static_cast<int>(gridDim.x) / 2, channel = static_cast<int>(blockIdx.x) / 2;
  const int ranks = comm.ranks, rank = comm.rank;
  const PeerGroup group = peer_group(ranks);
  const int destination = group.peer, lane = group.lane;
  const DispatchRing ring(comm, destination, channels, channel, rank);
  char* remote = comm.peer[destination];
  const int64_t first_slot = static_cast<int64_t>(ring.index) * shape.ring_slots;
  int4* ring_rows = at<int4>(remote, comm.rows) + first_slot * shape.row_vectors;
  int* ring_source = at<int>(remote, comm.source) + first_slot;
  int64_t* ring_idx = at<int64_t>(remote, comm.idx) + first_slot * shape.topk;
  float* ring_weights = at<float>(remote, comm.weights) + first_slot * shape.topk;
  float* ring_scales = at<float>(remote, comm.scales) + first_slot * shape.scales;

  if (group.thread == 0) {  // counts travel as -(v+1), so that 0 means "not yet written"
    const int* prefix = in.channel_prefix + destination * channels;
    store_relaxed_sys(ring.start, -(channel > 0 ? prefix[channel - 1] : 0) - 1);
    store_relaxed_sys(ring.end, -prefix[channel] - 1);
  }
  __syncwarp();

  const int local_experts = shape.experts / ranks;
  const int first_expert = destination * local_experts;
  const TokenRange range = channel_tokens(shape.tokens, channels, channel);
  int produced = 0, slot = 0;
  int walker = 0,
      copier = 0;  // warp of the group that records the token at hand, that copies the next selected one
  for (int token = range.begin; token < range.end;) {
    if (lane == 0) {
      const Deadline deadline;
      while (shape.ring_slots - (produced - load_volatile(ring.consumed)) < shape.chunk)
        deadline.check("dispatch sender", rank, channel, destination);
    }
    __syncwarp();

    for (int sent = 0; sent < shape.chunk && token < range.end; ++token) {
      const bool selected = in.membership[token * ranks + destination] != 0;
      if (lane == 0 && walker == group.warp)
        slot_record[token * ranks + destination] = selected ? produced : -1;
      if (++walker == group.warps) walker = 0;
      if (!selected) continue;
      if (copier == group.warp) {
        warp_copy<5, kHint, CopySource::read_only>(lane, shape.row_vectors,
                                                   ring_rows + static_cast<int64_t>(slot) * shape.row_vectors,
                                                   in.rows + static_cast<int64_t>(token) * shape.row_vectors);
        if (lane == 0) ring_source[slot] = token;
        if (lane < shape.topk) {
          const int64_t expert = in.topk_idx[token * shape.topk + lane] - first_expert;
          const bool local = expert >= 0 && expert < local_experts;
          ring_idx[slot * shape.topk + lane] = local ? expert : -1;
          ring_weights[slot * shape.topk + lane] = local ? in.topk_weights[token * shape.topk + lane] : 0.0f;
        }
#pragma unroll 1
        for (int i = lane; i < shape.scales; i += 32)
          ring_scales[slot * shape.scales + i] = in.scales[static_cast<int64_t>(token) * shape.scales + i];
      }
      ++produced;
      ++sent;
      if (++copier == group.warps) copier = 0;
      if (++slot == shape.ring_slots) slot = 0;
    }
    group.join();
    if (group.thread == 0) store_release_sys(ring.produced, produced);
  }
}

/// How a receiving warp copies a row: through registers.
template <PayloadHint kHint>
struct RegisterRowCopy {
  __device__ void operator()(int lane, int vectors, int4* to, const int4* from) {
    warp_copy<5, kHint, CopySource::payload>(lane, vectors, to, from);
  }
  __device__ void finish() {}
};

template <PayloadHint kHint, typename RowCopy>
__device__ void dispatch_receive(const CommBuffers& comm, const DispatchOutput& out,
                                 const DispatchShape& shape, RowCopy& copy_row) {
  __shared__ int produced_of[kMaxRanks];
  const int channels = static_cast<int>(gridDim.x) / 2, channel = static_cast<int>(blockIdx.x) / 2;
  const int ranks = comm.ranks, rank = comm.rank;
  const PeerGroup group = peer_group(ranks);
  const int source = group.peer, lane = group.lane, threads = group.warps * 32;
  const DispatchRing ring(comm, rank, channels, channel, source);
  char* local = comm.peer[rank];
  const int64_t first_slot = static_cast<int64_t>(ring.index) * shape.ring_slots;
  const int4* ring_rows = at<int4>(local, comm.rows) + first_slot * shape.row_vectors;
  const int* ring_source = at<int>(local, comm.source) + first_slot;
  const int64_t* ring_idx = at<int64_t>(local, comm.idx) + first_slot * shape.topk;
  const float* ring_weights = at<float>(local, comm.weights) + first_slot * shape.topk;
  const float* ring_scales = at<float>(local, comm.scales) + first_slot * shape.scales;

  int start = 0, end = 0;
  if (lane == 0) {
    const Deadline deadline;
    while ((start = load_volatile(ring.start)) == 0)
      deadline.check("dispatch receiver, start", rank, channel, source);
    while ((end = load_volatile(ring.end)) == 0)
      deadline.check("dispatch receiver, end", rank, channel, source);
    start = -start - 1;
    end = -end - 1;
    if (group.warp == 0) out.channel_offsets[source * channels + channel] = start;
  }
  start = __shfl_sync(kFullWarp, start, 0);
  const int total = __shfl_sync(kFullWarp, end, 0) - start;
  const int* matrix = at<int>(local, comm.matrix);
  const int base = (source > 0 ? matrix[(source - 1) * ranks + rank] : 0) + start;

  for (int consumed = 0, consumed_slot = 0; consumed < total;) {
    if (group.thread == 0) {
      int produced;
      const Deadline deadline;
      while ((produced = load_acquire_sys(ring.produced)) == consumed)
        deadline.check("dispatch receiver, rows", rank, channel, source);
      produced_of[source] = produced;
    }
    group.join();
    const int rows = produced_of[source] - consumed;
    const int64_t first_row = base + consumed;
    const auto slot_of = [&](int row) {
      const int slot = consumed_slot + row;
      return slot < shape.ring_slots ? slot : slot - shape.ring_slots;
    };

    for (int row = group.warp; row < rows; row += group.warps)
      copy_row(lane, shape.row_vectors, out.rows + (first_row + row) * shape.row_vectors,
               ring_rows + static_cast<int64_t>(slot_of(row)) * shape.row_vectors);
#pragma unroll 1
    for (int row = group.thread; row < rows; row += threads)
      out.source[first_row + row] = load_payload<kHint>(ring_source + slot_of(row));
#pragma unroll 1
    for (int i = group.thread; i < rows * shape.topk; i += threads) {
      const int row = i / shape.topk, column = i % shape.topk;
      const int from = slot_of(row) * shape.topk + column;
      out.topk_idx[(first_row + row) * shape.topk + column] = load_payload<kHint>(ring_idx + from);
      out.topk_weights[(first_row + row) * shape.topk + column] = load_payload<kHint>(ring_weights + from);
    }
#pragma unroll 1
    for (int i = group.thread; i < rows * shape.scales; i += threads) {
      const int row = i / shape.scales, column = i % shape.scales;
      out.scales[(first_row + row) * shape.scales + column] =
          load_payload<kHint>(ring_scales + slot_of(row) * shape.scales + column);
    }

    consumed += rows;
    consumed_slot = slot_of(rows);
    group.join();
    if (group.warp == group.warps - 1 && lane == 0) store_relaxed_sys(ring.consumed, consumed);
  }
  copy_row.finish();
}

}  // namespace ptxwire
