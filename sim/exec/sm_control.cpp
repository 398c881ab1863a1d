// Control flow of fragments: divergence and reconvergence, calls, exits, exchanges between lanes.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "sim/exec/sm.hpp"
#include "sim/exec/vprintf.hpp"

namespace ptxwire::sim {

using models::Picoseconds;
using ptx::Op;
using ptx::Opcode;
using ptx::Slot;
using ptx::SpecialRegister;

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
  if (merged == nullptr) {
    join.waiting = &fragment;
    merged = &fragment;
  } else {
    merged->mask |= fragment.mask;
    merged->cycle = std::max(merged->cycle, fragment.cycle);
  }
  const int64_t cycle = merged->cycle;
  if (merged->mask == join.mask) {
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

// ------------------------------------------------------------------------------------------------ branches

void Sm::branch(Fragment& fragment, const Op& op, uint32_t taken, int64_t cycle) {
  if (op.reconvergence != ptx::kNoPc) join_at(fragment, op.reconvergence);
  Fragment& other = split(fragment, taken);
  other.pc = op.target;
  ++fragment.pc;
  fragment.poll.loop = UINT32_MAX;
  if (op.target <= fragment.pc && fragment.join != nullptr && fragment.join->waiting != nullptr &&
      ++fragment.join->spins > 4096)
    release_waiting(*fragment.join, cycle);
  schedule(other, fragment.cycle + parameters_.branch_taken_clk);
  other.cycle = fragment.cycle + parameters_.branch_taken_clk;
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

// ------------------------------------------------------------------------------------------------ calls and
// exits

// Where the callee's register rows begin. Lanes of a warp that are in the same function share its rows, so
// that they may exchange values there; different functions give rows other widths, so theirs must not overlap
// while any lane is in them or a load is on its way to them.
uint32_t Sm::place_rows(const Fragment& fragment, uint32_t function) {
  const Warp& warp = *fragment.warp;
  const std::vector<ptx::ProgramFunction>& functions = warp.cta->program->program().functions;
  const CallFrame& caller = fragment.frames.back();
  const uint32_t rows = functions[function].register_rows;
  const uint32_t first = (caller.row_base + functions[caller.function].register_rows + 3) / 4 * 4;
  uint32_t shared = UINT32_MAX;
  for (const Fragment* other : warp.fragments)
    for (const CallFrame& frame : other->frames)
      if (other != &fragment && frame.function == function && frame.row_base >= first)
        shared = std::min(shared, frame.row_base);
  if (shared != UINT32_MAX) return shared;
  uint32_t base = first;
  for (bool moved = true; moved;) {
    moved = false;
    for (const Fragment* other : warp.fragments) {
      for (const CallFrame& frame : other->frames) {
        const uint32_t end = frame.row_base + functions[frame.function].register_rows;
        if (other == &fragment || frame.row_base >= base + rows || end <= base) continue;
        base = (end + 3) / 4 * 4;
        moved = true;
      }
    }
    for (uint32_t row = base; row < std::min<size_t>(base + rows, warp.row_pending.size()); ++row) {
      if ((warp.row_pending[row] & ~fragment.mask) == 0) continue;
      base = (row + 4) / 4 * 4;
      moved = true;
    }
  }
  return base;
}

void Sm::reserve_frame(Warp& warp, const CallFrame& frame, const ptx::ProgramFunction& callee) {
  const size_t rows = size_t{frame.row_base} + callee.register_rows;
  if (warp.row_ready.size() < rows) {
    warp.rows.resize(rows * 32);
    warp.row_ready.resize(rows);
    warp.row_pending.resize(rows);
  }
  const size_t predicates = size_t{frame.predicate_base} + callee.predicates;
  if (warp.predicates.size() < predicates) {
    warp.predicates.resize(predicates);
    warp.predicate_ready.resize(predicates);
  }
  if (warp.local_bytes >= frame.local_base + callee.frame_bytes) return;
  const uint32_t bytes = std::max(frame.local_base + callee.frame_bytes, warp.local_bytes * 2);
  std::vector<uint8_t> grown(size_t{bytes} * 32);
  for (uint32_t lane = 0; lane < 32; ++lane)
    if (warp.local_bytes != 0)
      std::memcpy(&grown[size_t{lane} * bytes], &warp.local[size_t{lane} * warp.local_bytes],
                  warp.local_bytes);
  warp.local = std::move(grown);
  warp.local_bytes = bytes;
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

bool Sm::call(Fragment& fragment, const Op& op, uint32_t mask, int64_t cycle) {
  Warp& warp = *fragment.warp;
  const ptx::Program& program = warp.cta->program->program();
  const ptx::CallSite& site = program.calls[op.target];
  if (!site.intrinsic.empty()) {
    intrinsic(fragment, site, mask);
    if (device_.fault_seen()) return false;
    ++fragment.pc;
    return true;
  }
  uint32_t function = site.function;
  uint32_t calling = mask;
  if (function == UINT32_MAX) {
    const uint64_t handle = uniform_source(fragment, op.src[0], mask);
    function = warp.cta->program->function_of_handle(handle);
    if (function == UINT32_MAX) {
      stop(fragment, fmt::format("indirect call to {:#x}, which is no function", handle),
           static_cast<uint32_t>(std::countr_zero(mask)));
      return false;
    }
    const uint64_t* handles = source64(fragment, op.src[0]);
    for (uint32_t m = mask; m != 0; m &= m - 1)
      if (handles[std::countr_zero(m)] != handle) calling &= ~(m & (~m + 1));
  }
  join_at(fragment, fragment.pc + 1);
  split_around(fragment, calling, mask);
  const ptx::ProgramFunction& callee = program.functions[function];
  const CallFrame caller = fragment.frames.back();
  CallFrame frame;
  frame.return_pc = fragment.pc + 1;
  frame.call_site = op.target;
  frame.function = function;
  frame.row_base = place_rows(fragment, function);
  frame.predicate_base = caller.predicate_base + program.functions[caller.function].predicates;
  frame.local_base = (caller.local_base + program.functions[caller.function].frame_bytes + 15) / 16 * 16;
  if (frame.local_base + callee.frame_bytes > (1U << 20)) {
    stop(fragment, "the call stack of a thread exceeds 1 MiB", static_cast<uint32_t>(std::countr_zero(mask)));
    return false;
  }
  reserve_frame(warp, frame, callee);
  for (uint32_t m = calling; m != 0; m &= m - 1) {
    uint8_t* local = &warp.local[size_t{static_cast<uint32_t>(std::countr_zero(m))} * warp.local_bytes];
    for (const ptx::ParameterCopy& copy : site.arguments)
      std::memcpy(local + frame.local_base + copy.callee_offset,
                  local + caller.local_base + copy.caller_offset, copy.bytes);
  }
  fragment.frames.push_back(frame);
  fragment.pc = callee.entry_pc;
  fragment.cycle = cycle + 1 + parameters_.branch_taken_clk;
  return true;
}

void Sm::do_return(Fragment& fragment, uint32_t mask, int64_t cycle) {
  if (fragment.frames.size() == 1) {
    exit_lanes(fragment, mask, cycle);
    return;
  }
  Fragment* staying = nullptr;
  if (mask != fragment.mask) {
    staying = &split(fragment, fragment.mask & ~mask);
    ++staying->pc;
  }
  Warp& warp = *fragment.warp;
  const auto depth = static_cast<uint32_t>(fragment.frames.size());
  // Joins of this call do not see these lanes again.
  Join* outer = leave_joins(fragment.join, mask, depth, cycle);
  set_join(fragment, outer);
  const CallFrame frame = fragment.frames.back();
  fragment.frames.pop_back();
  const CallFrame& caller = fragment.frames.back();
  const ptx::CallSite& site = warp.cta->program->program().calls[frame.call_site];
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    uint8_t* local = &warp.local[size_t{static_cast<uint32_t>(std::countr_zero(m))} * warp.local_bytes];
    for (const ptx::ParameterCopy& copy : site.results)
      std::memcpy(local + caller.local_base + copy.caller_offset,
                  local + frame.local_base + copy.callee_offset, copy.bytes);
  }
  fragment.pc = frame.return_pc;
  fragment.cycle += parameters_.branch_taken_clk;
  if (staying != nullptr) schedule(*staying, fragment.cycle);
}

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
  for (NamedBarrier& waiting_barrier : cta.barriers)
    if (!waiting_barrier.waiting.empty()) barrier_check(cta, waiting_barrier, cycle);
  cluster_barrier_check(*cta.cluster[0], cycle);
  if (warp.alive != 0) return;
  Launch::Profile& profile = cta.launch->profile[cta.linear % 2];
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
  const uint32_t warps = static_cast<uint32_t>(cta.warps.size());
  used_warps_ -= warps;
  used_registers_ -= Device::cta_registers(parameters_, warps, cta.launch->registers_per_thread);
  used_shared_ -= cta.launch->shared_bytes + parameters_.shared_reserved_per_cta_bytes;
  for (size_t i = 0; i < ctas_.size(); ++i) {
    if (ctas_[i].get() != &cta) continue;
    retired_.push_back(std::move(ctas_[i]));
    ctas_.erase(ctas_.begin() + static_cast<std::ptrdiff_t>(i));
    break;
  }
  device_.cta_finished(cta, cycle);
}

// ------------------------------------------------------------------------------------------------ exchanges

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
  fragment.sync_mask = wanted;
  fragment.wait_detail = mask;
  fragment.phase = 0;
  wait(fragment, Wait::reconverge, cycle);
  // Lanes that wait at a join are needed here: they go on.
  for (Join* join = fragment.join; join != nullptr; join = join->parent)
    if (join->waiting != nullptr && (join->waiting->mask & wanted) != 0) release_waiting(*join, cycle);
  recheck_syncs(warp, cycle);
  return false;
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
    if (exec.lane_op != nullptr) exec.lane_op(op, lane_frame(*first), lanes);
    bool mergeable = true;
    for (Fragment* fragment : group) {
      mergeable = mergeable && fragment->pc == first->pc && fragment->join == first->join &&
                  fragment->frames.size() == first->frames.size();
      fragment->sync_mask = 0;
    }
    for (Fragment* fragment : group) {
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

// ------------------------------------------------------------------------------------------------ special
// registers, addresses

void Sm::read_special(Fragment& fragment, const Op& op, uint32_t mask, int64_t cycle) {
  const Warp& warp = *fragment.warp;
  const Cta& cta = *warp.cta;
  const Launch& launch = *cta.launch;
  const auto special = static_cast<uint32_t>(cta.program->program().constants[op.src[0].index].value);
  const uint32_t cluster_count = launch.grid[0] / launch.cluster;
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(m));
    const uint32_t thread = warp.index * 32 + lane;
    uint64_t value = 0;
    switch (static_cast<SpecialRegister>(special)) {
      case SpecialRegister::tid_x:
        value = thread % launch.block[0];
        break;
      case SpecialRegister::tid_y:
        value = thread / launch.block[0] % launch.block[1];
        break;
      case SpecialRegister::tid_z:
        value = thread / launch.block[0] / launch.block[1];
        break;
      case SpecialRegister::ntid_x:
        value = launch.block[0];
        break;
      case SpecialRegister::ntid_y:
        value = launch.block[1];
        break;
      case SpecialRegister::ntid_z:
        value = launch.block[2];
        break;
      case SpecialRegister::ctaid_x:
        value = cta.id[0];
        break;
      case SpecialRegister::ctaid_y:
        value = cta.id[1];
        break;
      case SpecialRegister::ctaid_z:
        value = cta.id[2];
        break;
      case SpecialRegister::nctaid_x:
        value = launch.grid[0];
        break;
      case SpecialRegister::nctaid_y:
        value = launch.grid[1];
        break;
      case SpecialRegister::nctaid_z:
        value = launch.grid[2];
        break;
      case SpecialRegister::laneid:
        value = lane;
        break;
      case SpecialRegister::warpid:
        value = warp.index;
        break;
      case SpecialRegister::nwarpid:
        value = parameters_.max_warps;
        break;
      case SpecialRegister::smid:
        value = id_;
        break;
      case SpecialRegister::nsmid:
        value = parameters_.count;
        break;
      case SpecialRegister::gridid:
        value = launch.id;
        break;
      case SpecialRegister::clusterid_x:
        value = cta.id[0] / launch.cluster;
        break;
      case SpecialRegister::clusterid_y:
        value = cta.id[1];
        break;
      case SpecialRegister::clusterid_z:
        value = cta.id[2];
        break;
      case SpecialRegister::nclusterid_x:
        value = cluster_count;
        break;
      case SpecialRegister::nclusterid_y:
        value = launch.grid[1];
        break;
      case SpecialRegister::nclusterid_z:
        value = launch.grid[2];
        break;
      case SpecialRegister::cluster_ctaid_x:
      case SpecialRegister::cluster_ctarank:
        value = cta.cluster_rank;
        break;
      case SpecialRegister::cluster_nctaid_x:
      case SpecialRegister::cluster_nctarank:
        value = launch.cluster;
        break;
      case SpecialRegister::cluster_nctaid_y:
      case SpecialRegister::cluster_nctaid_z:
        value = 1;
        break;
      case SpecialRegister::is_explicit_cluster:
        value = launch.cluster > 1 ? 1 : 0;
        break;
      case SpecialRegister::lanemask_eq:
        value = 1U << lane;
        break;
      case SpecialRegister::lanemask_le:
        value = (2ULL << lane) - 1;
        break;
      case SpecialRegister::lanemask_lt:
        value = (1ULL << lane) - 1;
        break;
      case SpecialRegister::lanemask_ge:
        value = ~((1U << lane) - 1);
        break;
      case SpecialRegister::lanemask_gt:
        value = static_cast<uint32_t>(~((2ULL << lane) - 1));
        break;
      case SpecialRegister::clock:
        value = static_cast<uint32_t>(cycle);
        break;
      case SpecialRegister::clock_hi:
        value = static_cast<uint64_t>(cycle) >> 32;
        break;
      case SpecialRegister::clock64:
        value = static_cast<uint64_t>(cycle);
        break;
      case SpecialRegister::globaltimer:
        value = static_cast<uint64_t>(device_.clock().time(cycle).value / 1000);
        break;
      case SpecialRegister::globaltimer_lo:
        value = static_cast<uint32_t>(device_.clock().time(cycle).value / 1000);
        break;
      case SpecialRegister::globaltimer_hi:
        value = static_cast<uint64_t>(device_.clock().time(cycle).value / 1000) >> 32;
        break;
      case SpecialRegister::total_smem_size:
        value = launch.shared_bytes;
        break;
      case SpecialRegister::aggr_smem_size:
        value = launch.shared_bytes + parameters_.shared_reserved_per_cta_bytes;
        break;
      case SpecialRegister::dynamic_smem_size:
        value = launch.dynamic_shared_bytes;
        break;
      case SpecialRegister::warpsize:
        value = 32;
        break;
      default:
        // %envreg1 and %envreg2 hold the high and low half of the address of a cooperative grid's workspace.
        if (special == static_cast<uint32_t>(SpecialRegister::envreg0) + 1)
          value = launch.grid_workspace >> 32;
        if (special == static_cast<uint32_t>(SpecialRegister::envreg0) + 2)
          value = static_cast<uint32_t>(launch.grid_workspace);
        break;
    }
    write_lane(fragment, op.dst[0], lane, value);
  }
}

void Sm::convert_address(Fragment& fragment, const Op& op, uint32_t mask) {
  const bool wide = op.src[0].kind == Slot::Kind::constant || op.src[0].rows >= 2;
  const uint64_t* source = source64(fragment, op.src[0]);
  const uint32_t* narrow = source32(fragment, op.src[0]);
  uint64_t window = 0;
  Window kind = Window::device;
  switch (op.modifiers.space) {
    case ptx::Space::shared:
      window = kSharedWindow;
      kind = Window::shared;
      break;
    case ptx::Space::local:
      window = kLocalWindow;
      kind = Window::local;
      break;
    case ptx::Space::param:
      window = kParameterWindow;
      kind = Window::parameter;
      break;
    case ptx::Space::constant:
      window = kConstantWindow;
      kind = Window::constant;
      break;
    default:
      break;
  }
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(m));
    const uint64_t address = wide ? source[lane] : narrow[lane];
    uint64_t value = address;
    if (op.opcode == Opcode::isspacep) {
      value = window_of(address) == kind ? 1 : 0;
    } else if (kind != Window::device) {
      value = op.modifiers.to_space ? address - window : (address & (kWindowBytes - 1)) + window;
    }
    write_lane(fragment, op.dst[0], lane, value);
  }
}

