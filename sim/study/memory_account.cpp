#include "sim/study/memory_account.hpp"

#include <algorithm>

namespace ptxwire::sim {

void MemoryAccount::add(const GpuReport& gpu) {
  l2_lines += gpu.l2_lines;
  l2_read_bytes += gpu.l2_read_bytes;
  l2_read_miss_bytes += gpu.l2_read_miss_bytes;
  l2_write_bytes += gpu.l2_write_bytes;
  hbm_read_bytes += gpu.hbm_read_bytes;
  hbm_write_bytes += gpu.hbm_write_bytes;
  hbm_row_hits += gpu.hbm_row_hits;
  hbm_row_openings += gpu.hbm_row_openings;
  hbm_turnarounds += gpu.hbm_turnarounds;
  for (const L2Holding& holding : gpu.l2_holdings) {
    const auto known = std::find_if(holdings.begin(), holdings.end(),
                                    [&](const L2Holding& other) { return other.kernel == holding.kernel; });
    if (known == holdings.end()) {
      holdings.push_back(holding);
    } else {
      known->lines += holding.lines;
      known->peak_lines += holding.peak_lines;
    }
  }
  for (const L2Evictions& pair : gpu.l2_evictions) {
    const auto known = std::find_if(evictions.begin(), evictions.end(), [&](const L2Evictions& other) {
      return other.evictor == pair.evictor && other.victim == pair.victim;
    });
    if (known == evictions.end())
      evictions.push_back(pair);
    else
      known->lines += pair.lines;
  }
}

uint64_t MemoryAccount::evicted(const std::string& evictor, const std::string& victim) const {
  for (const L2Evictions& pair : evictions)
    if (pair.evictor == evictor && pair.victim == victim) return pair.lines;
  return 0;
}

RunMemory memory_of(const RunReport& report) {
  RunMemory memory;
  for (const GpuReport& gpu : report.gpus) memory.all_gpus.add(gpu);
  if (!report.gpus.empty()) memory.gpu0.add(report.gpus.front());
  return memory;
}

}  // namespace ptxwire::sim
