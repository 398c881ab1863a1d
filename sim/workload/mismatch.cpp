#include "sim/workload/mismatch.hpp"

#include <bit>

namespace ptxwire::sim {

namespace {

std::string hex(uint64_t value) {
  std::ostringstream text;
  text << "0x" << std::hex << value;
  return text.str();
}

}  // namespace

std::string Place::differs(const std::string& what, const std::string& found,
                           const std::string& expected) const {
  std::ostringstream text;
  text << "rank " << rank << ", row " << row << " (token " << token << " of rank " << source << "), " << what
       << ": found " << found << ", expected " << expected;
  return text.str();
}

std::string row_mismatch(const TestData& data, const Place& at, std::span<const uint8_t> row) {
  const size_t byte = data.first_difference(at.source, at.token, row);
  if (byte == row.size()) return {};
  return at.differs("byte " + std::to_string(byte), hex(row[byte]),
                    hex(data.row_byte(at.source, at.token, byte)));
}

std::string scale_mismatch(const TestData& data, const Place& at, std::span<const float> scales) {
  for (size_t i = 0; i < scales.size(); ++i) {
    const float expected = data.scale(at.source, at.token, static_cast<uint32_t>(i));
    if (std::bit_cast<uint32_t>(scales[i]) != std::bit_cast<uint32_t>(expected))
      return at.differs("scale " + std::to_string(i), std::to_string(scales[i]), std::to_string(expected));
  }
  return {};
}

std::string topk_mismatch(const TestData& data, const Routing& routing, const Place& at,
                          std::span<const int64_t> experts, std::span<const float> weights) {
  const RoutingShape& shape = routing.shape();
  const int64_t local = shape.experts / shape.ranks, first = at.rank * local;
  for (uint32_t k = 0; k < shape.topk; ++k) {
    const int64_t expert = routing.experts(at.source)[uint64_t{at.token} * shape.topk + k];
    const bool here = expert >= first && expert < first + local;
    const int64_t expected = here ? expert - first : -1;
    const float weight = here ? data.weight(at.source, at.token, k) : 0.0F;
    if (experts[k] != expected)
      return at.differs("expert " + std::to_string(k), std::to_string(experts[k]), std::to_string(expected));
    if (weights[k] != weight)
      return at.differs("weight " + std::to_string(k), std::to_string(weights[k]), std::to_string(weight));
  }
  return {};
}

std::string combined_row_mismatch(const Place& at, std::span<const uint16_t> row,
                                  std::span<const float> sum) {
  for (size_t h = 0; h < sum.size(); ++h)
    if (const uint16_t expected = to_bf16(sum[h]); row[h] != expected)
      return at.differs("element " + std::to_string(h), std::to_string(from_bf16(row[h])),
                        std::to_string(from_bf16(expected)));
  return {};
}

}  // namespace ptxwire::sim
