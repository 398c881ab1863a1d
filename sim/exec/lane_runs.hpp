// Whether the lanes of an access, and their bytes, follow each other without a gap.
#pragma once

#include <bit>
#include <cstdint>

namespace ptxwire::sim {

inline bool is_run(uint32_t mask) {
  const uint32_t low = mask >> std::countr_zero(mask);
  return (low & (low + 1)) == 0;
}

/// The active lanes are neighbours and so are their bytes, in order.
inline bool is_contiguous(uint32_t mask, const uint64_t* address, uint32_t lane_bytes) {
  if (!is_run(mask)) return false;
  const auto first = static_cast<uint32_t>(std::countr_zero(mask));
  const auto lanes = static_cast<uint32_t>(std::popcount(mask));
  uint64_t different = 0;
  for (uint32_t lane = 1; lane < lanes; ++lane)
    different |= address[first + lane] ^ (address[first] + uint64_t{lane} * lane_bytes);
  return different == 0;
}

}  // namespace ptxwire::sim
