// Memory of an internode run: what is allocated per rank, and what it holds before the first call.
#include <span>

#include "sim/workload/device_buffers.hpp"
#include "sim/workload/handle.hpp"
#include "sim/workload/internode.hpp"

namespace ptxwire::sim {

Expected<void> InternodeCluster::allocate(uint32_t rank) {
  const Scenario& s = scenario();
  InternodeBuffers& b = buffers_[rank];
  BufferAllocator allocate(cluster(), rank);
  const uint64_t nodes = node_count(s), channels = s.channels();
  const uint64_t forwarded = static_cast<uint64_t>(sim::received_per_node(routing(), rank).back());
  allocate(b.comm, layout_.nvlink_bytes, "communication buffer");
  allocate(b.signals, kBarrierSlots * kMaxRanks * sizeof(int32_t), "barrier signals");
  allocate(b.received_per_rank, s.ranks * sizeof(int32_t), "rows received per rank");
  allocate(b.received_per_node, nodes * sizeof(int32_t), "rows to forward per node");
  allocate(b.rank_channel_offsets, s.ranks * channels * sizeof(int32_t), "channel offsets per rank");
  allocate(b.node_channel_offsets, nodes * channels * sizeof(int32_t), "channel offsets per node");
  allocate(b.slot_record, s.tokens * nodes * sizeof(int32_t), "slot record");
  allocate(b.forward_record, forwarded * kGpusPerNode * sizeof(int32_t), "forward record");
  if (!allocate.result()) return allocate.result();
  return is_dispatch(s) ? allocate_dispatch(rank) : allocate_combine(rank);
}

Expected<void> InternodeCluster::allocate_dispatch(uint32_t rank) {
  const Scenario& s = scenario();
  InternodeBuffers& b = buffers_[rank];
  BufferAllocator allocate(cluster(), rank);
  const uint64_t tokens = s.tokens, rows = routing().received(rank), payload = row_payload_bytes(s);
  const uint64_t scale_bytes = uint64_t{s.scales()} * sizeof(float), nodes = node_count(s);
  const bool full = s.notify == NotifyMode::full;
  allocate(b.rank_channel_prefix, uint64_t{s.ranks} * s.channels() * sizeof(int32_t),
           "channel prefix per rank");
  allocate(b.node_channel_prefix, nodes * s.channels() * sizeof(int32_t), "channel prefix per node");
  allocate(b.membership, tokens * s.ranks, "membership");
  allocate(b.input_rows, tokens * payload, "input rows");
  allocate(b.input_scales, tokens * scale_bytes, "input scales");
  allocate(b.output_rows, rows * payload, "received rows");
  allocate(b.output_scales, rows * scale_bytes, "received scales");
  allocate(b.output_meta, rows * sizeof(int64_t), "received meta");
  if (s.send_topk || full) allocate(b.topk_idx, tokens * s.topk * sizeof(int64_t), "top-k experts");
  if (s.send_topk) {
    allocate(b.topk_weights, tokens * s.topk * sizeof(float), "top-k weights");
    allocate(b.output_idx, rows * s.topk * sizeof(int64_t), "received experts");
    allocate(b.output_weights, rows * s.topk * sizeof(float), "received weights");
  }
  if (full) {
    allocate(b.per_rank, s.ranks * sizeof(int32_t), "tokens per rank");
    allocate(b.per_node, nodes * sizeof(int32_t), "tokens per node");
    allocate(b.per_expert, s.experts * sizeof(int32_t), "tokens per expert");
    allocate.host_mapped(b.host_total, sizeof(int32_t), "received rows, on the host");
    allocate.host_mapped(b.host_node_total, sizeof(int32_t), "rows to forward, on the host");
    allocate.host_mapped(b.host_experts, s.experts / s.ranks * sizeof(int32_t),
                         "rows per expert, on the host");
  }
  return allocate.result();
}

Expected<void> InternodeCluster::allocate_combine(uint32_t rank) {
  const Scenario& s = scenario();
  InternodeBuffers& b = buffers_[rank];
  BufferAllocator allocate(cluster(), rank);
  const uint64_t rows = routing().received(rank), payload = row_payload_bytes(s);
  allocate(b.input_rows, rows * payload, "rows to send back");
  allocate(b.input_meta, rows * sizeof(int64_t), "meta of the rows");
  allocate(b.output_rows, s.tokens * payload, "combined rows");
  if (s.send_topk) {
    allocate(b.topk_weights, rows * s.topk * sizeof(float), "weights to send back");
    allocate(b.output_weights, uint64_t{s.tokens} * s.topk * sizeof(float), "combined weights");
  }
  return allocate.result();
}

Expected<void> InternodeCluster::fill_dispatch(uint32_t rank, const TestData& data) {
  const Scenario& s = scenario();
  const InternodeBuffers& b = buffers_[rank];
  if (const auto filled =
          fill_tokens(rank, {b.input_rows, b.input_scales, b.topk_idx, b.topk_weights}, data, real_tokens(s));
      !filled)
    return filled.error();
  if (s.notify == NotifyMode::full) return {};  // the GPUs find out themselves
  BufferWriter write(cluster());
  write(b.membership, routing().membership(rank));
  write(b.rank_channel_prefix, channel_prefix(routing(), rank, s.channels()));
  write(b.node_channel_prefix, node_channel_prefix(routing(), rank, s.channels()));
  write(b.received_per_rank, received_per_rank(routing(), rank));
  write(b.received_per_node, received_per_node(routing(), rank));
  return write.result();
}

Expected<void> InternodeCluster::fill_combine(uint32_t rank, const TestData& data) {
  const Scenario& s = scenario();
  const InternodeBuffers& b = buffers_[rank];
  const uint64_t received = routing().received(rank);
  const uint32_t topk = topk_on_wire(s), node = rank / kGpusPerNode;
  const uint32_t real = real_tokens(s);
  std::vector<int64_t> meta;
  std::vector<float> weights;
  meta.reserve(received);
  for (uint32_t from = 0; from < s.ranks; ++from)
    for (uint32_t token = 0; token < s.tokens; ++token) {
      if (!routing().selected(from, token, rank)) continue;
      if (token < real) {
        const std::span<uint16_t> row = view_values<uint16_t>(
            cluster(), b.input_rows + meta.size() * s.hidden * sizeof(uint16_t), s.hidden);
        if (row.size() != s.hidden) return no_view();
        data.fill_summand(rank, from, token, row);
      }
      meta.push_back(row_meta(from / kGpusPerNode, gpus_of_node(routing(), from, token, node)));
      for (uint32_t k = 0; k < topk; ++k) weights.push_back(data.summand_weight(rank, from, token, k));
    }
  BufferWriter write(cluster());
  write(b.input_meta, meta);
  write(b.topk_weights, weights);
  write(b.received_per_rank, received_per_rank(routing(), rank));
  write(b.received_per_node, received_per_node(routing(), rank));
  write(b.rank_channel_offsets, channel_offsets(routing(), rank, s.channels()));
  write(b.node_channel_offsets, node_channel_offsets(routing(), rank, s.channels()));
  write(b.slot_record, node_slot_record(routing(), rank, s.channels()));
  write(b.forward_record, forward_record(routing(), rank, s.channels()));
  return write.result();
}

}  // namespace ptxwire::sim
