// Divergence and reconvergence: fragments split at branches, meet at joins, leave with exits.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "sim/exec/sm.hpp"

namespace ptxwire::sim {

using ptx::Op;
using ptx::Slot;

// ------------------------------------------------------------------------------------------------ joins

Join& Sm::new_join() {
  if (free_joins_.empty()) {
    joins_.emplace_back();
    return joins_.back();
  }
  Join* join = free_joins_.back();
  free_joins_.pop_back();
  *join = {};
  return *join;
}

void Sm::set_join(Fragment& fragment, Join* join) {
  fragment.join = join;
  fragment.join_pc = join == nullptr ? ptx::kNoPc : join->pc;
}

Fragment& Sm::split(Fragment& fragment, uint32_t mask) {
  Fragment& other = new_fragment(*fragment.warp);
  other.pc = fragment.pc;
  other.mask = mask;
  other.cycle = fragment.cycle;
  other.frames = fragment.frames;
  set_join(other, fragment.join);
  fragment.mask &= ~mask;
  return other;
}

bool Sm::arrive_at_join(Fragment& fragment) {
  Join& join = *fragment.join;
  if (fragment.frames.size() != join.depth) return false;
  Fragment* merged = join.waiting;
  if (join.poll != nullptr) add_polls(*join.poll, fragment);
  if (merged == nullptr) {
    join.waiting = &fragment;
    merged = &fragment;
  } else {
    if (join.poll == nullptr && fragment.warp->cta->program->op(join.pc).in_poll_loop)
      add_polls(merged->poll, fragment);
    merged->mask |= fragment.mask;
    merged->cycle = std::max(merged->cycle, fragment.cycle);
  }
  const int64_t cycle = merged->cycle;
  if (merged->mask == join.mask) {
    if (join.poll != nullptr) merged->poll = std::move(*join.poll);
    join.poll.reset();
    set_join(*merged, join.parent);
    free_joins_.push_back(&join);
    if (merged == &fragment) return fragment.pc == fragment.join_pc && arrive_at_join(fragment);
    free_fragment(fragment);
    resume(*merged, cycle);
    return true;
  }
  if (merged == &fragment) {
    wait(fragment, Wait::reconverge, fragment.cycle);
  } else {
    free_fragment(fragment);
  }
  return true;
}

// Independent thread scheduling guarantees progress to lanes whose partners wait for them: they go on without
// the others.
void Sm::release_waiting(Join& join, int64_t cycle) {
  Fragment& fragment = *join.waiting;
  join.waiting = nullptr;
  join.spins = 0;
  join.mask &= ~fragment.mask;
  set_join(fragment, join.parent);
  resume(fragment, cycle);
}

// Lanes go away (exit, or return out of the function that holds these joins): whoever waited only for them
// goes on.
Join* Sm::leave_joins(Join* join, uint32_t mask, uint32_t min_depth, int64_t cycle) {
  while (join != nullptr && join->depth >= min_depth) {
    Join* parent = join->parent;
    join->mask &= ~mask;
    if (join->waiting != nullptr && join->waiting->mask == join->mask) {
      Fragment& fragment = *join->waiting;
      set_join(fragment, parent);
      resume(fragment, cycle);
      free_joins_.push_back(join);
    } else if (join->mask == 0) {
      free_joins_.push_back(join);
    }
    join = parent;
  }
  return join;
}

// Leaves the `executing` lanes in the fragment: the other lanes of `mask` (other callees, other tiles)
// execute the instruction again by themselves, lanes that the guard excludes go on behind it.
void Sm::split_around(Fragment& fragment, uint32_t executing, uint32_t mask) {
  if (executing != mask) schedule(split(fragment, mask & ~executing), fragment.cycle);
  if (executing == fragment.mask) return;
  Fragment& skipping = split(fragment, fragment.mask & ~executing);
  ++skipping.pc;
  schedule(skipping, fragment.cycle);
}

// All lanes of the fragment come together again at `pc`.
void Sm::join_at(Fragment& fragment, uint32_t pc) {
  const auto depth = static_cast<uint32_t>(fragment.frames.size());
  if (fragment.join != nullptr && fragment.join->pc == pc && fragment.join->depth == depth) return;
  Join& join = new_join();
  join.pc = pc;
  join.depth = depth;
  join.mask = fragment.mask;
  join.parent = fragment.join;
  set_join(fragment, &join);
}

// ------------------------------------------------------------------------------------------------ branches

void Sm::branch(Fragment& fragment, const Op& op, uint32_t taken, int64_t cycle) {
  if (op.reconvergence != ptx::kNoPc) join_at(fragment, op.reconvergence);
  Fragment& other = split(fragment, taken);
  other.pc = op.target;
  hand_over_polls(fragment, op);
  ++fragment.pc;
  if (op.target <= fragment.pc && fragment.join != nullptr && fragment.join->waiting != nullptr &&
      ++fragment.join->spins > 4096)
    release_waiting(*fragment.join, cycle);
  const int64_t arrival = fragment.cycle + (op.issue_slots == 0 ? 0 : parameters_.branch_taken_clk);
  schedule(other, arrival);
  other.cycle = arrival;
}

void Sm::branch_indexed(Fragment& fragment, const Op& op, uint32_t mask, int64_t cycle) {
  const ptx::Program& program = fragment.warp->cta->program->program();
  const std::vector<Slot>& targets = program.operand_lists[op.operand_list];
  const uint32_t* index = source32(fragment, op.src[0]);
  Op one = op;
  while (mask != 0) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(mask));
    if (index[lane] >= targets.size()) {
      stop(fragment, fmt::format("branch index {} is beyond its {} targets", index[lane], targets.size()),
           lane);
      wait(fragment, Wait::issuing, cycle);
      return;
    }
    uint32_t same = 0;
    for (uint32_t m = mask; m != 0; m &= m - 1)
      if (index[std::countr_zero(m)] == index[lane]) same |= m & (~m + 1);
    one.target = static_cast<uint32_t>(program.constants[targets[index[lane]].index].value);
    mask &= ~same;
    if (same == fragment.mask) {
      fragment.pc = one.target;
      fragment.cycle += parameters_.branch_taken_clk;
      return;
    }
    const uint32_t pc = fragment.pc;
    branch(fragment, one, same, cycle);
    if (mask != 0) fragment.pc = pc;
  }
}

