#include "sim/workload/expectation.hpp"

#include <algorithm>

#include "sim/workload/handle.hpp"
#include "sim/workload/mismatch.hpp"

namespace ptxwire::sim {

namespace {

/// Everything that one rank received.
class ReceivedRows {
 public:
  static Expected<ReceivedRows> of(const IntranodeNode& node, uint32_t rank) {
    const Scenario& s = node.scenario();
    const RankBuffers& b = node.buffers(rank);
    const uint64_t rows = node.routing().received(rank);
    const uint64_t topk = s.send_topk ? s.topk : 0;
    ReceivedRows all;
    all.payload_ = row_payload_bytes(s);
    const auto bytes = view_all<uint8_t>(node.cluster(), b.output_rows, rows * all.payload_);
    const auto scales = view_all<float>(node.cluster(), b.output_scales, rows * s.scales());
    const auto source = view_all<int32_t>(node.cluster(), b.output_source, rows);
    const auto idx = view_all<int64_t>(node.cluster(), b.output_idx, rows * topk);
    const auto weights = view_all<float>(node.cluster(), b.output_weights, rows * topk);
    if (!bytes) return bytes.error();
    if (!scales) return scales.error();
    if (!source) return source.error();
    if (!idx) return idx.error();
    if (!weights) return weights.error();
    all.bytes_ = *bytes;
    all.scales_ = *scales;
    all.source_ = *source;
    all.idx_ = *idx;
    all.weights_ = *weights;
    return all;
  }

  [[nodiscard]] std::string mismatch(const IntranodeNode& node, const TestData& data, const Place& at) const {
    if (source_[at.row] != static_cast<int32_t>(at.token))
      return at.differs("source index", std::to_string(source_[at.row]), std::to_string(at.token));
    const Scenario& s = node.scenario();
    const uint32_t scales = s.scales(), topk = topk_on_wire(s);
    if (auto text = row_mismatch(data, at, bytes_.subspan(at.row * payload_, payload_)); !text.empty())
      return text;
    if (auto text = scale_mismatch(data, at, scales_.subspan(at.row * scales, scales)); !text.empty())
      return text;
    if (topk == 0) return {};
    return topk_mismatch(data, node.routing(), at, idx_.subspan(at.row * topk, topk),
                         weights_.subspan(at.row * topk, topk));
  }

 private:
  uint64_t payload_ = 0;
  std::span<const uint8_t> bytes_;
  std::span<const float> scales_, weights_;
  std::span<const int32_t> source_;
  std::span<const int64_t> idx_;
};

/// What a dispatch leaves for a combine.
Expected<std::string> check_handle(const IntranodeNode& node, uint32_t rank) {
  const Scenario& s = node.scenario();
  const RankBuffers& b = node.buffers(rank);
  const auto compare = [&](const std::string& what, DeviceAddress address,
                           const std::vector<int32_t>& expected, uint32_t columns) -> Expected<std::string> {
    const auto found = view_all<int32_t>(node.cluster(), address, expected.size());
    if (!found) return found.error();
    return table_mismatch<int32_t>(rank, what, *found, expected, columns);
  };
  auto text = compare("rank matrix", b.matrix, rank_matrix(node.routing()), s.ranks);
  if (!text || !text->empty()) return text;
  text = compare("channel prefix", b.channel_prefix, channel_prefix(node.routing(), rank, s.channels()),
                 s.channels());
  if (!text || !text->empty()) return text;
  text = compare("channel offsets", b.channel_offsets, channel_offsets(node.routing(), rank, s.channels()),
                 s.channels());
  if (!text || !text->empty()) return text;
  return compare("slot record", b.slot_record, slot_record(node.routing(), rank, s.channels()), s.ranks);
}

}  // namespace

Expected<std::string> check_dispatch(const IntranodeNode& node, const TestData& data) {
  const Scenario& s = node.scenario();
  for (uint32_t rank = 0; rank < s.ranks; ++rank) {
    const auto received = ReceivedRows::of(node, rank);
    if (!received) return received.error();
    uint64_t row = 0;
    for (uint32_t source = 0; source < s.ranks; ++source)
      for (uint32_t token = 0; token < s.tokens; ++token) {
        if (!node.routing().selected(source, token, rank)) continue;
        if (std::string text = received->mismatch(node, data, {rank, row, source, token}); !text.empty())
          return text;
        ++row;
      }
    if (auto text = check_handle(node, rank); !text || !text->empty()) return text;
  }
  return std::string{};
}

Expected<std::string> check_combine(const IntranodeNode& node, const TestData& data) {
  const Scenario& s = node.scenario();
  const uint64_t topk = s.send_topk ? s.topk : 0;
  std::vector<float> sum(s.hidden);
  for (uint32_t rank = 0; rank < s.ranks; ++rank) {
    const auto rows =
        view_all<uint16_t>(node.cluster(), node.buffers(rank).output_rows, uint64_t{s.tokens} * s.hidden);
    const auto weights = view_all<float>(node.cluster(), node.buffers(rank).output_weights, s.tokens * topk);
    if (!rows) return rows.error();
    if (!weights) return weights.error();
    for (uint32_t token = 0; token < s.tokens; ++token) {
      const Place at{rank, token, rank, token};
      std::fill(sum.begin(), sum.end(), 0.0F);
      for (uint32_t q = 0; q < s.ranks; ++q)
        if (node.routing().selected(rank, token, q)) data.add_summand(q, rank, token, sum);
      std::string text = combined_row_mismatch(at, rows->subspan(uint64_t{token} * s.hidden, s.hidden), sum);
      if (!text.empty()) return text;
      for (uint32_t k = 0; k < topk; ++k) {
        float expected = 0;
        for (uint32_t q = 0; q < s.ranks; ++q)
          if (node.routing().selected(rank, token, q)) expected += data.summand_weight(q, rank, token, k);
        if (const float found = (*weights)[token * topk + k]; found != expected)
          return at.differs("weight " + std::to_string(k), std::to_string(found), std::to_string(expected));
      }
    }
  }
  return std::string{};
}

}  // namespace ptxwire::sim
