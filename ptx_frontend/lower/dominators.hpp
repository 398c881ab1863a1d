// Dominators and post-dominators of a control-flow graph.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx_frontend/lower/control_flow.hpp"

namespace ptxwire::ptx {

inline constexpr uint32_t kNoVertex = UINT32_MAX;

/// Immediate dominator per vertex of the graph given by `successors`; kNoVertex for `root` and for vertices
/// that cannot be reached from it.
///
/// The semi-NCA algorithm (Georgiadis, "Linear-Time Algorithms for Dominators and Related Problems", 2005).
/// Boost.Graph has Lengauer-Tarjan, but recurses as deep as the graph: a long function overflows the stack.
/// Tests compare the two.
std::vector<uint32_t> immediate_dominators(const VertexList& successors, uint32_t root);

/// Immediate post-dominator per vertex; `graph.exit()` where threads meet only when the function ends.
///
/// Two things differ from the bare definition: a block that stops the kernel counts as falling through, and
/// from a loop that is never left there is a virtual edge to the exit (from its last block in source order).
std::vector<uint32_t> immediate_post_dominators(const ControlFlowGraph& graph);

/// Answers ancestor questions about a tree of immediate dominators in constant time.
class DominatorOrder {
 public:
  DominatorOrder(const std::vector<uint32_t>& tree, uint32_t root);

  [[nodiscard]] bool is_reachable(uint32_t vertex) const { return leave_[vertex] != 0; }
  /// True if both are reachable and `above` is `below` or one of its dominators.
  [[nodiscard]] bool dominates(uint32_t above, uint32_t below) const {
    return is_reachable(above) && is_reachable(below) && enter_[above] <= enter_[below] &&
           leave_[below] <= leave_[above];
  }

 private:
  std::vector<uint32_t> enter_, leave_;  // times of a walk through the tree; 0: never visited
};

}  // namespace ptxwire::ptx
