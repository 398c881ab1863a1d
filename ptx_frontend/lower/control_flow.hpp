// Basic blocks of one function and the edges between them.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx_frontend/lower/adjacency.hpp"
#include "ptx_frontend/lower/virtual_code.hpp"

namespace ptxwire::ptx {

/// Ops [begin, end) that are entered at the top and left at the bottom.
struct BasicBlock {
  uint32_t begin = 0;
  uint32_t end = 0;
};

/// Vertices 0 .. blocks-1 are the blocks in source order; vertex `exit()` stands for leaving the function.
struct ControlFlowGraph {
  std::vector<BasicBlock> blocks;
  std::vector<uint32_t> block_of_op;
  VertexList successors;    ///< of blocks + 1 vertices
  VertexList predecessors;  ///< the reverse
  /// Blocks that stop the kernel (trap, __assertfail). They have no successors, but for reconvergence they
  /// count as falling through: the threads that go on would otherwise not meet before the end of the
  /// function.
  std::vector<uint32_t> stopping_blocks;

  [[nodiscard]] uint32_t exit() const { return static_cast<uint32_t>(blocks.size()); }
  [[nodiscard]] uint32_t vertex_count() const { return exit() + 1; }
};

/// `code` must end with an op that does not fall through. Time and space are linear in ops and edges.
ControlFlowGraph build_control_flow(const VirtualCode& code);

}  // namespace ptxwire::ptx
