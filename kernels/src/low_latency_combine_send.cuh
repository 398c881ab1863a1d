// Low-latency combine, send phase: a group of warps sends the rows that one rank wants back from one local
// expert, each to the slot of (expert, token) there, then a flag.
#pragma once

#include "low_latency_combine.cuh"

namespace ptxwire {

/// A row goes by stores where the rank is reached so; else through a slot of the heap, unless it lies there
/// already, and the NIC.
template <LowLatencyRevision kRevision>
__device__ __forceinline__ void send_row(const RdmaState& rdma, const CombineSlot<kRevision>& slot, int rank,
                                         int queue, char* to, const char* row, char* send, bool ring,
                                         int lane) {
  const auto copy = [&](char* target) {
    warp_copy<7, PayloadHint::standard, CopySource::payload>(
        lane, slot.row_bytes / 16, reinterpret_cast<int4*>(target), reinterpret_cast<const int4*>(row));
  };
  if (char* direct = direct_pointer<kRevision>(rdma, to, rank)) {
    copy(direct);
    return;
  }
  if (send != row) {
    copy(send);
    __syncwarp();
  }
  rdma_put_warp(rdma, rank, queue, to, send, slot.row_bytes, lane, ring);
}

/// By one warp of the grid: the other set's flags are clear, so every group may send its own.
__device__ __forceinline__ void clear_next_flags(const LowLatencySet& set, const LowLatencyWorkspace& work,
                                                 const LowLatencyShape& shape, int lane) {
  clear_words(set.next_flags, shape.experts, lane);
  if (lane == 0) add_release_gpu(work.cleared, shape.experts);
}

template <LowLatencyRevision kRevision>
__device__ void combine_send(const RdmaState& rdma, const LowLatencySet& set, const LowLatencyWorkspace& work,
                             const LowLatencyCombineInput& in, const LowLatencyShape& shape) {
  const ExpertGroup group = expert_group(shape);
  const int lane = group.lane;
  if (blockIdx.x == 0 && threadIdx.x < 32) clear_next_flags(set, work, shape, lane);
  if (group.pair >= shape.experts) return;
  const CombineSlot<kRevision> slot(shape);
  const int local_experts = shape.experts / rdma.ranks;
  const int rank = group.pair / local_experts, local = group.pair % local_experts;
  const int expert = rdma.rank * local_experts + local;

  const long long segment = in.segments[local * rdma.ranks + rank];
  const int count = static_cast<int>(segment >> 32), begin = static_cast<int>(segment);
  const int64_t first = static_cast<int64_t>(local) * rdma.ranks * shape.tokens + begin;
  char* slots = set.receive + static_cast<int64_t>(expert) * shape.tokens * slot.bytes() + slot.kRowOffset;
  for (int i = group.warp; i < count; i += group.warps)
    send_row(rdma, slot, rank, local, slots + static_cast<int64_t>(in.source[first + i]) * slot.bytes(),
             in.rows + (first + i) * in.row_stride, set.send + (first + i) * slot.bytes() + slot.kRowOffset,
             (i + 1) % shape.doorbell_batch == 0, lane);

  group.join();
  if (group.warp == 0 && lane == 0) {
    const Deadline deadline;
    while (load_acquire_gpu(work.cleared) == 0)
      deadline.check("low-latency combine, flags cleared", rdma.rank, local, rank);
    int* flag = set.flags + expert;
    if (int* direct = direct_pointer<kRevision>(rdma, flag, rank))
      store_release_sys(direct, 1);
    else
      rdma_add(rdma, rank, local, flag, 1);
    add_release_gpu(work.cleared, -1);
  }
}

}  // namespace ptxwire
