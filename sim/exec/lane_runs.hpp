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

/// What the addresses of the active lanes have in common.
struct LaneSurvey {
  uint64_t any = 0;        ///< bits that some address has
  uint64_t different = 0;  ///< bits in which some address differs from the first
  bool contiguous = false;
};

/// `lane_bytes` is the size of each lane's access.
inline LaneSurvey survey_lanes(uint32_t mask, const uint64_t* address, uint32_t lane_bytes) {
  LaneSurvey survey;
  const uint64_t first = address[std::countr_zero(mask)];
  if (mask == ~0U) {  // without a branch per lane, so that the compiler makes vectors of it
    uint64_t stray = 0;
    for (uint32_t lane = 0; lane < 32; ++lane) {
      survey.any |= address[lane];
      survey.different |= address[lane] ^ first;
      stray |= address[lane] ^ (first + uint64_t{lane} * lane_bytes);
    }
    survey.contiguous = stray == 0;
    return survey;
  }
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    survey.any |= address[std::countr_zero(m)];
    survey.different |= address[std::countr_zero(m)] ^ first;
  }
  survey.contiguous = is_contiguous(mask, address, lane_bytes);
  return survey;
}

}  // namespace ptxwire::sim
