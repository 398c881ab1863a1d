#include "sim/workload/low_latency_expectation.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <sstream>

#include "sim/workload/device_buffers.hpp"
#include "sim/workload/low_latency_cast.hpp"

namespace ptxwire::sim {

namespace {

/// Messages of one source for one local expert, as dispatch left them.
struct Segment {
  uint32_t count = 0, begin = 0;
};
Segment segment_of(int64_t word) { return {static_cast<uint32_t>(word >> 32U), static_cast<uint32_t>(word)}; }

template <typename... Parts>
std::string text_of(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

/// What one rank received, viewed in place.
struct Received {
  std::span<const int64_t> segments;  ///< [L][R]
  std::span<const int32_t> counts, source;
  std::span<const float> scales;  ///< empty where rows are not kept
  DeviceAddress rows = 0;
  uint64_t row_bytes = 0;

  static Expected<Received> of(const LowLatencyRun& run, uint32_t rank) {
    const Scenario& s = run.scenario();
    const LowLatencyDispatchOutput& out = run.buffers(rank).received;
    const uint64_t places = run.local_experts() * run.expert_rows();
    Received r;
    r.row_bytes = s.row_bytes() - s.scales() * sizeof(float);
    r.segments = view_values<int64_t>(run.cluster(), out.segments, s.experts);
    r.counts = view_values<int32_t>(run.cluster(), out.counts, run.local_experts());
    r.source = view_values<int32_t>(run.cluster(), out.source, places);
    r.rows = out.rows;
    const uint64_t scales = keeps_received(s, rank) ? places * s.scales() : 0;
    r.scales = view_values<float>(run.cluster(), out.scales, scales);
    if (r.segments.size() != s.experts || r.counts.empty() || r.source.size() != places ||
        r.scales.size() != scales)
      return no_view();
    return r;
  }
};

/// Tokens of `source` that chose `expert`, ascending.
std::vector<int32_t> choosers(const Routing& routing, uint32_t source, uint32_t expert) {
  std::vector<int32_t> tokens;
  const std::vector<int64_t>& experts = routing.experts(source);
  for (size_t i = 0; i < experts.size(); ++i)
    if (experts[i] == expert) tokens.push_back(static_cast<int32_t>(i / routing.shape().topk));
  return tokens;
}

class DispatchCheck {
 public:
  DispatchCheck(const LowLatencyRun& run, const TestData& data, uint32_t rank, const Received& received)
      : run_(run), s_(run.scenario()), data_(data), rank_(rank), received_(received) {
    row_.resize(s_.hidden);
    cast_.resize(s_.elements == ElementType::fp8 ? s_.hidden : 0);
    scales_.resize(s_.scales());
  }

  std::string mismatch() {
    for (uint32_t local = 0; local < run_.local_experts(); ++local)
      if (std::string text = expert_mismatch(local); !text.empty())
        return text_of("rank ", rank_, ", expert ", rank_ * run_.local_experts() + local, ", ", text);
    return {};
  }

 private:
  std::string expert_mismatch(uint32_t local) {
    std::vector<std::pair<uint32_t, uint32_t>> filled;  // begin, end
    for (uint32_t source = 0; source < s_.ranks; ++source) {
      const Segment segment = segment_of(received_.segments[uint64_t{local} * s_.ranks + source]);
      if (std::string text = segment_mismatch(local, source, segment); !text.empty())
        return text_of("source ", source, ", ", text);
      if (segment.count > 0) filled.emplace_back(segment.begin, segment.begin + segment.count);
    }
    std::sort(filled.begin(), filled.end());
    uint32_t end = 0;
    for (const auto& [begin, next] : filled) {
      if (begin != end) return text_of("a segment begins at ", begin, ", expected ", end);
      end = next;
    }
    if (received_.counts[local] != static_cast<int32_t>(end))
      return text_of("count: found ", received_.counts[local], ", expected ", end);
    return {};
  }

  std::string segment_mismatch(uint32_t local, uint32_t source, const Segment& segment) {
    std::vector<int32_t> expected = choosers(run_.routing(), source, rank_ * run_.local_experts() + local);
    if (segment.count != expected.size())
      return text_of("messages: found ", segment.count, ", expected ", expected.size());
    if (segment.begin + segment.count > run_.expert_rows())
      return text_of("a segment ends at ", segment.begin + segment.count, ", beyond the ", run_.expert_rows(),
                     " rows of an expert");
    const uint64_t first = local * run_.expert_rows() + segment.begin;
    const auto found = received_.source.subspan(first, segment.count);
    std::vector<int32_t> sorted(found.begin(), found.end());
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 0; i < sorted.size(); ++i)
      if (sorted[i] != expected[i])
        return text_of("tokens in order, number ", i, ": found ", sorted[i], ", expected ", expected[i]);
    if (!keeps_received(s_, rank_)) return {};
    for (uint32_t i = 0; i < segment.count; ++i) {
      const auto token = static_cast<uint32_t>(found[i]);
      if (std::string text = row_mismatch(local, segment.begin + i, source, token); !text.empty())
        return text_of("token ", token, ", ", text);
    }
    return {};
  }

  std::string row_mismatch(uint32_t local, uint32_t row, uint32_t source, uint32_t token) {
    data_.fill_activations(source, token, row_);
    std::span<const uint8_t> expected(reinterpret_cast<const uint8_t*>(row_.data()), 2 * row_.size());
    if (s_.elements == ElementType::fp8) {
      cast_row(row_, cast_, scales_);
      expected = cast_;
    }
    const uint64_t place = local * run_.expert_rows() + row;
    const auto found = view_values<const uint8_t>(
        run_.cluster(), received_.rows + place * received_.row_bytes, received_.row_bytes);
    if (found.size() != received_.row_bytes) return "its row cannot be viewed";
    const auto differing = std::mismatch(found.begin(), found.end(), expected.begin());
    if (differing.first != found.end())
      return text_of("byte ", differing.first - found.begin(), ": found ", unsigned{*differing.first},
                     ", expected ", unsigned{*differing.second});
    for (uint64_t j = 0; j < scales_.size(); ++j) {
      const float scale = received_.scales[(local * scales_.size() + j) * run_.expert_rows() + row];
      if (std::bit_cast<uint32_t>(scale) != std::bit_cast<uint32_t>(scales_[j]))
        return text_of("scale ", j, ": found ", scale, ", expected ", scales_[j]);
    }
    return {};
  }

  const LowLatencyRun& run_;
  const Scenario& s_;
  const TestData& data_;
  uint32_t rank_;
  const Received& received_;
  std::vector<uint16_t> row_;
  std::vector<uint8_t> cast_;
  std::vector<float> scales_;
};

/// The place that dispatch gave a token of `source` with a local expert of this rank, or the room there is.
uint64_t place_of(const LowLatencyRun& run, const Received& received, uint32_t local, uint32_t source,
                  uint32_t token) {
  const Segment segment = segment_of(received.segments[uint64_t{local} * run.scenario().ranks + source]);
  for (uint32_t row = segment.begin; row < segment.begin + segment.count && row < run.expert_rows(); ++row)
    if (received.source[local * run.expert_rows() + row] == static_cast<int32_t>(token)) return row;
  return run.expert_rows();
}

}  // namespace

Expected<std::string> check_low_latency_dispatch(const LowLatencyRun& run, const TestData& data) {
  for (uint32_t rank = 0; rank < run.scenario().ranks; ++rank) {
    const auto received = Received::of(run, rank);
    if (!received) return received.error();
    if (std::string text = DispatchCheck(run, data, rank, *received).mismatch(); !text.empty()) return text;
  }
  return std::string{};
}

Expected<std::string> check_low_latency_combine(const LowLatencyRun& run, const TestData& data) {
  const Scenario& s = run.scenario();
  std::vector<Received> received;
  for (uint32_t rank = 0; rank < s.ranks; ++rank) {
    const auto one = Received::of(run, rank);
    if (!one) return one.error();
    received.push_back(*one);
  }
  if (!keeps_summands(s)) return std::string{};
  std::vector<uint16_t> summand(s.hidden);
  std::vector<float> sum(s.hidden);
  for (uint32_t rank = 0; rank < s.ranks; ++rank) {
    const uint64_t values = uint64_t{s.tokens} * s.hidden;
    const auto rows = view_values<const uint16_t>(run.cluster(), run.buffers(rank).combined, values);
    if (rows.size() != values) return no_view();
    for (uint32_t token = 0; token < s.tokens; ++token) {
      std::fill(sum.begin(), sum.end(), 0.0F);
      for (uint32_t k = 0; k < s.topk; ++k) {
        const int64_t expert = run.routing().experts(rank)[uint64_t{token} * s.topk + k];
        if (expert < 0) continue;
        const auto owner = static_cast<uint32_t>(expert) / run.local_experts();
        const auto local = static_cast<uint32_t>(expert) % run.local_experts();
        const uint64_t row = place_of(run, received[owner], local, rank, token);
        if (row == run.expert_rows())
          return text_of("rank ", owner, ", expert ", expert, ": no row of token ", token, " of rank ", rank);
        data.fill_summand(owner, local, static_cast<uint32_t>(row), summand);
        const float weight = data.gate(rank, token, k);
        for (uint32_t h = 0; h < s.hidden; ++h) sum[h] = std::fma(weight, from_bf16(summand[h]), sum[h]);
      }
      for (uint32_t h = 0; h < s.hidden; ++h)
        if (const uint16_t found = rows[uint64_t{token} * s.hidden + h]; found != to_bf16(sum[h]))
          return text_of("rank ", rank, ", token ", token, ", element ", h, ": found ", from_bf16(found),
                         ", expected ", from_bf16(to_bf16(sum[h])));
    }
  }
  return std::string{};
}

}  // namespace ptxwire::sim
