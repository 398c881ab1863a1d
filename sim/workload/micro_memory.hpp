// What is in a microbenchmark's buffers, and the checksums that follow from it: functions of the scenario
// alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/workload/scenario.hpp"

namespace ptxwire::sim {

/// A buffer with its numbers.
struct MicroMemory {
  struct Content {
    MicroContent::Fill fill = MicroContent::Fill::zero;
    uint64_t stride = 0;  ///< bytes
    uint64_t period = 0;  ///< words
    uint32_t value = 0;
    uint64_t seed = 0;
    uint64_t rows = 0, columns = 0, depth = 0;  ///< bf16_product, of `left` and `right`
    std::string left, right;
  };
  std::string name;
  uint32_t gpu = 0;
  uint64_t bytes = 0;
  Content content;
  bool is_checked = false;  ///< against `after`
  Content after;
  bool in_heap = false;
  bool samples = false;
  uint64_t seed = 1;

  /// Word w of a content other than a ring or a product.
  [[nodiscard]] static uint32_t word(const Content& content, uint64_t w);
  /// Node that follows each node of the ring: one cycle through all of them, drawn from `seed`.
  [[nodiscard]] std::vector<uint32_t> ring() const;
};

/// All buffers of the scenario, which is valid.
Expected<std::vector<MicroMemory>> micro_memory(const Scenario& scenario);

/// All words that a checked buffer must hold after the run, if they are a product.
std::vector<uint32_t> product_words(const MicroMemory& buffer, const std::vector<MicroMemory>& memory);

/// The sum of all checksums as [checksum] states it, modulo 2^32.
Expected<uint32_t> micro_checksum(const Scenario& scenario, const std::vector<MicroMemory>& memory);

}  // namespace ptxwire::sim
