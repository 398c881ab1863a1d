// Intranode combine: every received row goes back to its source, which adds the rows of a token.
//
// 2C CTAs of 768 threads for C channels. The even CTA of a channel sends: a group of warps per destination
// copies the contiguous rows of (destination, channel) into the ring [channel][me] in the destination's
// buffer. The odd CTA receives: warp 0 keeps the indices (what has been produced, what may be released), the
// other warps each add up one token at a time.
#pragma once

#include <cuda_bf16.h>

#include "comm.cuh"

namespace ptxwire {

inline constexpr int kCombineThreads = 768;
inline constexpr int kCombineWarps = kCombineThreads / 32;
inline constexpr int kBf16PerVector = 8;

struct CombineInput {
  const int4* rows;            ///< [n][row_vectors] BF16, in the order in which dispatch delivered them
  const float* topk_weights;   ///< [n][K] or null (K = 0)
  const int* source;           ///< [n]: token index at the source
  const int* matrix;           ///< [R][R]: rows from rank s to rank d, summed over s' <= s (dispatch)
  const int* channel_offsets;  ///< [R][C] (dispatch)
  const int* slot_record;      ///< [T][R]: index in ring r, or -(h+1) (dispatch, then cached notify)
  const int4* bias[2];         ///< [T][row_vectors] BF16 added first, or null (revision D only)
};

struct CombineOutput {
  int4* rows;           ///< [T][row_vectors] BF16
  float* topk_weights;  ///< [T][K]
};

struct CombineShape {
  int tokens, row_vectors, topk;
  int ring_slots, chunk;
};

template <Revision kRevision, PayloadHint kHint>
__device__ void combine_send(const CommBuffers& comm, const CombineInput& in, const CombineShape& shape) {
  const int channels = static_cast<int>(gridDim.x) / 2, channel = static_cast<int>(blockIdx.x) / 2;
  const int ranks = comm.ranks, rank = comm.rank;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int group_warps = kCombineWarps / ranks;
  // Revision D spreads the destinations so that the channels do not all start at the same peer.
  const int destination = kRevision == Revision::a ? warp / group_warps : (warp + channel) % ranks;
  const int group_warp = kRevision == Revision::a ? warp % group_warps : warp / ranks;

  const int rings = channels * ranks, ring = channel * ranks + rank;
  char* remote = comm.peer[destination];
  const int* consumed = at<int>(remote, comm.metadata) + ring;
  int* produced_index = at<int>(remote, comm.metadata) + rings + ring;
  const int64_t first_slot = static_cast<int64_t>(ring) * shape.ring_slots;
  int4* ring_rows = at<int4>(remote, comm.rows) + first_slot * shape.row_vectors;
  int* ring_source = at<int>(remote, comm.source) + first_slot;
  float* ring_weights = at<float>(remote, comm.weights) + first_slot * shape.topk;

  const int block_begin = destination > 0 ? in.matrix[(destination - 1) * ranks + rank] : 0;
  const int block_rows = in.matrix[destination * ranks + rank] - block_begin;
  const int* offsets = in.channel_offsets + destination * channels + channel;
  const int begin = block_begin + offsets[0];
  const int end = block_begin + (channel == channels - 1 ? block_rows : offsets[1]);

  int produced = 0, slot = 0;
  for (int row = begin; row < end;) {
    const int rows = min(shape.chunk, end - row);
    if (lane == 0) {
      const Deadline deadline;
      while (shape.ring_slots - (produced - load_volatile(consumed)) < rows)
        deadline.check("combine sender", rank, channel, destination);
    }
    __syncwarp();

    for (int i = group_warp; i < rows; i += group_warps) {
      const int to = slot + i < shape.ring_slots ? slot + i : slot + i - shape.ring_slots;
      const int64_t from = row + i;
      warp_copy<4, kHint, CopySource::payload>(lane, shape.row_vectors,
                                               ring_rows + static_cast<int64_t>(to) * shape.row_vectors,
                                               in.rows + from * shape.row_vectors);
      if (lane == 0) ring_source[to] = load_payload<kHint>(in.source + from);
      if (lane < shape.topk)
        ring_weights[to * shape.topk + lane] =
            load_payload<kHint>(in.topk_weights + from * shape.topk + lane);
    }
    row += rows;
    produced += rows;
    slot = slot + rows < shape.ring_slots ? slot + rows : slot + rows - shape.ring_slots;
    named_barrier(destination, group_warps * 32);
    if (group_warp == 0 && lane == 0) store_release_sys(produced_index, produced);
  }
}

/// What the warps of a receiving CTA tell each other.
struct CombineBoard {
  volatile int produced[kMaxRanks];                 ///< keeper: rows that ring r has
  volatile int released[kCombineWarps][kMaxRanks];  ///< worker: rows of ring r that it is done with;
                                                    ///< kRetired: no tokens left
};
inline constexpr int kRetired = INT32_MAX;

/// Warp 0: watches all rings, and returns slots to their producers once every worker is past them.
__device__ __forceinline__ void combine_keep_indices(const CommBuffers& comm, CombineBoard& board,
                                                     int channels, int channel) {
  const int ring = static_cast<int>(threadIdx.x);
  if (ring >= comm.ranks) return;
  int* consumed = at<int>(comm.peer[comm.rank], comm.metadata) + channel * comm.ranks + ring;
  const int* produced_index = consumed + channels * comm.ranks;
  int produced = 0, released = 0;
  while (true) {
    int lowest = kRetired;
#pragma unroll
    for (int worker = 1; worker < kCombineWarps; ++worker) lowest = min(lowest, board.released[worker][ring]);
    if (lowest == kRetired) break;
    const int now = load_acquire_sys(produced_index);
    if (now != produced) board.produced[ring] = produced = now;
    if (lowest > released) store_relaxed_sys(consumed, released = lowest);
  }
}

/// Adds the 8 BF16 values of a vector to `sum`.
__device__ __forceinline__ void accumulate(float (&sum)[kBf16PerVector], const int4& v) {
  const int words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    sum[2 * i] += __int_as_float(words[i] << 16);  // a BF16 is the upper half of a float
    sum[2 * i + 1] += __int_as_float(words[i] & 0xffff0000);
  }
}

