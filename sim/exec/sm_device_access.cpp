// Accesses to memory of a GPU or a host: from lanes to transactions.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "sim/exec/access_order.hpp"
#include "sim/exec/l2_policy.hpp"
#include "sim/exec/lane_runs.hpp"
#include "sim/exec/sm.hpp"

namespace ptxwire::sim {

using models::AccessKind;
using models::kLineBytes;
using models::kSectorBytes;
using ptx::Op;
using ptx::Scope;

bool Sm::access_device(Fragment& fragment, const ExecOp& exec, const Op& op, uint32_t mask,
                       const uint64_t* address, int64_t cycle) {
  Warp& warp = *fragment.warp;
  const uint32_t lane_bytes = type_bytes(op.modifiers.type) * op.modifiers.vector;
  const uint32_t first_home = home_of(address[std::countr_zero(mask)]);
  const LaneSurvey survey = survey_lanes(mask, address, lane_bytes);
  const uint64_t offset_bits = lane_bytes - 1;  // sizes are powers of two
  if ((survey.any & offset_bits) != 0) {
    uint32_t lane = 0;
    while ((mask >> lane & 1U) == 0 || (address[lane] & offset_bits) == 0) ++lane;
    stop(fragment,
         fmt::format("misaligned access to global memory at {:#x} ({} bytes)", address[lane], lane_bytes),
         lane);
    return false;
  }
  const bool one_home = survey.different >> kGpuShift == 0;
  const bool contiguous = survey.contiguous;
  const bool load = exec.kind == ExecKind::load;
  const bool store = exec.kind == ExecKind::store || exec.kind == ExecKind::reduction;
  if (load && may_read_l1(op) && first_home < kHostBias && one_home) {
    alignas(16) uint8_t data[512];
    bool hit = true;
    if (contiguous) {
      const auto lane = static_cast<size_t>(std::countr_zero(mask));
      hit = l1_.read(address[lane], static_cast<uint32_t>(std::popcount(mask)) * lane_bytes,
                     data + lane * lane_bytes);
    }
    for (uint32_t m = mask; m != 0 && hit && !contiguous; m &= m - 1) {
      const auto lane = static_cast<size_t>(std::countr_zero(m));
      hit = l1_.read(address[lane], lane_bytes, data + lane * lane_bytes);
    }
    if (hit) {
      const int64_t start = claim_lsu(
          fragment, cycle, std::max(2U, static_cast<uint32_t>(std::popcount(mask)) * lane_bytes / 128));
      scatter(warp, fragment.frames.back().row_base, op, mask, lane_bytes, data);
      set_results(fragment, exec, start + parameters_.l1_hit_latency_clk);
      fragment.poll.impure = true;  // what L1 holds does not change by itself
      fragment.phase = kFresh;
      ++fragment.pc;
      return true;
    }
  }
  const bool remote = !one_home || first_home != device_.id().value;
  if (device_.group().machine->untimed && is_weak(op) && contiguous && mask == ~0U && !remote &&
      !exec.in_poll_loop && (load || exec.kind == ExecKind::store))
    return move_at_once(fragment, exec, op, address, cycle);
  const auto lanes = static_cast<uint32_t>(std::popcount(mask));
  if (store) {
    if (!room_for(fragment, remote ? kRemoteStoreRoom : kLocalStoreRoom, uint64_t{lanes} * lane_bytes, cycle))
      return false;
  } else if (!room_for(fragment, kLoadRoom, std::max(1U, lanes * lane_bytes / kLineBytes), cycle)) {
    return false;
  }
  const bool blocking = !store && (acquires(op) || !one_home);
  const int64_t start = claim_lsu(
      fragment, cycle,
      std::max<uint32_t>(static_cast<uint32_t>(parameters_.lsu_interval_clk), lanes * lane_bytes / 128));
  Wait reason = Wait::local_load;
  if (exec.kind == ExecKind::atomic) {
    reason = Wait::atomic;
  } else if (exec.in_poll_loop) {
    reason = remote ? Wait::remote_poll : Wait::local_poll;
  } else if (remote) {
    reason = Wait::remote_load;
  }
  if (!store) {
    set_pending(fragment, exec, mask, reason);
    if (remote || exec.kind == ExecKind::atomic) fragment.poll.remote = true;
  } else {
    fragment.poll.impure = true;
  }
  uint32_t left = mask;
  uint64_t transactions = 0;
  while (left != 0) {
    const uint32_t home = home_of(address[std::countr_zero(left)]);
    uint32_t same = left;
    if (!one_home) {
      same = 0;
      for (uint32_t m = left; m != 0; m &= m - 1)
        if (home_of(address[std::countr_zero(m)]) == home) same |= m & (~m + 1);
    }
    left &= ~same;
    ++transactions;
    access_home(fragment, exec, op, same, address, home, start, blocking);
    if (device_.fault_seen()) return false;
  }
  fragment.phase = kFresh;
  ++fragment.pc;
  if (!blocking) return true;
  fragment.wait_detail = transactions;
  wait(fragment, reason, cycle);
  return false;
}

// A whole warp's plain access to a range of local memory on a machine without time: bytes move between memory
// and registers, with nothing on the way. All other local accesses of such a machine are answered inside
// submit(), so that none of them is overtaken.
bool Sm::move_at_once(Fragment& fragment, const ExecOp& exec, const Op& op, const uint64_t* address,
                      int64_t cycle) {
  const uint32_t lane_bytes = type_bytes(op.modifiers.type) * op.modifiers.vector;
  const uint32_t bytes = 32 * lane_bytes;
  uint8_t* memory = device_.space(home_of(address[0]))->resolve(address[0], bytes);
  if (memory == nullptr) {
    stop_unmapped(fragment, ~0U, address, lane_bytes);
    return false;
  }
  if (exec.kind == ExecKind::load) {
    scatter(*fragment.warp, fragment.frames.back().row_base, op, ~0U, lane_bytes, memory);
    set_results(fragment, exec, cycle + 1);
  } else {
    gather_operands(fragment, op, 1, ~0U, lane_bytes, memory);
    device_.notify_write(address[0], bytes, device_.clock().time(cycle), fragment.warp->slot());
  }
  fragment.poll.impure = true;
  fragment.phase = kFresh;
  ++fragment.pc;
  return true;
}

void Sm::access_home(Fragment& fragment, const ExecOp& exec, const Op& op, uint32_t mask,
                     const uint64_t* address, uint32_t home, int64_t cycle, bool blocking) {
  Warp& warp = *fragment.warp;
  const uint32_t lane_bytes = type_bytes(op.modifiers.type) * op.modifiers.vector;
  const MemorySpace* space = device_.space(home);
  WarpTransaction& transaction = *device_.new_transaction();
  transaction.role = WarpTransaction::Role::lanes;
  transaction.lane_bytes = static_cast<uint8_t>(lane_bytes);
  transaction.mask = mask;
  transaction.pc = fragment.pc;
  transaction.op = &op;
  transaction.cta = warp.cta;
  transaction.warp = &warp;
  transaction.waker = warp.slot();
  transaction.fragment = &fragment;
  transaction.row_base = fragment.frames.back().row_base;
  transaction.wakes_fragment = blocking;
  transaction.base = address[std::countr_zero(mask)];
  transaction.set_home(home);
  if (space == nullptr || !build_parts(transaction, address)) {
    stop_unmapped(fragment, mask, address, lane_bytes);
    device_.recycle(&transaction);
    return;
  }
  const bool load = exec.kind == ExecKind::load;
  transaction.posted = exec.kind == ExecKind::store || exec.kind == ExecKind::reduction;
  transaction.kind = load                            ? AccessKind::load
                     : exec.kind == ExecKind::store  ? AccessKind::store
                     : exec.kind == ExecKind::atomic ? AccessKind::atomic
                                                     : AccessKind::reduction;
  transaction.l2_prefetch_bytes = op.modifiers.l2_prefetch_bytes;
  transaction.l2_hint = modifier_hint(op.modifiers);
  if (op.modifiers.cache_hint) transaction.l2_hint = policy_hint(uniform_source(fragment, op.src[5], mask));
  transaction.fills_l1 = load && l1_.present() && may_read_l1(op) &&
                         op.modifiers.l1 != ptx::EvictPriority::no_allocate && !transaction.host_memory;
  if (transaction.fills_l1 || op.modifiers.atomic == ptx::AtomicOp::cas) transaction.make_room();
  transaction.invalidates_l1 = acquires(op) && op.modifiers.scope != Scope::cta;
  transaction.poll = load && exec.in_poll_loop && !transaction.remote() && !transaction.host_memory;
  if (transaction.host_memory) fragment.poll.remote = true;
  const bool by_range = transaction.contiguous && (load || exec.kind == ExecKind::store);
  if (!by_range || transaction.poll) std::copy_n(address, 32, transaction.address.begin());
  if (!load) gather_operands(fragment, op, 1, mask, lane_bytes, transaction.data());
  if (op.modifiers.atomic == ptx::AtomicOp::cas)
    gather_operands(fragment, op, 2, mask, lane_bytes, transaction.second());
  if (transaction.kind == AccessKind::store) {
    if (transaction.contiguous) {
      const auto lane = static_cast<size_t>(std::countr_zero(mask));
      l1_.write(transaction.base, transaction.data() + lane * lane_bytes,
                static_cast<uint32_t>(std::popcount(mask)) * lane_bytes);
    }
    for (uint32_t m = mask; m != 0 && !transaction.contiguous; m &= m - 1) {
      const auto lane = static_cast<size_t>(std::countr_zero(m));
      l1_.write(address[lane], transaction.data() + lane * lane_bytes, lane_bytes);
    }
  }
  if (transaction.kind == AccessKind::atomic || transaction.kind == AccessKind::reduction)
    for (uint32_t m = mask; m != 0; m &= m - 1) l1_.drop(address[std::countr_zero(m)], lane_bytes);
  transaction.l1_changes = l1_.changes();
  transaction.answer_at_once = !blocking && !transaction.poll;
  transaction.tracked_store = transaction.posted;
  transaction.window_bytes = 0;
  if (transaction.posted) {
    transaction.store_epoch = warp.cta->stores.add();
    transaction.window_bytes = static_cast<uint32_t>(std::popcount(mask)) * lane_bytes;
    (transaction.remote() || transaction.host_memory ? remote_store_bytes_ : local_store_bytes_) +=
        transaction.window_bytes;
    store_port_free_ =
        std::max(store_port_free_, static_cast<double>(cycle)) +
        transaction.sectors(transaction.part_count) * kSectorBytes / parameters_.store_port_bytes_per_clk;
    cycle = static_cast<int64_t>(store_port_free_);
  } else {
    outstanding_lines_ += transaction.part_count;
  }
  submit(transaction, cycle);
}

// Names the first lane whose bytes are not in live memory.
void Sm::stop_unmapped(const Fragment& fragment, uint32_t mask, const uint64_t* address, uint32_t bytes) {
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(m));
    const MemorySpace* space = device_.space(home_of(address[lane]));
    if (space != nullptr && space->resolve(address[lane], bytes) != nullptr) continue;
    const uint32_t home = home_of(address[lane]);
    std::string where = "no GPU has this address";
    if (space != nullptr)
      where = space->describe(address[lane], bytes);
    else if (device_.group().space(home) != nullptr)
      where = fmt::format("it belongs to GPU {}, which is in another node: loads and stores do not reach it",
                          home % kHostBias);
    stop(fragment, fmt::format("access to unmapped global address {:#x} ({} bytes)", address[lane], bytes),
         lane, where);
    return;
  }
}

