// From virtual registers to rows of a warp's register file.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx_frontend/lower/liveness.hpp"
#include "ptx_frontend/lower/virtual_code.hpp"

namespace ptxwire::ptx {

/// Where each register lives and how much room the function needs. `index` is a row (or a predicate number);
/// registers without a live range have index 0 and are mentioned nowhere.
struct RegisterAllocation {
  std::vector<uint32_t> index;  ///< per virtual register
  uint32_t rows = 0;            ///< 128-byte rows in all
  uint32_t predicates = 0;
};

/// Linear scan over the real ranges: a register moves into the first row whose occupants are dead wherever it
/// lives.
///
/// Classes never share rows. Lane k of a pair lies where lanes 2k and 2k+1 of a single row would lie, so a
/// row used as both would let diverged lanes overwrite each other although each thread by itself reuses it
/// rightly. Quads come first, then pairs, then single rows, which gives each its alignment without gaps.
RegisterAllocation allocate_registers(const VirtualCode& code, const LiveIntervals& intervals);

/// The rows of the registers that are live before each of `ops`, which ascend and are the `pc` of the result.
/// Linear in the live ranges and in what is live there.
std::vector<LiveRows> rows_live_before(const VirtualCode& code, const LiveIntervals& intervals,
                                       const RegisterAllocation& allocation,
                                       const std::vector<uint32_t>& ops);

/// Writes the allocation into the slots of ops and lists.
void apply_allocation(const RegisterAllocation& allocation, VirtualCode& code);

}  // namespace ptxwire::ptx
