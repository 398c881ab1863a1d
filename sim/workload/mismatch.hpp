// Comparing what lies in device memory with what the routing and the data functions say; text is only made
// where something is wrong.
#pragma once

#include <cstdint>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/workload/routing.hpp"
#include "sim/workload/scenario.hpp"
#include "sim/workload/test_data.hpp"

namespace ptxwire::sim {

/// A whole buffer of `count` values.
template <typename T>
Expected<std::span<const T>> view_all(Cluster& cluster, DeviceAddress address, uint64_t count) {
  const std::span<uint8_t> bytes = cluster.view(address, count * sizeof(T));
  if (bytes.size() != count * sizeof(T))
    return Error{.message = "device memory cannot be viewed", .path = {}, .hint = {}};
  return std::span<const T>(reinterpret_cast<const T*>(bytes.data()), count);
}

/// Row `row` of what a rank has, which token `token` of rank `source` is.
struct Place {
  uint32_t rank = 0;
  uint64_t row = 0;
  uint32_t source = 0, token = 0;
  /// "rank 3, row 17 (token 5 of rank 1), scale 2: found 1, expected 0".
  [[nodiscard]] std::string differs(const std::string& what, const std::string& found,
                                    const std::string& expected) const;
};

// Each empty if everything is as expected, else the first mismatch in words.

std::string row_mismatch(const TestData& data, const Place& at, std::span<const uint8_t> row);
std::string scale_mismatch(const TestData& data, const Place& at, std::span<const float> scales);
/// Experts of the rank by their number there, others -1 with weight 0.
std::string topk_mismatch(const TestData& data, const Routing& routing, const Place& at,
                          std::span<const int64_t> experts, std::span<const float> weights);
/// `sum` rounded to BF16.
std::string combined_row_mismatch(const Place& at, std::span<const uint16_t> row, std::span<const float> sum);

/// A table of `columns` columns.
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

}  // namespace ptxwire::sim