__device__ __forceinline__ int4 round_to_bf16(const float (&sum)[kBf16PerVector]) {
  int words[4];
#pragma unroll
  for (int i = 0; i < 4; ++i)
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(words[i]) : "f"(sum[2 * i + 1]), "f"(sum[2 * i]));
  return make_int4(words[0], words[1], words[2], words[3]);
}

/// A worker. `store(lane, to, vector)` is called by the whole warp for 32 consecutive vectors,
/// `store.finish()` at the end. Needs a whole number of 32 vectors per row.
template <PayloadHint kHint, typename Store>
__device__ void combine_add_tokens(const CommBuffers& comm, const CombineInput& in, const CombineOutput& out,
                                   const CombineShape& shape, CombineBoard& board, int channels, int channel,
                                   Store& store) {
  const int ranks = comm.ranks, rank = comm.rank;
  const int worker = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  char* local = comm.peer[rank];
  const int64_t first_slot = static_cast<int64_t>(channel) * ranks * shape.ring_slots;
  const int4* ring_rows = at<int4>(local, comm.rows) + first_slot * shape.row_vectors;
  const float* ring_weights = at<float>(local, comm.weights) + first_slot * shape.topk;
  const int4 *bias0 = in.bias[0], *bias1 = in.bias[1];
  const TokenRange range = channel_tokens(shape.tokens, channels, channel);

  for (int token = range.begin + worker - 1; token < range.end; token += kCombineWarps - 1) {
    const int record = lane < ranks ? load_payload<kHint>(in.slot_record + token * ranks + lane) : -1;
    if (record >= 0) {
      const Deadline deadline;
      while (board.produced[lane] <= record) deadline.check("combine receiver", rank, channel, lane);
    }
    __syncwarp();

    const int own_slot = record >= 0 ? record % shape.ring_slots : -1;
    int slots[kMaxRanks];  // of ring r, or -1
    const int4* rows[kMaxRanks];
#pragma unroll
    for (int r = 0; r < kMaxRanks; ++r) {
      slots[r] = __shfl_sync(kFullWarp, own_slot, r);
      rows[r] = keep(ring_rows + (static_cast<int64_t>(r) * shape.ring_slots + slots[r]) * shape.row_vectors +
                     lane);
    }

#pragma unroll 1
    for (int first = 0; first < shape.row_vectors; first += 32) {
      int4 v[kMaxRanks];
#pragma unroll
      for (int r = 0; r < kMaxRanks; ++r)
        v[r] = load_payload_unless_negative<kHint>(slots[r], rows[r] + first);
      float sum[kBf16PerVector] = {};
      const int64_t position = static_cast<int64_t>(token) * shape.row_vectors + first + lane;
      if constexpr (Store::kHasBias) {
        if (bias0 != nullptr) accumulate(sum, load_read_only(bias0 + position));
        if (bias1 != nullptr) accumulate(sum, load_read_only(bias1 + position));
      }
#pragma unroll
      for (int r = 0; r < kMaxRanks; ++r)
        if (slots[r] >= 0) accumulate(sum, v[r]);
      store(lane, out.rows + position, round_to_bf16(sum));
    }
    if (lane < shape.topk) {
      float sum = 0.0f;
#pragma unroll
      for (int r = 0; r < kMaxRanks; ++r)
        if (slots[r] >= 0)
          sum += load_payload<kHint>(
              ring_weights + (static_cast<int64_t>(r) * shape.ring_slots + slots[r]) * shape.topk + lane);
      out.topk_weights[token * shape.topk + lane] = sum;
    }
    __syncwarp();  // all lanes have their values: only now may the slots be reused
    if (lane < ranks) board.released[worker][lane] = record < 0 ? -record - 1 : record + 1;
  }
  __syncwarp();
  if (lane < ranks) board.released[worker][lane] = kRetired;
  store.finish();
}

template <Revision kRevision, PayloadHint kHint, typename Store>
__device__ void combine(const CommBuffers& comm, const CombineInput& in, const CombineOutput& out,
                        const CombineShape& shape, Store& store) {
  __shared__ CombineBoard board;
  if (blockIdx.x % 2 == 0) {
    combine_send<kRevision, kHint>(comm, in, shape);
    return;
  }
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < kCombineWarps * kMaxRanks) board.released[thread / kMaxRanks][thread % kMaxRanks] = 0;
  if (thread < kMaxRanks) board.produced[thread] = 0;
  __syncthreads();
  const int channels = static_cast<int>(gridDim.x) / 2, channel = static_cast<int>(blockIdx.x) / 2;
  if (thread < 32)
    combine_keep_indices(comm, board, channels, channel);
  else
    combine_add_tokens<kHint>(comm, in, out, shape, board, channels, channel, store);
}

}  // namespace ptxwire
