#include "ptx_frontend/lower/convergence_cost.hpp"

#include <algorithm>
#include <utility>

namespace ptxwire::ptx {
namespace {

/// Longest body, in issue slots, of a branch that becomes predicates. ptxas weighs more than length; with
/// this limit about as many branches of our kernels vanish as in its code.
constexpr uint32_t kPredicatedSlots = 4;
/// Out of line: a move of the mask, WARPSYNC.COLLECTIVE, the op, ENDCOLLECTIVE, the branch back.
constexpr uint32_t kOutOfLineCopy = 5;

bool is_warp_wide(Opcode opcode) {
  switch (opcode) {
    case Opcode::bar_warp_sync:
    case Opcode::shfl:
    case Opcode::vote:
    case Opcode::match:
    case Opcode::redux:
      return true;
    default:
      return false;
  }
}

/// Special registers that differ between the threads of a warp, or between two reads.
bool is_divergent(SpecialRegister special) {
  switch (special) {
    case SpecialRegister::tid_x:
    case SpecialRegister::tid_y:
    case SpecialRegister::tid_z:
    case SpecialRegister::laneid:
    case SpecialRegister::warpid:
      return true;
    default:
      return (special >= SpecialRegister::lanemask_eq && special <= SpecialRegister::lanemask_gt) ||
             (special >= SpecialRegister::clock && special <= SpecialRegister::globaltimer_hi);
  }
}

class ConvergenceCost {
 public:
  ConvergenceCost(VirtualCode& code, const ControlFlowGraph& graph,
                  const std::vector<uint32_t>& post_dominators, const std::vector<Constant>& constants)
      : code_(code),
        graph_(graph),
        post_dominators_(post_dominators),
        constants_(constants),
        parted_(code.ops.size() + 1, 0) {}

  uint32_t charge() {
    find_divergent_registers();
    find_loop_ends();
    for (uint32_t i = 0; i < code_.ops.size(); ++i)
      if (code_.ops[i].opcode == Opcode::bra && code_.ops[i].guard.present()) charge_branch(i);
    charge_warp_wide_ops();
    return beyond_slots_;
  }

 private:
  /// Values that are the same in all threads come from kernel parameters, constants and special registers
  /// that are; so is what is computed from such values alone.
  [[nodiscard]] bool is_source_of_divergence(const Op& op) const {
    switch (op.opcode) {
      case Opcode::ld:
        return op.modifiers.space != Space::constant &&
               (op.modifiers.space != Space::param || op.modifiers.sub_space == SubSpace::func);
      case Opcode::read_special:
        return is_divergent(static_cast<SpecialRegister>(constants_[op.src[0].index].value));
      case Opcode::atom:
      case Opcode::activemask:
      case Opcode::elect:
      case Opcode::shfl:
      case Opcode::match:
      case Opcode::call:
        return true;
      default:
        return op.opcode >= Opcode::mbarrier_init && op.opcode <= Opcode::mbarrier_pending_count;
    }
  }

  void find_divergent_registers() {
    divergent_.assign(code_.classes.size(), false);
    for (bool changed = true; changed;) {
      changed = false;
      for (uint32_t i = 0; i < code_.ops.size(); ++i) {
        bool divergent = is_source_of_divergence(code_.ops[i]);
        for_each_use(code_, i, [&](VirtualRegister r) { divergent = divergent || divergent_[r]; });
        if (!divergent) continue;
        for_each_definition(code_, i, [&](VirtualRegister r) {
          changed = changed || !divergent_[r];
          divergent_[r] = true;
        });
      }
    }
  }

  /// loop_end_[i]: the farthest back edge whose loop contains op i, or 0.
  void find_loop_ends() {
    loop_end_.assign(code_.ops.size(), 0);
    for (uint32_t i = 0; i < code_.ops.size(); ++i) {
      const Op& op = code_.ops[i];
      if (op.opcode != Opcode::bra || op.target > i) continue;
      back_edges_.emplace_back(op.target, i);
    }
    // Loops by header; a sweep keeps the innermost, which is the one that ends first.
    std::sort(back_edges_.begin(), back_edges_.end());
    std::vector<uint32_t> open;  // ends, innermost last
    size_t next = 0;
    for (uint32_t i = 0; i < code_.ops.size(); ++i) {
      for (; next < back_edges_.size() && back_edges_[next].first == i; ++next)
        open.push_back(back_edges_[next].second);
      while (!open.empty() && open.back() < i) open.pop_back();
      if (!open.empty()) loop_end_[i] = open.back();
    }
  }

