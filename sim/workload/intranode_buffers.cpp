// Memory of an intranode run: what is allocated per rank, and what it holds before the first call.
#include <algorithm>
#include <span>

#include "sim/workload/device_buffers.hpp"
#include "sim/workload/handle.hpp"
#include "sim/workload/intranode.hpp"

namespace ptxwire::sim {

Expected<void> IntranodeNode::allocate(uint32_t rank) {
  const Scenario& s = scenario();
  RankBuffers& b = buffers_[rank];
  BufferAllocator allocate(cluster(), rank);
  const uint64_t ring_table = uint64_t{s.ranks} * s.channels() * sizeof(int32_t);
  allocate(b.comm, layout_.bytes, "communication buffer");
  allocate(b.signals, kBarrierSlots * kMaxRanks * sizeof(int32_t), "barrier signals");
  allocate(b.matrix, uint64_t{s.ranks} * s.ranks * sizeof(int32_t), "rank matrix");
  allocate(b.channel_offsets, ring_table, "channel offsets");
  allocate(b.slot_record, uint64_t{s.tokens} * s.ranks * sizeof(int32_t), "slot record");
  if (!allocate.result()) return allocate.result();
  return is_dispatch(s) ? allocate_dispatch(rank) : allocate_combine(rank);
}

Expected<void> IntranodeNode::allocate_dispatch(uint32_t rank) {
  const Scenario& s = scenario();
  RankBuffers& b = buffers_[rank];
  BufferAllocator allocate(cluster(), rank);
  const uint64_t tokens = s.tokens, rows = routing().received(rank), payload = row_payload_bytes(s);
  const uint64_t scale_bytes = uint64_t{s.scales()} * sizeof(float);
  const bool full = s.notify == NotifyMode::full;
  allocate(b.channel_prefix, uint64_t{s.ranks} * s.channels() * sizeof(int32_t), "channel prefix");
  allocate(b.membership, tokens * s.ranks, "membership");
  allocate(b.input_rows, tokens * payload, "input rows");
  allocate(b.input_scales, tokens * scale_bytes, "input scales");
  allocate(b.output_rows, rows * payload, "received rows");
  allocate(b.output_scales, rows * scale_bytes, "received scales");
  allocate(b.output_source, rows * sizeof(int32_t), "received source");
  if (s.send_topk || full) allocate(b.topk_idx, tokens * s.topk * sizeof(int64_t), "top-k experts");
  if (s.send_topk) {
    allocate(b.topk_weights, tokens * s.topk * sizeof(float), "top-k weights");
    allocate(b.output_idx, rows * s.topk * sizeof(int64_t), "received experts");
    allocate(b.output_weights, rows * s.topk * sizeof(float), "received weights");
  }
  if (full) {
    allocate(b.per_rank, s.ranks * sizeof(int32_t), "tokens per rank");
    allocate(b.per_expert, s.experts * sizeof(int32_t), "tokens per expert");
    allocate.host_mapped(b.host_total, sizeof(int32_t), "received rows, on the host");
    allocate.host_mapped(b.host_experts, s.experts / s.ranks * sizeof(int32_t),
                         "rows per expert, on the host");
  }
  return allocate.result();
}

Expected<void> IntranodeNode::allocate_combine(uint32_t rank) {
  const Scenario& s = scenario();
  RankBuffers& b = buffers_[rank];
  BufferAllocator allocate(cluster(), rank);
  const uint64_t rows = routing().received(rank), payload = row_payload_bytes(s);
  allocate(b.input_rows, rows * payload, "rows to send back");
  allocate(b.input_source, rows * sizeof(int32_t), "source of the rows");
  allocate(b.output_rows, s.tokens * payload, "combined rows");
  if (s.send_topk) {
    allocate(b.topk_weights, rows * s.topk * sizeof(float), "weights to send back");
    allocate(b.output_weights, uint64_t{s.tokens} * s.topk * sizeof(float), "combined weights");
  }
  return allocate.result();
}

Expected<void> IntranodeNode::fill_dispatch(uint32_t rank, const TestData& data) {
  const Scenario& s = scenario();
  const RankBuffers& b = buffers_[rank];
  if (const auto filled =
          fill_tokens(rank, {b.input_rows, b.input_scales, b.topk_idx, b.topk_weights}, data, s.tokens);
      !filled)
    return filled.error();
  if (s.notify == NotifyMode::full) return {};  // the GPUs find out themselves
  BufferWriter write(cluster());
  write(b.membership, routing().membership(rank));
  write(b.matrix, rank_matrix(routing()));
  write(b.channel_prefix, channel_prefix(routing(), rank, s.channels()));
  return write.result();
}

Expected<void> IntranodeNode::fill_combine(uint32_t rank, const TestData& data) {
  const Scenario& s = scenario();
  const RankBuffers& b = buffers_[rank];
  const uint64_t received = routing().received(rank);
  const uint32_t topk = topk_on_wire(s);
  const std::span<uint16_t> rows = view_values<uint16_t>(cluster(), b.input_rows, received * s.hidden);
  if (rows.size() != received * s.hidden) return no_view();
  std::vector<int32_t> source;
  std::vector<float> weights;
  source.reserve(received);
  for (uint32_t from = 0; from < s.ranks; ++from)
    for (uint32_t token = 0; token < s.tokens; ++token) {
      if (!routing().selected(from, token, rank)) continue;
      data.fill_summand(rank, from, token, rows.subspan(source.size() * s.hidden, s.hidden));
      source.push_back(static_cast<int32_t>(token));
      for (uint32_t k = 0; k < topk; ++k) weights.push_back(data.summand_weight(rank, from, token, k));
    }
  BufferWriter write(cluster());
  write(b.input_source, source);
  write(b.topk_weights, weights);
  write(b.matrix, rank_matrix(routing()));
  write(b.channel_offsets, channel_offsets(routing(), rank, s.channels()));
  write(b.slot_record, slot_record(routing(), rank, s.channels()));
  return write.result();
}

}  // namespace ptxwire::sim
