#include "ptx_frontend/lower/meeting_points.hpp"

#include <algorithm>
#include <map>

namespace ptxwire::ptx {

MeetingPoints::MeetingPoints(const ControlFlowGraph& graph, const DominatorOrder& dominators,
                             const std::vector<uint32_t>& post_dominators)
    : graph_(graph),
      dominators_(dominators),
      post_dominators_(post_dominators),
      innermost_(graph.vertex_count(), kNoLoop),
      seen_in_(graph.vertex_count(), 0) {
  find_loops();
  nest_loops();
}

// Natural loops, those of one header together.
void MeetingPoints::find_loops() {
  std::map<uint32_t, std::vector<uint32_t>> latches;
  for (uint32_t from = 0; from < graph_.blocks.size(); ++from)
    for (const uint32_t to : graph_.successors.of(from))
      if (is_back_edge(from, to)) latches[to].push_back(from);
  for (auto& [header, work] : latches) {
    Loop loop{.header = header, .body = {header}};
    ++walks_;
    seen_in_[header] = walks_;
    while (!work.empty()) {
      const uint32_t block = work.back();
      work.pop_back();
      if (seen_in_[block] == walks_) continue;
      seen_in_[block] = walks_;
      loop.body.push_back(block);
      for (const uint32_t from : graph_.predecessors.of(block))
        if (dominators_.is_reachable(from)) work.push_back(from);
    }
    loops_.push_back(std::move(loop));
  }
}

// A smaller loop that shares a block with a larger one lies in it: headers differ.
void MeetingPoints::nest_loops() {
  std::stable_sort(loops_.begin(), loops_.end(),
                   [](const Loop& a, const Loop& b) { return a.body.size() < b.body.size(); });
  for (uint32_t l = 0; l < loops_.size(); ++l) {
    for (const uint32_t block : loops_[l].body) {
      uint32_t inner = innermost_[block];
      if (inner == kNoLoop) {
        innermost_[block] = l;
        continue;
      }
      while (inner != l && loops_[inner].parent != kNoLoop) inner = loops_[inner].parent;
      if (inner != l) loops_[inner].parent = l;
    }
    loops_[l].body = {};
  }
}

bool MeetingPoints::in_loop(uint32_t header, uint32_t block) const {
  for (uint32_t l = innermost_[block]; l != kNoLoop; l = loops_[l].parent)
    if (loops_[l].header == header) return true;
  return false;
}

/// Whether some way from the branch takes the back edge of a loop that holds both, before it comes to
/// `meeting`.
bool MeetingPoints::missed_by_a_turn(uint32_t block, uint32_t meeting) {
  if (innermost_[meeting] == kNoLoop || innermost_[block] == kNoLoop) return false;
  ++walks_;
  std::vector<uint32_t> work = {block};
  while (!work.empty()) {
    const uint32_t from = work.back();
    work.pop_back();
    for (const uint32_t to : graph_.successors.of(from)) {
      if (to == meeting) continue;
      if (is_back_edge(from, to) && in_loop(to, meeting) && in_loop(to, block)) return true;
      if (seen_in_[to] == walks_) continue;
      seen_in_[to] = walks_;
      work.push_back(to);
    }
  }
  return false;
}

uint32_t MeetingPoints::of(uint32_t block) {
  uint32_t meeting = post_dominators_[block];
  while (meeting != graph_.exit() && meeting != kNoVertex && missed_by_a_turn(block, meeting))
    meeting = post_dominators_[meeting];
  return meeting;
}

}  // namespace ptxwire::ptx