  void charge_branch(uint32_t i) {
    Op& op = code_.ops[i];
    const bool divergent = divergent_[code_.operands[i].guard];
    if (op.target <= i) {  // lanes that leave early wait for the others after the loop
      if (!divergent) return;
      beyond_slots_ += 2;
      mark(op.target, i);
      return;
    }
    if (becomes_predicates(i)) {
      op.latency = LatencyClass::none;
      op.issue_slots = 0;
      return;
    }
    if (!divergent) return;
    const uint32_t join = post_dominators_[graph_.block_of_op[i]];
    if (join == kNoJoin || join == graph_.exit()) {
      mark(i + 1, static_cast<uint32_t>(code_.ops.size()));
      return;
    }
    if (code_.ops[graph_.blocks[join].begin].opcode == Opcode::ret) return;  // the branch is an exit
    const uint32_t join_op = graph_.blocks[join].begin;
    if (join_op > i) mark(i + 1, join_op);
    if (loop_end_[i] != 0 && join_op > loop_end_[i]) {
      beyond_slots_ += 2;
    } else {
      op.issue_slots += 2;
    }
  }

  /// The branch only skips the next block, and that is short and free of anything that needs the warp
  /// together.
  [[nodiscard]] bool becomes_predicates(uint32_t i) const {
    const uint32_t next = graph_.block_of_op[i] + 1;
    if (next >= graph_.blocks.size()) return false;
    const BasicBlock& body = graph_.blocks[next];
    if (code_.ops[i].target != body.end) return false;
    uint32_t slots = 0;
    for (uint32_t k = body.begin; k < body.end; ++k) {
      const Op& op = code_.ops[k];
      if (op.guard.present() || is_warp_wide(op.opcode)) return false;
      switch (op.latency) {
        case LatencyClass::branch:
        case LatencyClass::barrier:
        case LatencyClass::division:
        case LatencyClass::fence:
        case LatencyClass::control:
          return false;
        default:
          slots += op.issue_slots;
      }
    }
    return slots <= kPredicatedSlots;
  }

  void mark(uint32_t begin, uint32_t end) {
    if (begin >= end) return;
    ++parted_[begin];
    --parted_[end];
  }

  void charge_warp_wide_ops() {
    int32_t open = 0;
    uint32_t tested_block = UINT32_MAX;
    for (uint32_t i = 0; i < code_.ops.size(); ++i) {
      open += parted_[i];
      if (open == 0) continue;
      Op& op = code_.ops[i];
      if (op.opcode == Opcode::bar) ++op.issue_slots;  // WARPSYNC.ALL
      if (!is_warp_wide(op.opcode)) continue;
      beyond_slots_ += kOutOfLineCopy;
      if (graph_.block_of_op[i] == tested_block) continue;
      tested_block = graph_.block_of_op[i];
      op.issue_slots += 2;
    }
  }

  static constexpr uint32_t kNoJoin = UINT32_MAX;

  VirtualCode& code_;
  const ControlFlowGraph& graph_;
  const std::vector<uint32_t>& post_dominators_;
  const std::vector<Constant>& constants_;
  std::vector<bool> divergent_;                            // per register
  std::vector<std::pair<uint32_t, uint32_t>> back_edges_;  // header, branch
  std::vector<uint32_t> loop_end_;                         // per op
  std::vector<int32_t> parted_;  // differences of the number of regions that part of a warp may be in
  uint32_t beyond_slots_ = 0;
};

}  // namespace

uint32_t charge_convergence(VirtualCode& code, const ControlFlowGraph& graph,
                            const std::vector<uint32_t>& post_dominators,
                            const std::vector<Constant>& constants) {
  return ConvergenceCost(code, graph, post_dominators, constants).charge();
}

}  // namespace ptxwire::ptx
