// Finds the loops that only wait: the executor may park a warp in them instead of running every turn.
#pragma once

#include <vector>

#include "ptx_frontend/lower/control_flow.hpp"
#include "ptx_frontend/lower/dominators.hpp"
#include "ptx_frontend/lower/liveness.hpp"
#include "ptx_frontend/lower/register_allocation.hpp"
#include "ptx_frontend/lower/virtual_code.hpp"

namespace ptxwire::ptx {

/// Innermost natural loops with one back edge and at most 64 ops, all of them loads, integer or predicate
/// arithmetic, moves, special registers, warp votes and exchanges, mbarrier tests, sleeps and branches, at
/// least one of them a load, an mbarrier test or a clock read. Code that leaves for good (a time-out that
/// prints and traps) is not part of a natural loop. Positions are local to the function; `state` has the
/// slots of `allocation`.
///
/// State is what the loop carries from one turn to the next. A register whose every write in the loop derives
/// from a clock does not belong to it.
std::vector<PollLoop> find_poll_loops(const VirtualCode& code, const ControlFlowGraph& graph,
                                      const DominatorOrder& dominators, const LiveIntervals& intervals,
                                      const RegisterAllocation& allocation);

}  // namespace ptxwire::ptx
