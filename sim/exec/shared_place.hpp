// From an address to bytes of shared memory: of the executing CTA or of another one of its cluster.
#pragma once

#include <cstdint>

#include "sim/exec/warp.hpp"
#include "sim/memory/address_map.hpp"

namespace ptxwire::sim {

struct SharedPlace {
  Cta* cta = nullptr;  ///< null: the bytes are not all in shared memory
  uint32_t offset = 0;
};

/// Where `bytes` at `address` lie, which is generic or an offset in .shared of `own` (with the CTA rank that
/// mapa puts in front).
inline SharedPlace shared_place(Cta& own, uint64_t address, uint64_t bytes) {
  if (address >= kWindowBytes) {
    if (window_of(address) != Window::shared) return {};
    address &= kWindowBytes - 1;
  }
  const uint64_t rank = address >> kSharedRankShift;
  const auto offset = static_cast<uint32_t>(address & ((1U << kSharedRankShift) - 1));
  if (rank > own.cluster.size()) return {};
  Cta& owner = rank == 0 ? own : *own.cluster[rank - 1];
  if (offset + bytes > owner.shared.size()) return {};
  return {&owner, offset};
}

}  // namespace ptxwire::sim