// mapa: the shared address of the same variable in another CTA of the cluster; getctarank: the CTA an address
// belongs to.
void Sm::cluster_address(Fragment& fragment, const Op& op, uint32_t mask) {
  const Cta& cta = *fragment.warp->cta;
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(m));
    const uint64_t address = op.src[0].kind == Slot::Kind::constant || op.src[0].rows >= 2
                                 ? source64(fragment, op.src[0])[lane]
                                 : source32(fragment, op.src[0])[lane];
    const uint64_t window = address & ~(kWindowBytes - 1);
    const uint64_t offset = address & ((1U << kSharedRankShift) - 1);
    if (op.opcode == Opcode::mapa) {
      const uint64_t rank = op.src[1].kind == Slot::Kind::constant ? source64(fragment, op.src[1])[lane]
                                                                   : source32(fragment, op.src[1])[lane];
      write_lane(fragment, op.dst[0], lane, window | (rank + 1) << kSharedRankShift | offset);
    } else {
      const uint64_t rank = (address & (kWindowBytes - 1)) >> kSharedRankShift;
      write_lane(fragment, op.dst[0], lane, rank == 0 ? cta.cluster_rank : rank - 1);
    }
  }
}

// ------------------------------------------------------------------------------------------------ functions
// of the loader

void Sm::intrinsic(Fragment& fragment, const ptx::CallSite& site, uint32_t mask) {
  Warp& warp = *fragment.warp;
  const uint32_t base = fragment.frames.back().local_base;
  const auto argument = [&](uint32_t lane, size_t index) {
    uint64_t value = 0;
    if (index < site.arguments.size())
      std::memcpy(&value,
                  &warp.local[size_t{lane} * warp.local_bytes + base + site.arguments[index].caller_offset],
                  std::min<uint32_t>(site.arguments[index].bytes, 8));
    return value;
  };
  const auto read_bytes = [&](uint32_t lane, uint64_t address, uint32_t bytes) -> const uint8_t* {
    const Window window = window_of(address);
    if (window == Window::device) {
      const MemorySpace* space = device_.group().space(home_of(address));
      return space == nullptr ? nullptr : space->resolve(address, bytes);
    }
    return near_pointer(fragment, window, address & (kWindowBytes - 1), lane, bytes, nullptr);
  };
  const auto read_string = [&](uint32_t lane, uint64_t address) {
    std::string text;
    for (const uint8_t* byte = read_bytes(lane, address, 1);
         byte != nullptr && *byte != 0 && text.size() < 4096;
         byte = read_bytes(lane, address + text.size(), 1))
      text.push_back(static_cast<char>(*byte));
    return text;
  };
  const auto set_result = [&](uint32_t lane, uint64_t value) {
    for (const ptx::ParameterCopy& copy : site.results)
      std::memcpy(&warp.local[size_t{lane} * warp.local_bytes + base + copy.caller_offset], &value,
                  std::min<uint32_t>(copy.bytes, 8));
  };
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(m));
    if (site.intrinsic == "vprintf") {
      const uint64_t list = argument(lane, 1);
      const std::string text = format_vprintf(
          read_string(lane, argument(lane, 0)),
          [&](uint32_t offset, uint32_t bytes) {
            uint64_t value = 0;
            if (const uint8_t* data = read_bytes(lane, list + offset, bytes))
              std::memcpy(&value, data, bytes);
            return value;
          },
          [&](uint64_t address) { return read_string(lane, address); });
      device_.print(text);
      set_result(lane, 1);
    } else if (site.intrinsic == "__assertfail") {
      stop(fragment,
           fmt::format("assertion '{}' failed ({}:{} in {})", read_string(lane, argument(lane, 0)),
                       read_string(lane, argument(lane, 1)), static_cast<uint32_t>(argument(lane, 2)),
                       read_string(lane, argument(lane, 3))),
           lane);
      return;
    } else {
      stop(fragment, fmt::format("call of '{}', which the loader does not provide", site.intrinsic), lane);
      return;
    }
  }
}

}  // namespace ptxwire::sim
