// Named barriers, cluster barriers, mbarrier objects.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "sim/exec/mbarrier_word.hpp"
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
  if (barrier.arrived != 0 && barrier.expected != expected) {
    stop(fragment,
         fmt::format("barrier {} is waited for with {} threads here and {} elsewhere", id, expected,
                     barrier.expected),
         lane);
    return false;
  }
  if (mask != fragment.mask) split_around(fragment, mask, mask);  // lanes that the guard excludes do not wait
  barrier.expected = expected;
  // With a thread count whole warps arrive, whoever of their threads are left.
  barrier.arrived += expected != 0 && mask == warp.alive ? 32 : static_cast<uint32_t>(std::popcount(mask));
  const BarrierAction action = op.modifiers.barrier;
  if (action == BarrierAction::red_popc || action == BarrierAction::red_and ||
      action == BarrierAction::red_or) {
    const Slot& slot = op.src[2];
    uint32_t predicate = slot.kind == Slot::Kind::predicate
                             ? warp.predicates[fragment.frames.back().predicate_base + slot.index]
                             : ~0U;
    if (slot.negated) predicate = ~predicate;
    barrier.population += static_cast<uint32_t>(std::popcount(predicate & mask));
    barrier.all = barrier.all && (predicate & mask) == mask;
    barrier.any = barrier.any || (predicate & mask) != 0;
  }
  if (action == BarrierAction::arrive) {
    ++fragment.pc;
    barrier_check(cta, barrier, cycle);
    return true;
  }
  barrier.waiting.push_back(&fragment);
  fragment.wait_detail = id;
  wait(fragment, id == 0 && expected == 0 ? Wait::barrier : Wait::named_barrier, cycle);
  barrier_check(cta, barrier, cycle);
  return false;
}

void Sm::barrier_check(Cta& cta, NamedBarrier& barrier, int64_t cycle) {
  const uint32_t needed = barrier.expected != 0 ? barrier.expected : cta.threads_alive;
  if (barrier.arrived < needed) return;
  const auto warps = static_cast<uint32_t>(barrier.waiting.size());
  const int64_t done = cycle + parameters_.barrier_latency_clk +
                       static_cast<int64_t>(parameters_.barrier_per_warp_clk) * warps;
  std::vector<Fragment*> waiting;
  waiting.swap(barrier.waiting);
  const NamedBarrier result = barrier;
  barrier = {};
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
    if (op.modifiers.order != ptx::Order::relaxed) fragment.cycle += parameters_.fence_cta_clk;
    warp.cluster_arrived =
        warp.cluster_generation == leader.cluster_generation ? warp.cluster_arrived | mask : mask;
    warp.cluster_generation = leader.cluster_generation;
    leader.cluster_arrived += static_cast<uint32_t>(std::popcount(mask));
    ++fragment.pc;
    cluster_barrier_check(leader, cycle);
    return true;
  }
  ++fragment.pc;
  if (leader.cluster_generation != warp.cluster_generation) return true;
  leader.cluster_waiting.push_back(&fragment);
  wait(fragment, Wait::cluster_barrier, cycle);
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
  for (Fragment* fragment : waiting)
    device_.sm(fragment->warp->cta->sm).resume(*fragment, cycle + parameters_.cluster_barrier_clk);
}

// ------------------------------------------------------------------------------------------------ mbarrier

