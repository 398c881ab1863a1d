// Internode combine: every row goes back to the GPU that forwarded it, which adds the rows of a token that
// come from its node; the sum goes to the token's rank by RDMA, which adds what comes from the nodes.
//
// 2C CTAs for C channels, F = N max(16/N, 1) forwarders. The even CTA of a channel has 8 warps that send over
// NVLink, one per GPU of the node, F that add and pass on, max(16/N, 1) per destination node, and one that
// gives slots over NVLink back. The odd CTA has F + 8 warps that add what came over RDMA, a token each, and
// one that gives slots over RDMA back.
//
// A ring over NVLink is split by destination node, S/N slots each, so that a node that is slow to take its
// sums does not hold up the rows of others.
#pragma once

#include <cuda_bf16.h>

#include "internode_post.cuh"

namespace ptxwire {

inline constexpr int kForwarderWarps = 16;  ///< shared by the nodes, one each at least
inline constexpr int kMaxCombineNodes = 16;
inline constexpr int kMaxForwarders = 16;
inline constexpr int kMaxReceivers = kMaxForwarders + kGpusPerNode;
inline constexpr int kInternodeCombineThreads = (kMaxReceivers + 1) * 32;
inline constexpr unsigned kKeeperSleepNs = 500;
inline constexpr int kWarpRetired = INT32_MAX;

struct InternodeCombineInput {
  const int4* rows;                 ///< [n][row_vectors] BF16, in the order in which dispatch delivered them
  const int64_t* meta;              ///< [n]: RowMeta (dispatch)
  const float* topk_weights;        ///< [n][K] or null (K = 0)
  const int* received_per_rank;     ///< [R] (notify)
  const int* received_per_node;     ///< [N] (notify)
  const int* rank_channel_offsets;  ///< [R][C] (dispatch)
  const int* node_channel_offsets;  ///< [N][C] (dispatch)
  const int* slot_record;     ///< [T][N]: index in the ring from node m, or -(h+1) (dispatch, then notify)
  const int* forward_record;  ///< [rows forwarded][8]: index in the ring from GPU g, or -(h+1) (the same)
};

struct InternodeCombineOutput {
  int4* rows;           ///< [T][row_vectors] BF16
  float* topk_weights;  ///< [T][K]
};

struct InternodeCombineShape {
  RowShape row;
  int tokens;
  int rdma_chunk, nvlink_chunk;
};

/// Counters of the rings over NVLink as one GPU holds them: produced [C][8][N] by source GPU, for which it
/// consumes; consumed [C][8][N] by destination GPU, for which it produces.
struct CombineCounters {
  int *produced, *consumed;
  __device__ CombineCounters(const InternodeComm& comm, int gpu, int channels, int channel, int other) {
    const int first = (channel * kGpusPerNode + other) * comm.nodes;
    produced = at<int>(comm.nvlink.peer[gpu], comm.nvlink.metadata) + first;
    consumed = produced + channels * kGpusPerNode * comm.nodes;
  }
};

/// The part for one node of the ring of one channel and source GPU, in the buffer of the GPU that consumes
/// it.
struct CombineSlots {
  int4* rows;
  int64_t* meta;
  float* weights;
  int slots;
  __device__ CombineSlots(const InternodeComm& comm, const RowShape& shape, int consumer, int channel,
                          int source, int node)
      : slots(comm.nvlink_slots / comm.nodes) {
    char* base = comm.nvlink.peer[consumer];
    const int64_t first =
        static_cast<int64_t>(channel * kGpusPerNode + source) * comm.nvlink_slots + node * slots;
    rows = at<int4>(base, comm.nvlink.rows) + first * shape.row_vectors;
    meta = at<int64_t>(base, comm.nvlink.source) + first;
    weights = at<float>(base, comm.nvlink.weights) + first * shape.topk;
  }
};

/// Where one channel's share of a block of rows lies: offsets are those of its channels.
struct RowRange {
  int begin, end;
};
__device__ __forceinline__ RowRange channel_rows(const int* received, const int* offsets, int block,
                                                 int channels, int channel) {
  const int first = before(received, block);
  const int* own = offsets + block * channels + channel;
  return {first + own[0], channel == channels - 1 ? received[block] : first + own[1]};
}

/// How many slots a record lets go of: those up to and with its own, or up to the next one that is used.
__device__ __forceinline__ int released_by(int record) { return record < 0 ? -record - 1 : record + 1; }

/// Adds a vector of 8 BF16 values.
__device__ __forceinline__ void accumulate(float (&sum)[8], const int4& v) {
  const int words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    sum[2 * i] += __int_as_float(words[i] << 16);  // a BF16 is the upper half of a float
    sum[2 * i + 1] += __int_as_float(words[i] & 0xffff0000);
  }
}
__device__ __forceinline__ int4 round(const float (&sum)[8]) {
  int words[4];
#pragma unroll
  for (int i = 0; i < 4; ++i)
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(words[i]) : "f"(sum[2 * i + 1]), "f"(sum[2 * i]));
  return make_int4(words[0], words[1], words[2], words[3]);
}

/// Up to kMost rows that are added to one, with their weights. Lanes that have a row give it; ascending
/// lanes.
template <int kMost>
class Summands {
 public:
  __device__ Summands(const int4* own_row, bool has_row) : lanes_(__ballot_sync(kFullWarp, has_row)) {
    unsigned lanes = lanes_;
#pragma unroll
    for (int i = 0; i < kMost; ++i) {
      rows_[i] = shuffle(own_row, lanes != 0 ? __ffs(static_cast<int>(lanes)) - 1 : 0);
      lanes &= lanes - 1;
    }
  }

  /// By the whole warp. All loads of a column are in flight before the first sum.
  template <typename Store>
  __device__ void add_rows(int vectors, int lane, Store store) const {
    const int count = __popc(lanes_);
#pragma unroll 1
    for (int i = lane; i < vectors; i += 32) {
      int4 v[kMost];
#pragma unroll
      for (int s = 0; s < kMost; ++s)
        v[s] = load_payload_unless_negative<PayloadHint::standard>(count - 1 - s, rows_[s] + i);
      float sum[8] = {};
#pragma unroll
      for (int s = 0; s < kMost; ++s)
        if (s < count) accumulate(sum, v[s]);
      store(i, round(sum));
    }
  }
  /// The sum of the rows' weights number `lane`, where that is less than `topk`. By the whole warp.
  __device__ float weight(const float* own_weights, int lane, int topk) const {
    float sum = 0.0f;
    for (unsigned lanes = lanes_; lanes != 0; lanes &= lanes - 1) {
      const float* weights = shuffle(own_weights, __ffs(static_cast<int>(lanes)) - 1);
      if (lane < topk) sum += load_payload<PayloadHint::standard>(weights + lane);
    }
    return sum;
  }

 private:
  unsigned lanes_;
  const int4* rows_[kMost];
};

}  // namespace ptxwire
