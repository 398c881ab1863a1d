#include "sim/workload/internode_expectation.hpp"

#include <algorithm>

#include "sim/workload/handle.hpp"
#include "sim/workload/mirror.hpp"
#include "sim/workload/mismatch.hpp"

namespace ptxwire::sim {

namespace {

/// Everything that one rank received.
class Received {
 public:
  static Expected<Received> of(const InternodeCluster& host, uint32_t rank) {
    const Scenario& s = host.scenario();
    const InternodeBuffers& b = host.buffers(rank);
    const uint64_t rows = host.routing().received(rank);
    const auto scales = view_all<float>(host.cluster(), b.output_scales, rows * s.scales());
    const auto meta = view_all<int64_t>(host.cluster(), b.output_meta, rows);
    const auto idx = view_all<int64_t>(host.cluster(), b.output_idx, rows * topk_on_wire(s));
    const auto weights = view_all<float>(host.cluster(), b.output_weights, rows * topk_on_wire(s));
    if (!scales) return scales.error();
    if (!meta) return meta.error();
    if (!idx) return idx.error();
    if (!weights) return weights.error();
    return Received(host.cluster(), b.output_rows, *scales, *weights, *meta, *idx);
  }

  [[nodiscard]] std::string mismatch(const InternodeCluster& host, const TestData& data,
                                     const Place& at) const {
    const Scenario& s = host.scenario();
    const uint64_t payload = row_payload_bytes(s);
    const uint32_t scales = s.scales(), topk = topk_on_wire(s);
    const int64_t meta = row_meta(at.source / kGpusPerNode,
                                  gpus_of_node(host.routing(), at.source, at.token, at.rank / kGpusPerNode));
    if (meta_[at.row] != meta) return at.differs("meta", std::to_string(meta_[at.row]), std::to_string(meta));
    const Place sent{at.rank, at.row, rows_of(s, at.source), at.token};
    if (at.token < real_tokens(s)) {
      const std::span<const uint8_t> row = cluster_.view(rows_ + at.row * payload, payload);
      if (row.size() != payload) return at.differs("row", "none", "one");
      if (auto text = row_mismatch(data, sent, row); !text.empty()) return text;
    }
    if (auto text = scale_mismatch(data, sent, scales_.subspan(at.row * scales, scales)); !text.empty())
      return text;
    if (topk == 0) return {};
    return topk_mismatch(data, host.routing(), at, idx_.subspan(at.row * topk, topk),
                         weights_.subspan(at.row * topk, topk));
  }

 private:
  Received(Cluster& cluster, DeviceAddress rows, std::span<const float> scales,
           std::span<const float> weights, std::span<const int64_t> meta, std::span<const int64_t> idx)
      : cluster_(cluster), rows_(rows), scales_(scales), weights_(weights), meta_(meta), idx_(idx) {}

  Cluster& cluster_;
  DeviceAddress rows_;
  std::span<const float> scales_, weights_;
  std::span<const int64_t> meta_, idx_;
};

/// Tables on one rank against those computed from the routing.
class TableCheck {
 public:
  TableCheck(const InternodeCluster& host, uint32_t rank) : host_(host), rank_(rank) {}

  TableCheck& equal(const std::string& what, DeviceAddress address, const std::vector<int32_t>& expected,
                    uint32_t columns) {
    if (!text_ || !text_->empty()) return *this;
    const auto found = view_all<int32_t>(host_.cluster(), address, expected.size());
    if (found)
      text_ = table_mismatch<int32_t>(rank_, what, *found, expected, columns);
    else
      text_ = found.error();
    return *this;
  }
  [[nodiscard]] Expected<std::string> result() const { return text_; }