namespace {

struct SharedPlace {
  Cta* cta = nullptr;
  uint32_t offset = 0;
};

/// The CTA and offset of a shared address (state-space offset or generic); cta stays null if it is none.
SharedPlace shared_place(Cta& own, uint64_t address, uint32_t bytes) {
  if (address >= kWindowBytes) {
    if (window_of(address) != Window::shared) return {};
    address &= kWindowBytes - 1;
  }
  const uint64_t rank = address >> kSharedRankShift;
  const auto offset = static_cast<uint32_t>(address & ((1U << kSharedRankShift) - 1));
  if (rank > own.cluster.size()) return {};
  Cta& owner = rank == 0 ? own : *own.cluster[rank - 1];
  if (offset % 8 != 0 || offset + bytes > owner.shared.size()) return {};
  return {&owner, offset};
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
  if (!cta.shared_parked.empty()) notify_shared_write(cta, offset, 8, cycle);
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

void Sm::mbarrier(Fragment& fragment, const Op& op, uint32_t mask, int64_t cycle) {
  Cta& cta = *fragment.warp->cta;
  if (op.opcode == Opcode::mbarrier_pending_count) {
    const uint64_t* state = source64(fragment, op.src[0]);
    for (uint32_t m = mask; m != 0; m &= m - 1) {
      const auto lane = static_cast<uint32_t>(std::countr_zero(m));
      write_lane(fragment, op.dst[0], lane, MbarrierWord(state[lane]).pending());
    }
    return;
  }
  uint64_t address[32];
  addresses(fragment, op.src[0], op.offset, mask, address);
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(m));
    const SharedPlace place = shared_place(cta, address[lane], 8);
    if (place.cta == nullptr) {
      stop(fragment, fmt::format("mbarrier at {:#x}, which is no aligned shared memory", address[lane]),
           lane);
      return;
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
        mbarrier_update(*place.cta, place.offset, 0, -static_cast<int32_t>(operand), false, cycle);
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
}

// try_wait suspends until the phase completes or the time limit passes; test_wait looks once.
bool Sm::mbarrier_wait(Fragment& fragment, const Op& op, uint32_t mask, int64_t cycle) {
  Cta& cta = *fragment.warp->cta;
  const ExecOp& exec = cta.program->op(fragment.pc);
  uint64_t address[32];
  addresses(fragment, op.src[0], op.offset, mask, address);
  uint32_t done = 0;
  uint32_t first_offset = UINT32_MAX;
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(m));
    const SharedPlace place = shared_place(cta, address[lane], 8);
    if (place.cta != &cta) {
      stop(fragment,
           fmt::format("wait on an mbarrier at {:#x}, which is not in the CTA's own shared memory",
                       address[lane]),
           lane);
      return false;
    }
    const MbarrierWord word = load_word(cta, place.offset);
    const uint64_t operand = uniform_source(fragment, op.src[1], 1U << lane);
    const bool old_phase = op.modifiers.parity ? (operand & 1) != 0 : MbarrierWord(operand).phase();
    if (word.phase() != old_phase) {
      done |= 1U << lane;
    } else if (first_offset == UINT32_MAX) {
      first_offset = place.offset;
    }
  }
  const bool suspended_before = fragment.phase == 5;
  if (done != mask && op.opcode == Opcode::mbarrier_try_wait && !suspended_before) {
    fragment.phase = 5;
    fragment.wait_detail = first_offset;
    cta.mbarrier_waiting.push_back(&fragment);
    wait(fragment, Wait::mbarrier, cycle);
    // A loop that only waits would come back at once: it may sleep until the phase completes.
    if (exec.in_poll_loop && device_.group().park_polls) return false;
    double limit_ns =
        4300;  // default suspend time, HARDWARE: 7,755 clk at 1.785 GHz on H200 (FlashGPU-Sim SM90_H200)
    if (op.src[2].present()) limit_ns = static_cast<double>(uniform_source(fragment, op.src[2], mask));
    schedule(fragment,
             cycle + std::max<int64_t>(1, static_cast<int64_t>(limit_ns * device_.clock().hertz() * 1e-9)));
    return false;
  }
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(m));
    write_lane(fragment, op.dst[0], lane, done >> lane & 1U);
  }
  set_results(fragment, exec, cycle + parameters_.mbarrier_wait_clk);
  fragment.phase = 0;
  ++fragment.pc;
  return true;
}

}  // namespace ptxwire::sim
