// Where the threads that part at a branch come together again.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx_frontend/lower/control_flow.hpp"
#include "ptx_frontend/lower/dominators.hpp"

namespace ptxwire::ptx {

/// The immediate post-dominator, except where a thread may go round a loop on its way there: of a loop that
/// spins for a lock, takes it, works and leaves, the only way out is the work, which therefore post-dominates
/// the test. Threads that have the lock must not wait there for those that spin. They meet behind the loop.
class MeetingPoints {
 public:
  /// All must outlive this.
  MeetingPoints(const ControlFlowGraph& graph, const DominatorOrder& dominators,
                const std::vector<uint32_t>& post_dominators);

  /// Of a branch at the end of `block`: a block, graph.exit() or kNoVertex. Linear in what lies between.
  uint32_t of(uint32_t block);

 private:
  static constexpr uint32_t kNoLoop = UINT32_MAX;
  struct Loop {
    uint32_t header = 0;
    uint32_t parent = kNoLoop;
    std::vector<uint32_t> body;
  };

  [[nodiscard]] bool is_back_edge(uint32_t from, uint32_t to) const {
    return dominators_.dominates(to, from);
  }
  void find_loops();
  void nest_loops();
  [[nodiscard]] bool in_loop(uint32_t header, uint32_t block) const;
  bool missed_by_a_turn(uint32_t block, uint32_t meeting);

  const ControlFlowGraph& graph_;
  const DominatorOrder& dominators_;
  const std::vector<uint32_t>& post_dominators_;
  std::vector<Loop> loops_;
  std::vector<uint32_t> innermost_;  ///< loop of each vertex
  std::vector<uint32_t> seen_in_;    ///< number of the latest walk that came by
  uint32_t walks_ = 0;
};

}  // namespace ptxwire::ptx
