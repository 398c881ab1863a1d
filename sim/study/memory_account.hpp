// What a run did to L2 and HBM, and which kernel took whose place in L2.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/cluster/cluster.hpp"

namespace ptxwire::sim {

/// Of one GPU, or summed over several.
struct MemoryAccount {
  uint64_t l2_lines = 0;  ///< room for as many
  uint64_t l2_read_bytes = 0, l2_read_miss_bytes = 0, l2_write_bytes = 0;
  uint64_t hbm_read_bytes = 0, hbm_write_bytes = 0;
  uint64_t hbm_row_hits = 0, hbm_row_openings = 0, hbm_turnarounds = 0;
  std::vector<L2Holding> holdings;     ///< in the order of first launches; summed peaks need not coincide
  std::vector<L2Evictions> evictions;  ///< pairs that occurred

  void add(const GpuReport& gpu);
  /// Lines of `victim` that `evictor` took the place of.
  [[nodiscard]] uint64_t evicted(const std::string& evictor, const std::string& victim) const;
};

struct RunMemory {
  MemoryAccount gpu0, all_gpus;
};
RunMemory memory_of(const RunReport& report);

}  // namespace ptxwire::sim
