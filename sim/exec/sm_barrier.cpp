// Named barriers, cluster barriers, mbarrier objects.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "sim/exec/mbarrier_word.hpp"
#include "sim/exec/shared_place.hpp"
#include "sim/exec/sm.hpp"

namespace ptxwire::sim {

using ptx::BarrierAction;
using ptx::Op;
using ptx::Opcode;
using ptx::Slot;

// ------------------------------------------------------------------------------------------------ bar,
// barrier.cta

bool Sm::barrier(Fragment& fragment, const Op& op, uint32_t mask, int64_t cycle) {
  Warp& warp = *fragment.warp;
  Cta& cta = *warp.cta;
  const uint64_t id = op.src[0].present() ? uniform_source(fragment, op.src[0], mask) : 0;
  const uint64_t count = op.src[1].present() ? uniform_source(fragment, op.src[1], mask) : 0;
  const auto lane = static_cast<uint32_t>(std::countr_zero(mask));
  if (id >= cta.barriers.size() || count % 32 != 0 || count > 1024) {
    stop(fragment,
         fmt::format("barrier {} with {} threads: numbers are 0..15 and counts multiples of 32 up to 1024",
                     id, count),
         lane);
    return false;
  }
  NamedBarrier& barrier = cta.barriers[id];
  const auto expected = static_cast<uint32_t>(count);
  if (barrier.in_use() && barrier.expected != expected) {
    stop(fragment,
         fmt::format("barrier {} is waited for with {} threads here and {} elsewhere", id, expected,
                     barrier.expected),
         lane);
    return false;
  }
  if (mask != fragment.mask) split_around(fragment, mask, mask);  // lanes that the guard excludes do not wait
  barrier.expected = expected;
  const BarrierAction action = op.modifiers.barrier;
  BarrierReduction reduction;
  if (action == BarrierAction::red_popc || action == BarrierAction::red_and ||
      action == BarrierAction::red_or) {
    const Slot& slot = op.src[2];
    const uint32_t predicate = slot.kind == Slot::Kind::predicate
                                   ? warp.predicates[fragment.frames.back().predicate_base + slot.index]
                                   : ~0U;
    reduction.add(mask, slot.negated ? ~predicate : predicate);
  }
  const bool arrive_only = action == BarrierAction::arrive;
  if (arrive_only) {
    ++fragment.pc;
  } else {
    fragment.wait_detail = id;
    wait(fragment, id == 0 && expected == 0 ? Wait::barrier : Wait::named_barrier, cycle);
    stow_registers(fragment, fragment.pc);
  }
  arrive_at_barrier(barrier, warp, mask, reduction, arrive_only ? nullptr : &fragment);
  barrier_check(cta, barrier, cycle);
  return arrive_only;
}

// Without a thread count threads are counted one by one. With one the count is in warps: barrier "causes
// executing thread to wait for all non-exited threads from its warp and marks warps' arrival" (PTX ISA,
// barrier).
void Sm::arrive_at_barrier(NamedBarrier& barrier, Warp& warp, uint32_t lanes,
                           const BarrierReduction& reduction, Fragment* waiting) {
  if (barrier.expected == 0 || (lanes == warp.alive && barrier.partial.empty())) {
    barrier.arrived += barrier.expected == 0 ? static_cast<uint32_t>(std::popcount(lanes)) : 32;
    barrier.reduction.add(reduction);
    if (waiting != nullptr) barrier.waiting.push_back(waiting);
    return;
  }
  const auto open = std::find_if(
      barrier.partial.begin(), barrier.partial.end(),
      [&](const WarpArrival& entry) { return entry.warp == &warp && (entry.lanes & lanes) == 0; });
  WarpArrival& entry = open != barrier.partial.end() ? *open : barrier.partial.emplace_back();
  entry.warp = &warp;
  entry.lanes |= lanes;
  entry.reduction.add(reduction);
  if (waiting != nullptr) entry.waiting.push_back(waiting);
  count_whole_warps(barrier);
}

void Sm::count_whole_warps(NamedBarrier& barrier) {
  for (size_t i = 0; i < barrier.partial.size();) {
    WarpArrival& entry = barrier.partial[i];
    if ((entry.warp->alive & ~entry.lanes) != 0) {
      ++i;
      continue;
    }
    barrier.arrived += 32;
    barrier.reduction.add(entry.reduction);
    barrier.waiting.insert(barrier.waiting.end(), entry.waiting.begin(), entry.waiting.end());
    barrier.partial.erase(barrier.partial.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void Sm::barrier_check(Cta& cta, NamedBarrier& barrier, int64_t cycle) {
  const uint32_t needed = barrier.expected != 0 ? barrier.expected : cta.threads_alive;
  if (barrier.arrived < needed) return;
  const auto warps = static_cast<uint32_t>(barrier.waiting.size());
  const int64_t done = cycle + parameters_.barrier_latency_clk +
                       static_cast<int64_t>(parameters_.barrier_per_warp_clk) * warps;
  std::vector<Fragment*> waiting;
  waiting.swap(barrier.waiting);
  const BarrierReduction result = barrier.reduction;
  barrier.arrived = 0;
  barrier.reduction = {};
  if (barrier.partial.empty()) barrier.expected = 0;
  for (Fragment* fragment : waiting) {
    const Op& op = cta.program->program().code[fragment->pc];
    uint64_t value = 0;
    switch (op.modifiers.barrier) {
      case BarrierAction::red_popc:
        value = result.population;
        break;
      case BarrierAction::red_and:
        value = result.all ? 1 : 0;
        break;
      case BarrierAction::red_or:
        value = result.any ? 1 : 0;
        break;
      default:
        break;
    }
    for (uint32_t m = fragment->mask; m != 0 && op.dst[0].present(); m &= m - 1)
      write_lane(*fragment, op.dst[0], static_cast<uint32_t>(std::countr_zero(m)), value);
    set_results(*fragment, cta.program->op(fragment->pc), done);
    ++fragment->pc;
    resume(*fragment, done);
  }
}

// ------------------------------------------------------------------------------------------------
// barrier.cluster

bool Sm::cluster_barrier(Fragment& fragment, const Op& op, uint32_t mask, int64_t cycle) {
  Warp& warp = *fragment.warp;
  Cta& leader = *warp.cta->cluster[0];
  if (op.modifiers.barrier != BarrierAction::wait) {
    if (op.modifiers.order != ptx::Order::relaxed) {
      // The other CTAs are on other SMs: they see earlier stores once these were acknowledged.
      if (fragment.phase == kFresh && !warp.cta->stores.drained()) return release_first(fragment, op, cycle);
      fragment.phase = kFresh;
      fragment.cycle += parameters_.fence_cta_clk;
    }
    if (warp.cluster_generation != leader.cluster_generation) warp.cluster_arrived = 0;
    warp.cluster_arrived |= mask;
    warp.cluster_generation = leader.cluster_generation;
    leader.cluster_arrived += static_cast<uint32_t>(std::popcount(mask));
    ++fragment.pc;
    cluster_barrier_check(leader, cycle);
    return true;
  }
  // Lanes of one warp may be a round apart: only those that arrived in this one wait for it.
  const uint32_t waiting =
      warp.cluster_generation == leader.cluster_generation ? warp.cluster_arrived & mask : 0;
  if (waiting == 0) {
    if (op.modifiers.order != ptx::Order::relaxed) l1_.invalidate();
    ++fragment.pc;
    return true;
  }
  split_around(fragment, waiting, mask);
  ++fragment.pc;
  leader.cluster_waiting.push_back(&fragment);
  wait(fragment, Wait::cluster_barrier, cycle);
  stow_registers(fragment, fragment.pc);
  return false;
}

void Sm::cluster_barrier_check(Cta& leader, int64_t cycle) {
  uint32_t alive = 0;
  for (const Cta* cta : leader.cluster) alive += cta->threads_alive;
  if (leader.cluster_arrived == 0 || leader.cluster_arrived < alive) return;
  leader.cluster_arrived = 0;
  ++leader.cluster_generation;
  std::vector<Fragment*> waiting;
  waiting.swap(leader.cluster_waiting);
  for (Fragment* fragment : waiting) {
    const Op& op = fragment->warp->cta->program->program().code[fragment->pc - 1];
    Sm& sm = device_.sm(fragment->warp->cta->sm);
    if (op.modifiers.order != ptx::Order::relaxed) sm.l1_.invalidate();
    sm.resume(*fragment, cycle + parameters_.cluster_barrier_clk);
  }
}

// ------------------------------------------------------------------------------------------------ mbarrier

namespace {

/// Where the mbarrier at `address` lies; none if it is not aligned.
SharedPlace mbarrier_place(Cta& own, uint64_t address) {
  return address % 8 == 0 ? shared_place(own, address, 8) : SharedPlace{};
}

MbarrierWord load_word(const Cta& cta, uint32_t offset) {
  uint64_t bits = 0;
  std::memcpy(&bits, cta.shared.data() + offset, 8);
  return MbarrierWord(bits);
}

}  // namespace

void Sm::mbarrier_update(Cta& cta, uint32_t offset, int32_t arrivals, int32_t tx, bool drop, int64_t cycle) {
  MbarrierWord word = load_word(cta, offset);
  const bool complete =
      word.update(static_cast<uint32_t>(arrivals), tx, drop ? static_cast<uint32_t>(arrivals) : 0);
  const uint64_t bits = word.bits();
  std::memcpy(cta.shared.data() + offset, &bits, 8);
  if (!cta.shared_parked.empty()) notify_shared_write(cta, offset, 8, cycle, kWokenOtherwise);
  if (!complete) return;
  for (size_t i = 0; i < cta.mbarrier_waiting.size();) {
    Fragment& fragment = *cta.mbarrier_waiting[i];
    if (fragment.wait_detail != offset) {
      ++i;
      continue;
    }
    cta.mbarrier_waiting.erase(cta.mbarrier_waiting.begin() + static_cast<std::ptrdiff_t>(i));
    device_.sm(cta.sm).resume(fragment, cycle);
  }
}

namespace {

/// Whether an mbarrier op orders memory beyond its CTA.
bool orders_cluster(const Op& op) {
  return op.modifiers.scope == ptx::Scope::cluster && op.modifiers.order != ptx::Order::relaxed;
}

}  // namespace

bool Sm::mbarrier(Fragment& fragment, const Op& op, uint32_t mask, int64_t cycle) {
  Cta& cta = *fragment.warp->cta;
  const bool arrives = op.opcode == Opcode::mbarrier_arrive || op.opcode == Opcode::mbarrier_arrive_drop;
  if (arrives && orders_cluster(op)) {
    if (fragment.phase == kFresh && !cta.stores.drained()) return release_first(fragment, op, cycle);
    fragment.phase = kFresh;
  }
  if (op.opcode == Opcode::mbarrier_pending_count) {
    const uint64_t* state = source64(fragment, op.src[0]);
    for (uint32_t m = mask; m != 0; m &= m - 1) {
      const auto lane = static_cast<uint32_t>(std::countr_zero(m));
      write_lane(fragment, op.dst[0], lane, MbarrierWord(state[lane]).pending());
    }
    return true;
  }
  uint64_t address[32];
  addresses(fragment, op.src[0], op.offset, address);
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(m));
    const SharedPlace place = mbarrier_place(cta, address[lane]);
    if (place.cta == nullptr) {
      stop(fragment, fmt::format("mbarrier at {:#x}, which is no aligned shared memory", address[lane]),
           lane);
      return false;
    }
    const uint32_t operand =
        op.src[1].present() ? static_cast<uint32_t>(uniform_source(fragment, op.src[1], 1U << lane)) : 1;
    const uint64_t before = load_word(*place.cta, place.offset).bits();
    switch (op.opcode) {
      case Opcode::mbarrier_init: {
        const uint64_t bits = MbarrierWord::initial(operand).bits();
        std::memcpy(place.cta->shared.data() + place.offset, &bits, 8);
        break;
      }
      case Opcode::mbarrier_inval:
        break;
      case Opcode::mbarrier_expect_tx:
        mbarrier_update(*place.cta, place.offset, 0, static_cast<int32_t>(operand), false, cycle);
        break;
      case Opcode::mbarrier_complete_tx:
        // The bytes of st.async and red.async are told where they land.
        mbarrier_update(*place.cta, place.offset, 0, -static_cast<int32_t>(operand), false,
                        op.modifiers.completion == ptx::Completion::mbarrier && place.cta != &cta
                            ? cycle + parameters_.dsm_latency_clk
                            : cycle);
        break;
      default: {
        const bool drop = op.opcode == Opcode::mbarrier_arrive_drop;
        const bool expect = op.modifiers.expect_tx;
        mbarrier_update(*place.cta, place.offset, expect ? 1 : static_cast<int32_t>(operand),
                        expect ? static_cast<int32_t>(operand) : 0, drop,
                        cycle + parameters_.mbarrier_arrive_clk);
        write_lane(fragment, op.dst[0], lane, before);
        break;
      }
    }
  }
  return true;
}

// How long a try_wait suspends: the limit it names or the default, and a little longer each time that it gave
// up in vain, so that a time-out of seconds does not cost millions of turns.
int64_t Sm::suspend_cycles(const Fragment& fragment, const Op& op, uint32_t mask) const {
  double limit_ns =
      4300;  // default suspend time, HARDWARE: 7,755 clk at 1.785 GHz on H200 (FlashGPU-Sim SM90_H200)
  if (op.src[2].present()) limit_ns = static_cast<double>(uniform_source(fragment, op.src[2], mask));
  if (device_.group().park_polls) {
    const uint32_t longer = 1 + fragment.poll.give_ups / 8;
    limit_ns *= longer;
  }
  return std::max<int64_t>(1, static_cast<int64_t>(limit_ns * device_.clock().hertz() * 1e-9));
}

// try_wait suspends until the phase completes or the time limit passes; test_wait looks once.
bool Sm::mbarrier_wait(Fragment& fragment, const Op& op, uint32_t mask, int64_t cycle) {
  Cta& cta = *fragment.warp->cta;
  const ExecOp& exec = cta.program->op(fragment.pc);
  uint64_t address[32];
  addresses(fragment, op.src[0], op.offset, address);
  uint32_t noted = UINT32_MAX;
  const bool looks = op.opcode == Opcode::mbarrier_test_wait;
  uint32_t done = 0;
  uint32_t first_offset = UINT32_MAX;
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(m));
    const SharedPlace place = mbarrier_place(cta, address[lane]);
    if (place.cta != &cta) {
      stop(fragment,
           fmt::format("wait on an mbarrier at {:#x}, which is not in the CTA's own shared memory",
                       address[lane]),
           lane);
      return false;
    }
    const MbarrierWord word = load_word(cta, place.offset);
    const uint64_t bits = word.bits();
    if (looks && exec.in_poll_loop && place.offset != noted) {
      noted = place.offset;
      note_poll(fragment, place.offset, 8, reinterpret_cast<const uint8_t*>(&bits), true, cycle);
    }
    const uint64_t operand = uniform_source(fragment, op.src[1], 1U << lane);
    const bool old_phase = op.modifiers.parity ? (operand & 1) != 0 : MbarrierWord(operand).phase();
    if (word.phase() != old_phase) {
      done |= 1U << lane;
    } else if (first_offset == UINT32_MAX) {
      first_offset = place.offset;
    }
  }
  const bool suspended_before = fragment.phase == kSuspended;
  if (done != mask && !looks && !suspended_before) {
    fragment.phase = kSuspended;
    fragment.wait_detail = first_offset;
    cta.mbarrier_waiting.push_back(&fragment);
    wait(fragment, Wait::mbarrier, cycle);
    // A loop that only waits would come back at once: it may sleep until the phase completes.
    stow_registers(fragment, fragment.pc);
    if (exec.only_waits && device_.group().park_polls) return false;
    schedule(fragment, cycle + suspend_cycles(fragment, op, mask));
    return false;
  }
  if (suspended_before) fragment.poll.give_ups = done == mask ? 0 : fragment.poll.give_ups + 1;
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(m));
    write_lane(fragment, op.dst[0], lane, done >> lane & 1U);
  }
  if (done != 0 && orders_cluster(op)) l1_.invalidate();
  set_results(fragment, exec, cycle + parameters_.mbarrier_wait_clk);
  fragment.phase = kFresh;
  ++fragment.pc;
  return true;
}

}  // namespace ptxwire::sim
