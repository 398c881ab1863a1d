// Low-latency dispatch, send phase. All warps but the last of a CTA cast a token into a message together,
// then one warp per selection sends it. The last warp counts how many messages the CTA's own experts get from
// this rank, which is what their receivers are told once the messages are on their way.
//
// `finished[e]` adds up to 2 kTag when that is so: one for each message sent, kTag - count by who counted,
// kTag when the flags of the other set are clear.
#pragma once

#include "low_latency_dispatch.cuh"

namespace ptxwire {

inline constexpr int kTag = 1024;  ///< more than a rank's tokens

/// By all warps but the last.
template <LowLatencyRevision kRevision, bool kCast>
__device__ __forceinline__ void make_message(char* message, const int4* row, int token, int hidden,
                                             const DispatchMessage<kRevision, kCast>& layout) {
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x) - 32;
  if (thread == 0) *reinterpret_cast<int4*>(message + layout.header_offset()) = make_int4(token, 0, 0, 0);
  for (int i = thread; i < hidden / 8; i += threads) {
    const int4 bf16 = load_read_only(row + i);
    if constexpr (kCast) {
      float inverse_scale;
      reinterpret_cast<uint2*>(message + layout.row_offset())[i] = cast_vector(bf16, inverse_scale);
      if (i % kLanesPerScale == 0)
        reinterpret_cast<float*>(message + layout.scales_offset())[i / kLanesPerScale] = inverse_scale;
    } else {
      reinterpret_cast<int4*>(message + layout.row_offset())[i] = bf16;
    }
  }
}

template <LowLatencyRevision kRevision, bool kCast>
__device__ __forceinline__ void send_message(const RdmaState& rdma, const LowLatencySet& set,
                                             const LowLatencyWorkspace& work, const LowLatencyShape& shape,
                                             const char* message, int bytes, int expert, int lane) {
  const int local_experts = shape.experts / rdma.ranks;
  const int rank = expert / local_experts, local = expert % local_experts;
  int slot = 0;
  if (lane == 0) slot = atomicAdd(work.slots + expert, 1);
  slot = __shfl_sync(kFullWarp, slot, 0);
  char* to =
      set.receive + (static_cast<int64_t>(local * rdma.ranks + rdma.rank) * shape.tokens + slot) * bytes;
  if (char* direct = direct_pointer<kRevision>(rdma, to, rank)) {
    warp_copy<8, PayloadHint::standard, CopySource::payload>(
        lane, bytes / 16, reinterpret_cast<int4*>(direct), reinterpret_cast<const int4*>(message));
  } else {
    rdma_put_warp(rdma, rank, local, to, message, bytes, lane, (slot + 1) % shape.doorbell_batch == 0);
  }
  __syncwarp();
  if (lane == 0) add_release_gpu(work.finished + expert, 1);
}

template <LowLatencyRevision kRevision, bool kCast>
__device__ __forceinline__ void send_tokens(const RdmaState& rdma, const LowLatencySet& set,
                                            const LowLatencyWorkspace& work,
                                            const LowLatencyDispatchInput& in, const LowLatencyShape& shape) {
  const DispatchMessage<kRevision, kCast> layout(shape);
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int sending_warps = static_cast<int>(blockDim.x) / 32 - 1;
  for (int token = static_cast<int>(blockIdx.x); token < shape.tokens; token += static_cast<int>(gridDim.x)) {
    char* message = set.send + static_cast<int64_t>(token) * layout.bytes();
    make_message(message, in.rows + static_cast<int64_t>(token) * (shape.hidden / 8), token, shape.hidden,
                 layout);
    named_barrier(kCastBarrier, sending_warps * 32);
    for (int k = warp; k < shape.topk; k += sending_warps) {
      const int expert = static_cast<int>(__ldg(in.experts + token * shape.topk + k));
      if (expert >= 0)
        send_message<kRevision, kCast>(rdma, set, work, shape, message, layout.bytes(), expert, lane);
    }
  }
}

/// By the last warp: `counts` of the CTA's own experts.
__device__ __forceinline__ void count_selections(const LowLatencySet& set, const LowLatencyWorkspace& work,
                                                 const LowLatencyDispatchInput& in,
                                                 const LowLatencyShape& shape, int* counts) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (blockIdx.x == 0) {
    clear_words(set.next_flags, shape.experts, lane);
    for (int e = lane; e < shape.experts; e += 32) add_release_gpu(work.finished + e, kTag);
  }
  const int first = static_cast<int>(blockIdx.x) * shape.groups;
  if (lane < shape.groups) counts[lane] = 0;
  __syncwarp();
  for (int i = lane; i < shape.tokens * shape.topk; i += 32) {
    const auto own = static_cast<unsigned>(static_cast<int>(__ldg(in.experts + i)) - first);
    if (own < static_cast<unsigned>(shape.groups)) atomicAdd(counts + own, 1);
  }
  __syncwarp();
  if (lane < shape.groups && first + lane < shape.experts)
    add_release_gpu(work.finished + first + lane, kTag - counts[lane]);
}

/// By one thread per expert: waits until its messages are sent, and says how many there are.
template <LowLatencyRevision kRevision>
__device__ __forceinline__ void announce(const RdmaState& rdma, const LowLatencySet& set,
                                         const LowLatencyWorkspace& work, const LowLatencyShape& shape,
                                         int expert, int count) {
  const int local_experts = shape.experts / rdma.ranks;
  const int rank = expert / local_experts, local = expert % local_experts;
  const Deadline deadline;
  while (load_acquire_gpu(work.finished + expert) != 2 * kTag)
    deadline.check("low-latency dispatch, messages sent", rdma.rank, expert, rank);
  int* flag = set.flags + local * rdma.ranks + rdma.rank;
  if (int* direct = direct_pointer<kRevision>(rdma, flag, rank))
    store_release_sys(direct, -count - 1);
  else
    rdma_add(rdma, rank, local, flag, -count - 1);
  work.slots[expert] = 0;
  work.finished[expert] = 0;
}

template <LowLatencyRevision kRevision, bool kCast>
__device__ void dispatch_send(const RdmaState& rdma, const LowLatencySet& set,
                              const LowLatencyWorkspace& work, const LowLatencyDispatchInput& in,
                              const LowLatencyShape& shape) {
  __shared__ int counts[kMaxGroups];
  const ExpertGroup group = expert_group(shape);
  if (threadIdx.x < blockDim.x - 32)
    send_tokens<kRevision, kCast>(rdma, set, work, in, shape);
  else
    count_selections(set, work, in, shape, counts);
  __syncthreads();
  if (group.warp == 0 && group.lane == 0 && group.pair < shape.experts)
    announce<kRevision>(rdma, set, work, shape, group.pair, counts[group.group]);
}

}  // namespace ptxwire
