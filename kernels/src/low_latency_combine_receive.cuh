// Low-latency combine, receive phase: once the flags of all experts are there, every token is the weighted
// sum, in fp32 and in the order of its selections, of the rows in its slots.
#pragma once

#include "low_latency_combine.cuh"

namespace ptxwire {

/// Adds weight times the eight BF16 of `v`.
__device__ __forceinline__ void add_weighted(float (&sum)[8], int4 v, float weight) {
  const unsigned words[4] = {static_cast<unsigned>(v.x), static_cast<unsigned>(v.y),
                             static_cast<unsigned>(v.z), static_cast<unsigned>(v.w)};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    sum[2 * i] = __fmaf_rn(weight, __uint_as_float(words[i] << 16), sum[2 * i]);
    sum[2 * i + 1] = __fmaf_rn(weight, __uint_as_float(words[i] & 0xffff0000u), sum[2 * i + 1]);
  }
}

/// Rounds to the nearest even BF16; `low` comes first in memory.
__device__ __forceinline__ int bf16_pair(float low, float high) {
  int v;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(v) : "f"(high), "f"(low));
  return v;
}

template <LowLatencyRevision kRevision>
__device__ __forceinline__ void combine_token(const LowLatencySet& set, const LowLatencyCombineInput& in,
                                              int4* out, const LowLatencyShape& shape, int token) {
  const CombineSlot<kRevision> slot(shape);
  const int64_t* experts = in.experts + token * shape.topk;
  const float* weights = in.weights + token * shape.topk;
  for (int i = static_cast<int>(threadIdx.x); i < shape.hidden / 8; i += static_cast<int>(blockDim.x)) {
    int4 v[kMaxSelections];
    unsigned selected = 0;
#pragma unroll
    for (int k = 0; k < kMaxSelections; ++k) {
      const int expert = k < shape.topk ? static_cast<int>(__ldg(experts + k)) : -1;
      const char* row = set.receive + slot.kRowOffset +
                        (static_cast<int64_t>(expert) * shape.tokens + token) * slot.bytes();
      v[k] =
          load_payload_unless_negative<PayloadHint::standard>(expert, reinterpret_cast<const int4*>(row) + i);
      selected |= static_cast<unsigned>(expert >= 0) << k;
    }
    float sum[8] = {};
#pragma unroll
    for (int k = 0; k < kMaxSelections; ++k)
      if (selected >> k & 1) add_weighted(sum, v[k], __ldg(weights + k));
    out[static_cast<int64_t>(token) * (shape.hidden / 8) + i] =
        make_int4(bf16_pair(sum[0], sum[1]), bf16_pair(sum[2], sum[3]), bf16_pair(sum[4], sum[5]),
                  bf16_pair(sum[6], sum[7]));
  }
}

template <LowLatencyRevision kRevision>
__device__ void combine_receive(const RdmaState& rdma, const LowLatencySet& set,
                                const LowLatencyWorkspace& work, const LowLatencyCombineInput& in, int4* out,
                                const LowLatencyShape& shape) {
  const ExpertGroup group = expert_group(shape);
  if (group.pair < shape.experts && group.warp == 0 && group.lane == 0) {
    const Deadline deadline;
    while (load_acquire_sys(set.flags + group.pair) == 0)
      deadline.check("low-latency combine, rows received", rdma.rank, group.pair,
                     group.pair / (shape.experts / rdma.ranks));
  }
  grid_barrier(work.grid);
  for (int token = static_cast<int>(blockIdx.x); token < shape.tokens; token += static_cast<int>(gridDim.x))
    combine_token<kRevision>(set, in, out, shape, token);
}

}  // namespace ptxwire
