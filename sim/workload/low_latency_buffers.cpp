// Memory of a low-latency run: what is allocated per rank, and what it holds before the first call.
#include <algorithm>
#include <span>

#include "sim/workload/device_buffers.hpp"
#include "sim/workload/low_latency.hpp"

namespace ptxwire::sim {

Expected<void> LowLatencyRun::allocate(uint32_t rank) {
  const Scenario& s = scenario_;
  LowLatencyBuffers& b = buffers_[rank];
  BufferAllocator allocate(cluster_, rank);
  const uint64_t places = local_experts() * expert_rows();
  allocate(b.work.slots, s.experts * sizeof(int32_t), "slots handed out");
  allocate(b.work.finished, s.experts * sizeof(int32_t), "finish counters");
  allocate(b.work.received, local_experts() * sizeof(int32_t), "rows taken");
  allocate(b.work.cleared, sizeof(int32_t), "cleared flags");
  allocate(b.work.grid, sizeof(int32_t), "grid barrier");
  allocate(b.rows, s.tokens * combine_row_bytes(s), "input rows");
  allocate(b.experts, uint64_t{s.tokens} * s.topk * sizeof(int64_t), "top-k experts");
  allocate(b.weights, uint64_t{s.tokens} * s.topk * sizeof(float), "top-k weights");
  allocate(b.received.rows, places * (s.row_bytes() - s.scales() * sizeof(float)), "received rows");
  allocate(b.received.scales, places * s.scales() * sizeof(float), "received scales");
  allocate(b.received.source, places * sizeof(int32_t), "received source");
  allocate(b.received.segments, uint64_t{s.experts} * sizeof(int64_t), "segments");
  allocate(b.received.counts, local_experts() * sizeof(int32_t), "rows per expert");
  allocate(b.combined, s.tokens * combine_row_bytes(s), "combined rows");
  if (s.zero_copy) {  // combine finds the rows where it would send them from
    b.summand_stride = combine_slot_bytes(s);
    b.summands = heap_->heap(rank) + layout_.halves[1].send + combine_slot_bytes(s) - combine_row_bytes(s);
  } else {
    b.summand_stride = combine_row_bytes(s);
    allocate(b.summands, places * b.summand_stride, "rows to send back");
  }
  return allocate.result();
}

Expected<void> LowLatencyRun::fill_tokens(uint32_t rank, const TestData& data) {
  const Scenario& s = scenario_;
  const LowLatencyBuffers& b = buffers_[rank];
  std::vector<float> weights;
  for (uint32_t token = 0; token < s.tokens; ++token) {
    if (keeps_token(rank, token)) {
      const std::span<uint16_t> row =
          view_values<uint16_t>(cluster_, b.rows + token * combine_row_bytes(s), s.hidden);
      if (row.size() != s.hidden) return no_view();
      data.fill_activations(rank, token, row);
    }
    for (uint32_t k = 0; k < s.topk; ++k) weights.push_back(data.gate(rank, token, k));
  }
  BufferWriter write(cluster_);
  write(b.experts, routing_.experts(rank));
  write(b.weights, weights);
  return write.result();
}

/// As many rows per local expert as there will be; a row belongs to its place, since messages may come in
/// any order.
Expected<void> LowLatencyRun::fill_summands(uint32_t rank, const TestData& data) {
  const Scenario& s = scenario_;
  if (!keeps_summands(s)) return {};
  for (uint32_t local = 0; local < local_experts(); ++local) {
    const uint32_t rows = routing_.expert_total(rank * local_experts() + local);
    for (uint32_t row = 0; row < rows; ++row) {
      const uint64_t place = local * expert_rows() + row;
      const std::span<uint16_t> values = view_values<uint16_t>(
          cluster_, buffers_[rank].summands + place * buffers_[rank].summand_stride, s.hidden);
      if (values.size() != s.hidden) return no_view();
      data.fill_summand(rank, local, row, values);
    }
  }
  return {};
}

}  // namespace ptxwire::sim
