// Dominators and post-dominators of a control-flow graph.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx_frontend/lower/control_flow.hpp"

namespace ptxwire::ptx {

inline constexpr uint32_t kNoVertex = UINT32_MAX;

/// Immediate dominator per vertex of the graph given by `successors`; kNoVertex for `root` and for vertices
/// that cannot be reached from it. (Lengauer and Tarjan, by Boost.Graph.)
std::vector<uint32_t> immediate_dominators(const VertexList& successors, uint32_t root);

/// Immediate post-dominator per vertex; `graph.exit()` where threads meet only when the function ends.
///
/// Two things differ from the bare definition: a block that stops the kernel counts as falling through, and
/// from a loop that is never left there is a virtual edge to the exit (from its last block in source order).
std::vector<uint32_t> immediate_post_dominators(const ControlFlowGraph& graph);

/// True if `dominator` is `vertex` or lies above it in the tree.
bool dominates(const std::vector<uint32_t>& tree, uint32_t dominator, uint32_t vertex);

}  // namespace ptxwire::ptx
