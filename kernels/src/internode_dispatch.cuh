// Internode dispatch: every token row goes once to each node that has one of its experts, and from there to
// each of its GPUs that has one.
//
// 2C CTAs of 512 threads for C channels. The odd CTA of a channel has 7 warps that put rows into the send
// areas (or, for the own node, where they would have arrived), one that posts what is complete, and 8 that
// take rows from the rings over NVLink to their final place. The even CTA has 8 warps that forward what
// arrived over RDMA, one per GPU of the node, and one that gives slots back.
#pragma once

#include "internode_post.cuh"

namespace ptxwire {

inline constexpr int kInternodeDispatchThreads = 512;

struct InternodeDispatchInput {
  const int4* rows;                ///< [T][row_vectors]: BF16, or FP8 with scales
  const float* scales;             ///< [T][scales]
  const int64_t* topk_idx;         ///< [T][K] or null (K = 0)
  const float* topk_weights;       ///< [T][K]
  const uint8_t* membership;       ///< [T][R] 0 or 1
  const int* rank_channel_prefix;  ///< [R][C]: own tokens for rank d in channels c' <= c
  const int* node_channel_prefix;  ///< [N][C]: the same for node m
  const int* received_per_rank;    ///< [R]: rows from ranks s' <= s
  const int* received_per_node;    ///< [N]: rows that arrive from nodes m' <= m to be forwarded
};

struct InternodeDispatchOutput {
  int4* rows;           ///< [n][row_vectors], by source rank, then by token
  float* scales;        ///< [n][scales]
  int64_t* meta;        ///< [n]: RowMeta
  int64_t* topk_idx;    ///< [n][K]: local expert, others -1
  float* topk_weights;  ///< [n][K]: 0 where idx is -1
  // For combine:
  int* slot_record;     ///< [T][N]: index in the channel's ring to node m, or -1
  int* forward_record;  ///< [rows to forward][8]: the how-manyeth row of its (channel, node) for GPU d, or -1
  int* rank_channel_offsets;  ///< [R][C]: rows from rank s before those of channel c
  int* node_channel_offsets;  ///< [N][C]: rows to forward from node m before those of channel c
};

struct InternodeDispatchShape {
  RowShape row;
  int tokens, experts;
  int rdma_chunk, nvlink_chunk;
};

/// Counters of the rings over NVLink as one GPU holds them: start, end [C][8][N] and produced [C][8] by
/// source GPU, for which it consumes; consumed [C][8] by destination GPU, for which it produces.
struct DispatchCounters {
  int *start, *end, *produced, *consumed;
  __device__ DispatchCounters(const InternodeComm& comm, int gpu, int channels) {
    const int rings = channels * kGpusPerNode;
    start = at<int>(comm.nvlink.peer[gpu], comm.nvlink.metadata);
    end = start + rings * comm.nodes;
    produced = end + rings * comm.nodes;
    consumed = produced + rings;
  }
};

/// The ring of one channel and source in the buffer of the GPU that consumes it.
struct DispatchSlots {
  int4* rows;
  int64_t* meta;
  float* scales;
  int* idx;
  float* weights;
  __device__ DispatchSlots(const InternodeComm& comm, const RowShape& shape, int consumer, int ring) {
    char* base = comm.nvlink.peer[consumer];
    const int64_t first = static_cast<int64_t>(ring) * comm.nvlink_slots;
    rows = at<int4>(base, comm.nvlink.rows) + first * shape.row_vectors;
    meta = at<int64_t>(base, comm.nvlink.source) + first;
    scales = at<float>(base, comm.nvlink.scales) + first * shape.scales;
    idx = at<int>(base, comm.nvlink.idx) + first * shape.topk;
    weights = at<float>(base, comm.nvlink.weights) + first * shape.topk;
  }
};

}  // namespace ptxwire