void Sm::submit(WarpTransaction& transaction, int64_t cycle) {
  transaction.source_sm = {id_};
  transaction.client = &device_;
  transaction.owner = transaction.cta->launch->owner;
  ++transaction.cta->transactions;
  ++transaction.cta->launch->transactions;
  device_.memory().submit(transaction, device_.clock().time(cycle));
}

// Splits the lanes over 128-byte lines; false if an address is not in live memory.
bool Sm::build_parts(WarpTransaction& transaction, const uint64_t* addresses_of_lanes) const {
  const uint32_t mask = transaction.mask;
  const uint32_t lane_bytes = transaction.lane_bytes;
  const MemorySpace& space = *device_.space(transaction.home());
  const auto first = static_cast<uint32_t>(std::countr_zero(mask));
  const auto lanes = static_cast<uint32_t>(std::popcount(mask));
  transaction.contiguous = is_contiguous(mask, addresses_of_lanes, lane_bytes);
  if (transaction.contiguous) {
    const uint64_t begin = transaction.base;
    const uint64_t bytes = uint64_t{lanes} * lane_bytes;
    if (space.resolve(begin, bytes) == nullptr) return false;
    transaction.cover(begin, bytes);
    uint32_t low = first;
    for (uint32_t p = 0; p < transaction.part_count; ++p) {
      const uint32_t high = low + transaction.parts[p].bytes / lane_bytes;
      transaction.parts[p].lane_mask = static_cast<uint32_t>((1ULL << high) - (1ULL << low));
      low = high;
    }
    return true;
  }
  transaction.part_count = 0;
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(m));
    const uint64_t address = addresses_of_lanes[lane];
    if (space.resolve(address, lane_bytes) == nullptr) return false;
    models::TransactionPart& part = transaction.part_of(models::line_of(address));
    part.lane_mask |= 1U << lane;
    part.bytes = static_cast<uint16_t>(std::min<uint32_t>(part.bytes + lane_bytes, kLineBytes));
    part.sector_mask |= models::sectors_touched(address - part.line, lane_bytes);
  }
  return true;
}

}  // namespace ptxwire::sim
