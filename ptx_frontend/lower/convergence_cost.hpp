// What it costs that the threads of a warp may part: the machine instructions that let them meet again, and
// the branches that a compiler replaces by predicates.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx_frontend/lower/control_flow.hpp"
#include "ptx_frontend/lower/virtual_code.hpp"

namespace ptxwire::ptx {

/// Changes Op::issue_slots where the control flow decides, and returns how many machine instructions the code
/// has beyond the slots: those that are executed once per loop or never.
///
///  - A forward branch around a few ops becomes predicates on them: it takes no slot.
///  - A forward branch on a condition that may differ between threads has BSSY before and BSYNC where the
///  paths
///    meet; for the exits of a loop that pair stands outside of the loop and is only counted.
///  - The first warp-wide op of a block that part of a warp may enter is preceded by a test (UMOV, BRA.DIV),
///  and
///    every such op has a copy out of line for warps that are not whole, which is only counted.
///
/// Regions between branch and join are taken in source order, as nvcc writes them. `post_dominators` as
/// immediate_post_dominators() gives them, `constants` those that the code's slots refer to.
uint32_t charge_convergence(VirtualCode& code, const ControlFlowGraph& graph,
                            const std::vector<uint32_t>& post_dominators,
                            const std::vector<Constant>& constants);

}  // namespace ptxwire::ptx
