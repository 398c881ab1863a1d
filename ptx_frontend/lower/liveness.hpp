// Which virtual registers hold a value that may still be read, and where.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx_frontend/lower/adjacency.hpp"
#include "ptx_frontend/lower/control_flow.hpp"
#include "ptx_frontend/lower/virtual_code.hpp"

namespace ptxwire::ptx {

/// Half-open stretch of positions. Op i reads at position 2i and writes at 2i + 1; a value read by op i stays
/// live through 2i + 1, so that no result of an op shares a row with one of its sources.
struct LiveRange {
  uint32_t begin = 0;
  uint32_t end = 0;
};

/// Per register its ranges, disjoint and ascending; a register that is never mentioned has none.
using LiveIntervals = Adjacency<LiveRange>;

/// Exact liveness over the graph: a value is live where some path leads to a read of it without an
/// unconditional write. Liveness of one thread is what matters: lanes of a warp own their part of a row,
/// whatever other lanes do. Cost is linear in ops and in the size of the answer.
LiveIntervals compute_liveness(const VirtualCode& code, const ControlFlowGraph& graph);

/// True if `position` lies in one of the register's ranges.
bool is_live_at(const LiveIntervals& intervals, VirtualRegister reg, uint32_t position);

/// Largest number of 32-bit registers live at once: a pair counts 2, a quad 4, predicates nothing.
uint32_t peak_pressure(const VirtualCode& code, const LiveIntervals& intervals);

}  // namespace ptxwire::ptx