 private:
  const InternodeCluster& host_;
  uint32_t rank_;
  Expected<std::string> text_ = std::string{};
};

/// What the kernels know of the routing, given by the host or found out, and what they leave for a combine.
Expected<std::string> check_handle(const InternodeCluster& host, uint32_t rank) {
  const Scenario& s = host.scenario();
  const InternodeBuffers& b = host.buffers(rank);
  const Routing& routing = host.routing();
  const uint32_t nodes = node_count(s), channels = s.channels();
  return TableCheck(host, rank)
      .equal("rows received per rank", b.received_per_rank, received_per_rank(routing, rank), s.ranks)
      .equal("rows to forward per node", b.received_per_node, received_per_node(routing, rank), nodes)
      .equal("channel prefix per rank", b.rank_channel_prefix, channel_prefix(routing, rank, channels),
             channels)
      .equal("channel prefix per node", b.node_channel_prefix, node_channel_prefix(routing, rank, channels),
             channels)
      .equal("channel offsets per rank", b.rank_channel_offsets, channel_offsets(routing, rank, channels),
             channels)
      .equal("channel offsets per node", b.node_channel_offsets,
             node_channel_offsets(routing, rank, channels), channels)
      .equal("slot record", b.slot_record, node_slot_record(routing, rank, channels), nodes)
      .equal("forward record", b.forward_record, forward_record(routing, rank, channels), kGpusPerNode)
      .result();
}

/// The sum of a token's rows in the two steps in which it comes about.
class TwoStepSum {
 public:
  explicit TwoStepSum(const Scenario& s) : scenario_(s), total_(s.hidden), of_node_(s.hidden) {}

  const std::vector<float>& of(const Routing& routing, const TestData& data, uint32_t rank, uint32_t token) {
    std::fill(total_.begin(), total_.end(), 0.0F);
    for (uint32_t m = 0; m < routing.shape().ranks / kGpusPerNode; ++m) {
      if (gpus_of_node(routing, rank, token, m) == 0) continue;
      std::fill(of_node_.begin(), of_node_.end(), 0.0F);
      for (uint32_t q = m * kGpusPerNode; q < (m + 1) * kGpusPerNode; ++q) {
        if (!routing.selected(rank, token, q)) continue;
        const auto [holder, source] = simulated_summand(scenario_, {q, rank});
        data.add_summand(holder, source, token, of_node_);
      }
      for (size_t h = 0; h < total_.size(); ++h) total_[h] += from_bf16(to_bf16(of_node_[h]));
    }
    return total_;
  }

 private:
  const Scenario& scenario_;
  std::vector<float> total_, of_node_;
};

}  // namespace

Expected<std::string> check_internode_dispatch(const InternodeCluster& host, const TestData& data) {
  const Scenario& s = host.scenario();
  for (uint32_t rank = 0; rank < simulated_ranks(s); ++rank) {
    const auto received = Received::of(host, rank);
    if (!received) return received.error();
    uint64_t row = 0;
    for (uint32_t source = 0; source < s.ranks; ++source)
      for (uint32_t token = 0; token < s.tokens; ++token) {
        if (!host.routing().selected(source, token, rank)) continue;
        if (auto text = received->mismatch(host, data, {rank, row, source, token}); !text.empty())
          return text;
        ++row;
      }
    if (auto text = check_handle(host, rank); !text || !text->empty()) return text;
  }
  return std::string{};
}

Expected<std::string> check_internode_combine(const InternodeCluster& host, const TestData& data) {
  const Scenario& s = host.scenario();
  const uint64_t topk = topk_on_wire(s);
  TwoStepSum sum(s);
  for (uint32_t rank = 0; rank < simulated_ranks(s); ++rank) {
    const InternodeBuffers& b = host.buffers(rank);
    const uint32_t real = real_tokens(s);
    const auto rows = view_all<uint16_t>(host.cluster(), b.output_rows, uint64_t{real} * s.hidden);
    const auto weights = view_all<float>(host.cluster(), b.output_weights, s.tokens * topk);
    if (!rows) return rows.error();
    if (!weights) return weights.error();
    for (uint32_t token = 0; token < s.tokens; ++token) {
      const Place at{rank, token, rank, token};
      if (token < real) {
        std::string text = combined_row_mismatch(at, rows->subspan(uint64_t{token} * s.hidden, s.hidden),
                                                 sum.of(host.routing(), data, rank, token));
        if (!text.empty()) return text;
      }
      for (uint32_t k = 0; k < topk; ++k) {
        float expected = 0;  // few bits each: the order of the sums does not matter
        for (uint32_t q = 0; q < s.ranks; ++q)
          if (host.routing().selected(rank, token, q)) expected += data.summand_weight(q, rank, token, k);
        if (const float found = (*weights)[token * topk + k]; found != expected)
          return at.differs("weight " + std::to_string(k), std::to_string(found), std::to_string(expected));
      }
    }
  }
  return std::string{};
}

}  // namespace ptxwire::sim
