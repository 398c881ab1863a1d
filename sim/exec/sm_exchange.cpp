// Instructions with a member mask: lanes exchange values or wait for each other inside a warp.
#include <algorithm>
#include <bit>
#include <vector>

#include "sim/exec/sm.hpp"

namespace ptxwire::sim {

using ptx::Op;
using ptx::Opcode;
using ptx::Slot;

namespace {

const Slot& member_mask_slot(const Op& op) {
  switch (op.opcode) {
    case Opcode::shfl:
      return op.src[3];
    case Opcode::elect:
    case Opcode::bar_warp_sync:
      return op.src[0];
    default:
      return op.src[1];
  }
}

}  // namespace

// Executes once all named lanes are there; those that come early wait, and go on as one fragment if they can.
bool Sm::warp_exchange(Fragment& fragment, const ExecOp& exec, const Op& op, uint32_t mask, int64_t cycle) {
  Warp& warp = *fragment.warp;
  const Slot& slot = member_mask_slot(op);
  uint32_t member = mask;
  uint32_t same = mask;  // lanes that name the same members as the first
  uint32_t complete = mask;
  if (slot.present() && op.opcode != Opcode::activemask) {
    member = static_cast<uint32_t>(uniform_source(fragment, slot, mask));
    for (uint32_t m = mask; m != 0; m &= m - 1) {
      const auto named = static_cast<uint32_t>(uniform_source(fragment, slot, m));
      if (named != member) same &= ~(m & (~m + 1));
      if ((named & warp.alive & ~mask) != 0) complete &= ~(m & (~m + 1));
    }
  }
  if (complete != mask && same != mask) {
    // Groups of lanes (tiles) that are not all there: each goes on by itself, they meet behind the
    // instruction.
    const uint32_t together = complete != 0 ? complete : same;
    split_around(fragment, together, mask);
    return warp_exchange(fragment, exec, op, together, cycle);
  }
  const uint32_t wanted = member & warp.alive;
  if (complete == mask) {
    if (exec.lane_op != nullptr) exec.lane_op(op, lane_frame(fragment), mask);
    set_results(fragment, exec, cycle + exec.latency);
    ++fragment.pc;
    return true;
  }
  wait_for_lanes(fragment, wanted, mask, cycle);
  return false;
}

// The lanes of `mask` wait for the `wanted` ones to come to the same instruction.
void Sm::wait_for_lanes(Fragment& fragment, uint32_t wanted, uint32_t mask, int64_t cycle) {
  fragment.sync_mask = wanted;
  fragment.wait_detail = mask;
  fragment.phase = kFresh;
  wait(fragment, Wait::reconverge, cycle);
  // Lanes that wait at a join are needed here: they go on.
  for (Join* join = fragment.join; join != nullptr; join = join->parent)
    if (join->waiting != nullptr && (join->waiting->mask & wanted) != 0) release_waiting(*join, cycle);
  recheck_syncs(*fragment.warp, cycle);
}

namespace {

/// Copies the lanes of `mask` in the registers that `op` names.
void copy_operands(const Op& op, uint32_t mask, const LaneFrame& from, const LaneFrame& to) {
  const auto copy = [&](const Slot& slot) {
    if (slot.kind == Slot::Kind::predicate) {
      uint32_t& target = to.predicates[slot.index];
      target = (target & ~mask) | (from.predicates[slot.index] & mask);
    } else if (slot.kind == Slot::Kind::reg) {
      const size_t words = std::max<size_t>(slot.rows, 1);
      const size_t row = size_t{slot.index} * 32;
      for (uint32_t m = mask; m != 0; m &= m - 1)
        std::copy_n(from.rows + row + static_cast<size_t>(std::countr_zero(m)) * words, words,
                    to.rows + row + static_cast<size_t>(std::countr_zero(m)) * words);
    }
  };
  for (const Slot& slot : op.dst) copy(slot);
  for (const Slot& slot : op.src) copy(slot);
}

}  // namespace

// Lanes that came into a function by different ways may have its registers in different windows: their
// operands meet on a table and go back.
void Sm::exchange(const std::vector<Fragment*>& group, const ExecOp& exec, const Op& op, uint32_t lanes) {
  const LaneFrame meeting = lane_frame(*group.front());
  const auto elsewhere = [&](const Fragment& fragment) {
    const LaneFrame own = lane_frame(fragment);
    return own.rows != meeting.rows || own.predicates != meeting.predicates;
  };
  if (std::none_of(group.begin(), group.end(), [&](const Fragment* f) { return elsewhere(*f); }))
    return exec.lane_op(op, meeting, lanes);
  const ptx::Program& program = group.front()->warp->cta->program->program();
  const ptx::ProgramFunction& function = program.functions[group.front()->frames.back().function];
  std::vector<uint32_t> rows(size_t{function.register_rows} * 32);
  std::vector<uint32_t> predicates(function.predicates);
  LaneFrame table = meeting;
  table.rows = rows.data();
  table.predicates = predicates.data();
  const auto lanes_of = [](const Fragment& fragment) { return static_cast<uint32_t>(fragment.wait_detail); };
  for (const Fragment* fragment : group) copy_operands(op, lanes_of(*fragment), lane_frame(*fragment), table);
  exec.lane_op(op, table, lanes);
  for (const Fragment* fragment : group) copy_operands(op, lanes_of(*fragment), table, lane_frame(*fragment));
}

void Sm::recheck_syncs(Warp& warp, int64_t cycle) {
  for (size_t i = 0; i < warp.fragments.size(); ++i) {
    Fragment* first = warp.fragments[i];
    if (first->sync_mask == 0) continue;
    const ExecProgram& program = *warp.cta->program;
    const ExecOp& exec = program.op(first->pc);
    const Op& op = program.program().code[first->pc];
    uint32_t lanes = 0;
    std::vector<Fragment*> group;
    for (Fragment* fragment : warp.fragments) {
      if (fragment->sync_mask == 0 || ((fragment->sync_mask ^ first->sync_mask) & warp.alive) != 0) continue;
      if (fragment->pc != first->pc &&
          !(op.opcode == Opcode::bar_warp_sync && program.op(fragment->pc).kind == ExecKind::warp_barrier))
        continue;
      group.push_back(fragment);
      lanes |= static_cast<uint32_t>(fragment->wait_detail);
    }
    if ((first->sync_mask & warp.alive & ~lanes) != 0) continue;
    if (exec.lane_op != nullptr) exchange(group, exec, op, lanes);
    bool mergeable = true;
    for (Fragment* fragment : group) {
      mergeable = mergeable && fragment->pc == first->pc && fragment->join == first->join &&
                  fragment->frames == first->frames;
      fragment->sync_mask = 0;
    }
    const bool repeats = exec.kind == ExecKind::matrix_product || exec.kind == ExecKind::matrix_control ||
                         exec.kind == ExecKind::warp_matrix || exec.kind == ExecKind::tensor_map_change;
    if (repeats && !mergeable) return stop(*first, "the lanes of the warp come here by different calls", 0);
    for (Fragment* fragment : group) {
      if (repeats) continue;  // it starts when all lanes are there
      set_results(*fragment, program.op(fragment->pc), cycle + exec.latency);
      ++fragment->pc;
    }
    for (Fragment* fragment : group) {
      if (mergeable && fragment != first) {
        first->mask |= fragment->mask;
        free_fragment(*fragment);
      } else if (fragment != first) {
        resume(*fragment, cycle + 1);
      }
    }
    resume(*first, cycle + 1);
    i = static_cast<size_t>(-1);  // the list changed: start over
  }
}

}  // namespace ptxwire::sim
