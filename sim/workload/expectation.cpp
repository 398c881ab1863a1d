#include "sim/workload/expectation.hpp"

#include <algorithm>
#include <bit>
#include <sstream>

#include "sim/workload/handle.hpp"

namespace ptxwire::sim {

namespace {

/// A whole buffer of `count` values.
template <typename T>
Expected<std::span<const T>> view_values(const IntranodeNode& node, DeviceAddress address, uint64_t count) {
  const std::span<uint8_t> bytes = node.cluster().view(address, count * sizeof(T));
  if (bytes.size() != count * sizeof(T))
    return Error{.message = "device memory cannot be viewed", .path = {}, .hint = {}};
  return std::span<const T>(reinterpret_cast<const T*>(bytes.data()), count);
}

std::string hex(uint64_t value) {
  std::ostringstream text;
  text << "0x" << std::hex << value;
  return text.str();
}

/// "received scales" of row 17 on rank 3 and the like; built only when something is wrong.
struct Place {
  uint32_t rank;
  uint64_t row;
  uint32_t source, token;
  [[nodiscard]] std::string differs(const std::string& what, const std::string& found,
                                    const std::string& expected) const {
    std::ostringstream text;
    text << "rank " << rank << ", row " << row << " (token " << token << " of rank " << source << "), "
         << what << ": found " << found << ", expected " << expected;
    return text.str();
  }
};

template <typename T>
std::string table_mismatch(uint32_t rank, const std::string& what, std::span<const T> found,
                           const std::vector<T>& expected, uint32_t columns) {
  for (size_t i = 0; i < expected.size(); ++i)
    if (found[i] != expected[i]) {
      std::ostringstream text;
      text << "rank " << rank << ", " << what << " [" << i / columns << "][" << i % columns << "]: found "
           << found[i] << ", expected " << expected[i];
      return text.str();
    }
  return {};
}

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
    const auto bytes = view_values<uint8_t>(node, b.output_rows, rows * all.payload_);
    const auto scales = view_values<float>(node, b.output_scales, rows * s.scales());
    const auto source = view_values<int32_t>(node, b.output_source, rows);
    const auto idx = view_values<int64_t>(node, b.output_idx, rows * topk);
    const auto weights = view_values<float>(node, b.output_weights, rows * topk);
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
    const std::span<const uint8_t> row = bytes_.subspan(at.row * payload_, payload_);
    if (const size_t byte = data.first_difference(at.source, at.token, row); byte != row.size())
      return at.differs("byte " + std::to_string(byte), hex(row[byte]),
                        hex(data.row_byte(at.source, at.token, byte)));
    const uint32_t scales = node.scenario().scales();
    for (uint32_t i = 0; i < scales; ++i) {
      const float found = scales_[at.row * scales + i], expected = data.scale(at.source, at.token, i);
      if (std::bit_cast<uint32_t>(found) != std::bit_cast<uint32_t>(expected))
        return at.differs("scale " + std::to_string(i), std::to_string(found), std::to_string(expected));
    }
    return node.scenario().send_topk ? topk_mismatch(node, data, at) : std::string{};
  }

 private:
  [[nodiscard]] std::string topk_mismatch(const IntranodeNode& node, const TestData& data,
                                          const Place& at) const {
    const Scenario& s = node.scenario();
    const int64_t local = s.experts / s.ranks, first = at.rank * local;
    for (uint32_t k = 0; k < s.topk; ++k) {
      const int64_t expert = node.routing().experts(at.source)[uint64_t{at.token} * s.topk + k];
      const bool here = expert >= first && expert < first + local;
      const int64_t expected = here ? expert - first : -1;
      const float weight = here ? data.weight(at.source, at.token, k) : 0.0F;
      const uint64_t i = at.row * s.topk + k;
      if (idx_[i] != expected)
        return at.differs("expert " + std::to_string(k), std::to_string(idx_[i]), std::to_string(expected));
      if (weights_[i] != weight)
        return at.differs("weight " + std::to_string(k), std::to_string(weights_[i]), std::to_string(weight));
    }
    return {};
  }

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
    const auto found = view_values<int32_t>(node, address, expected.size());
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

std::string combined_row_mismatch(std::span<const uint16_t> found, std::span<const float> sum,
                                  const Place& at) {
  for (size_t h = 0; h < sum.size(); ++h)
    if (const uint16_t expected = to_bf16(sum[h]); found[h] != expected)
      return at.differs("element " + std::to_string(h), std::to_string(from_bf16(found[h])),
                        std::to_string(from_bf16(expected)));
  return {};
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
        view_values<uint16_t>(node, node.buffers(rank).output_rows, uint64_t{s.tokens} * s.hidden);
    const auto weights = view_values<float>(node, node.buffers(rank).output_weights, s.tokens * topk);
    if (!rows) return rows.error();
    if (!weights) return weights.error();
    for (uint32_t token = 0; token < s.tokens; ++token) {
      const Place at{rank, token, rank, token};
      std::fill(sum.begin(), sum.end(), 0.0F);
      for (uint32_t q = 0; q < s.ranks; ++q)
        if (node.routing().selected(rank, token, q)) data.add_summand(q, rank, token, sum);
      std::string text = combined_row_mismatch(rows->subspan(uint64_t{token} * s.hidden, s.hidden), sum, at);
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