// ------------------------------------------------------------------------------------------------ exits

void Sm::exit_lanes(Fragment& fragment, uint32_t mask, int64_t cycle) {
  Warp& warp = *fragment.warp;
  Cta& cta = *warp.cta;
  warp.alive &= ~mask;
  cta.threads_alive -= static_cast<uint32_t>(std::popcount(mask));
  if (warp.cluster_generation ==
      cta.cluster[0]->cluster_generation)  // threads that left are not counted at all
    cta.cluster[0]->cluster_arrived -= static_cast<uint32_t>(std::popcount(warp.cluster_arrived & mask));
  leave_joins(fragment.join, mask, 0, cycle);
  fragment.mask &= ~mask;
  if (fragment.mask == 0) {
    free_fragment(fragment);
  } else {
    ++fragment.pc;
  }
  recheck_syncs(warp, cycle);
  for (NamedBarrier& barrier : cta.barriers) {
    if (!barrier.in_use()) continue;
    count_whole_warps(barrier);
    barrier_check(cta, barrier, cycle);
  }
  cluster_barrier_check(*cta.cluster[0], cycle);
  if (warp.alive != 0) return;
  Launch::Profile& profile = cta.launch->profile_of(warp.slot());
  int64_t waited = 0;
  for (size_t i = 0; i < warp.waited.size(); ++i) {
    profile.waited[i] += warp.waited[i];
    waited += warp.waited[i];
  }
  profile.waited[static_cast<size_t>(Wait::issuing)] += std::max<int64_t>(0, cycle - warp.started - waited);
  ++profile.warps;
  profile.instructions += warp.instructions;
  cta.launch->instructions += warp.instructions;
  if (--cta.warps_alive != 0) return;
  cta.finished = true;
  for (size_t i = 0; i < ctas_.size(); ++i) {
    if (ctas_[i].get() != &cta) continue;
    retired_.push_back(std::move(ctas_[i]));
    ctas_.erase(ctas_.begin() + static_cast<std::ptrdiff_t>(i));
    break;
  }
  device_.cta_finished(cta, cycle);
}

}  // namespace ptxwire::sim
