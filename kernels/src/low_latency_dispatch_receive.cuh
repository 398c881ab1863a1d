// Low-latency dispatch, receive phase: a group of warps waits for the flag of its (source, local expert) and
// packs the messages behind it into the rows of the expert.
//
// `received[l]` holds the rows of local expert l so far and, above kRowsBits, the sources they came from; the
// last source leaves the total and clears it for the next call.
#pragma once

#include "low_latency_dispatch.cuh"

namespace ptxwire {

inline constexpr int kRowsBits = 20;

/// Takes `count` rows of a local expert; returns the first.
__device__ __forceinline__ int take_rows(const LowLatencyWorkspace& work, int* counts, int local, int count,
                                         int ranks) {
  const unsigned before = atomicAdd(work.received + local, (1u << kRowsBits) + static_cast<unsigned>(count));
  const int begin = static_cast<int>(before & ((1u << kRowsBits) - 1));
  if (static_cast<int>(before >> kRowsBits) == ranks - 1) {
    counts[local] = begin + count;
    work.received[local] = 0;
  }
  return begin;
}

template <LowLatencyRevision kRevision, bool kCast>
__device__ void dispatch_receive(const RdmaState& rdma, const LowLatencySet& set,
                                 const LowLatencyWorkspace& work, const LowLatencyDispatchOutput& out,
                                 const LowLatencyShape& shape) {
  __shared__ int count_of[kMaxGroups], begin_of[kMaxGroups];
  const ExpertGroup group = expert_group(shape);
  if (group.pair >= shape.experts) return;
  const DispatchMessage<kRevision, kCast> layout(shape);
  const int local_experts = shape.experts / rdma.ranks;
  const int source = group.pair / local_experts, local = group.pair % local_experts;
  const int pair = local * rdma.ranks + source, lane = group.lane;

  if (group.warp == 1 && lane == 0) {
    int flag;
    const Deadline deadline;
    while ((flag = load_acquire_sys(set.flags + pair)) == 0)
      deadline.check("low-latency dispatch, messages received", rdma.rank, local, source);
    const int count = -flag - 1;
    const int begin = take_rows(work, out.counts, local, count, rdma.ranks);
    out.segments[pair] = static_cast<long long>(count) << 32 | begin;
    count_of[group.group] = count;
    begin_of[group.group] = begin;
  }
  group.join();
  const int count = count_of[group.group], begin = begin_of[group.group];

  const int capacity = rdma.ranks * shape.tokens;
  const char* messages = set.receive + static_cast<int64_t>(pair) * shape.tokens * layout.bytes();
  for (int i = group.warp; i < count; i += group.warps) {
    const char* message = messages + static_cast<int64_t>(i) * layout.bytes();
    const int row = begin + i;
    const int64_t place = static_cast<int64_t>(local) * capacity + row;
    if (lane == 0)
      out.source[place] =
          load_payload<PayloadHint::standard>(reinterpret_cast<const int*>(message + layout.header_offset()));
    const int vectors = layout.row_bytes / 16;
    warp_copy<7, PayloadHint::standard, CopySource::payload>(
        lane, vectors, out.rows + place * vectors,
        reinterpret_cast<const int4*>(message + layout.row_offset()));
    const auto* scales = reinterpret_cast<const float*>(message + layout.scales_offset());
    for (int j = lane; j < layout.scales; j += 32)
      out.scales[(static_cast<int64_t>(local) * layout.scales + j) * capacity + row] =
          load_payload<PayloadHint::standard>(scales + j);
  }
}

}  // namespace ptxwire
