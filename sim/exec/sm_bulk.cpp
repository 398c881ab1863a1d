// The bulk-copy engine (TMA): copies of ranges between global and shared memory, and the groups of all bulk
// copies.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "sim/exec/atomic_ops.hpp"
#include "sim/exec/l2_policy.hpp"
#include "sim/exec/shared_place.hpp"
#include "sim/exec/sm.hpp"

namespace ptxwire::sim {

using models::AccessKind;
using models::kLineBytes;
using models::kSectorBytes;
using ptx::Op;
using ptx::Opcode;
using ptx::Space;

namespace {

BulkGroups& groups_of(Warp& warp, uint32_t lane) {
  if (!warp.bulk_groups[lane]) warp.bulk_groups[lane] = std::make_unique<BulkGroups>();
  return *warp.bulk_groups[lane];
}

}  // namespace

bool Sm::bulk_copy(Fragment& fragment, const Op& op, uint32_t mask, int64_t cycle) {
  uint64_t destination[32];
  uint64_t source[32];
  uint64_t barrier[32] = {};
  addresses(fragment, op.src[0], op.offset, destination);
  addresses(fragment, op.src[1], op.offset2, source);
  if (op.src[3].present()) addresses(fragment, op.src[3], op.offset3, barrier);
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(m));
    BulkCopy described;
    if (!describe_bulk_copy(fragment, op, lane, destination[lane], source[lane], barrier[lane], described))
      return false;
    start_bulk_copy(new_bulk_copy(std::move(described)), cycle);
  }
  ++fragment.pc;
  return true;
}

BulkCopy& Sm::new_bulk_copy(BulkCopy described) {
  if (free_bulk_copies_.empty()) {
    bulk_copies_.emplace_back();
    bulk_copies_.back().index = static_cast<uint32_t>(bulk_copies_.size() - 1);
    free_bulk_copies_.push_back(&bulk_copies_.back());
  }
  BulkCopy& copy = *free_bulk_copies_.back();
  free_bulk_copies_.pop_back();
  described.index = copy.index;
  copy = std::move(described);
  return copy;
}

// What one lane asks for; false if a part of it is not where it should be.
bool Sm::describe_bulk_copy(Fragment& fragment, const Op& op, uint32_t lane, uint64_t destination,
                            uint64_t source, uint64_t barrier, BulkCopy& copy) {
  Cta& cta = *fragment.warp->cta;
  const bool to_global = op.modifiers.space == Space::global;
  const bool from_global = op.modifiers.source_space == Space::global;
  const auto bytes = static_cast<uint32_t>(uniform_source(fragment, op.src[2], 1U << lane));
  if (bytes % 16 != 0 || destination % 16 != 0 || source % 16 != 0) {
    stop(
        fragment,
        fmt::format("misaligned bulk copy of {} bytes from {:#x} to {:#x}: all three must be multiples of 16",
                    bytes, source, destination),
        lane);
    return false;
  }
  const auto outside = [&](uint64_t address) {
    stop(fragment, fmt::format("out-of-bounds access to shared memory at {:#x} ({} bytes)", address, bytes),
         lane);
    return false;
  };
  copy.cta = &cta;
  copy.warp = fragment.warp;
  copy.lane = lane;
  copy.pc = fragment.pc;
  copy.bytes = bytes;
  copy.load = from_global;
  copy.between_shared = !to_global && !from_global;
  if (!from_global) {  // the source is .shared::cta
    const SharedPlace place = shared_place(cta, source, bytes);
    if (place.cta != &cta) return outside(source);
    copy.source_offset = place.offset;
  }
  const SharedPlace place = shared_place(cta, to_global ? source : destination, bytes);
  if (place.cta == nullptr) return outside(destination);
  copy.shared_cta = place.cta;
  copy.shared_offset = place.offset;
  if (op.opcode == Opcode::cp_reduce_async_bulk) copy.reduction = &op;
  if (op.modifiers.cache_hint) copy.hint = policy_hint(uniform_source(fragment, op.src[5], 1U << lane));
  if (!to_global && !take_mbarrier(fragment, op, lane, barrier, copy)) return false;
  if (copy.between_shared) return true;
  copy.global_address = to_global ? destination : source;
  const MemorySpace* space = device_.space(home_of(copy.global_address));
  if (space != nullptr && space->resolve(copy.global_address, bytes) != nullptr)
    return !device_.group().elides || follow_bulk(fragment, copy, to_global);
  stop(fragment,
       fmt::format("bulk copy touches unmapped global address {:#x} ({} bytes)", copy.global_address, bytes),
       lane, space == nullptr ? "no GPU has this address" : space->describe(copy.global_address, bytes));
  return false;
}

// The mbarrier that is told of the bytes, and which CTAs get them: those of the mask, each at the same place.
bool Sm::take_mbarrier(Fragment& fragment, const Op& op, uint32_t lane, uint64_t barrier, BulkCopy& copy) {
  Cta& cta = *fragment.warp->cta;
  const SharedPlace object = shared_place(cta, barrier, 8);
  if (!op.src[3].present() || object.cta == nullptr || barrier % 8 != 0) {
    stop(fragment, fmt::format("mbarrier at {:#x}, which is no aligned shared memory", barrier), lane);
    return false;
  }
  copy.mbarrier_cta = object.cta;
  copy.mbarrier_offset = object.offset;
  if (!op.modifiers.multicast) return true;
  copy.receivers = static_cast<uint16_t>(uniform_source(fragment, op.src[4], 1U << lane));
  if (copy.receivers >> cta.cluster.size() == 0) return true;
  stop(fragment,
       fmt::format("multicast to CTAs {:#x} of a cluster of {}", copy.receivers, cta.cluster.size()), lane);
  return false;
}

// The engine takes one command after another; the bytes then move at the width of their direction, beside the
// commands that follow.
void Sm::start_bulk_copy(BulkCopy& copy, int64_t cycle) {
  const bool to_global = !copy.load && !copy.between_shared;
  int64_t leave = admit_bulk_copy(copy, cycle);
  if (copy.between_shared) {
    const int64_t arrive =
        claim_cluster_port(copy.bytes, leave + parameters_.tma_latency_clk) + parameters_.dsm_latency_clk;
    finish_bulk_copy_at(copy, arrive);
    return;
  }
  int64_t& width_free = tma_width_free_[to_global ? 1 : 0];
  leave = std::max(leave, width_free);
  for (uint32_t offset = 0; offset < copy.bytes;) {
    const auto chunk = static_cast<uint32_t>(std::min<uint64_t>(
        copy.bytes - offset, WarpTransaction::kDataBytes - (copy.global_address + offset) % kLineBytes));
    ++copy.chunks_left;
    send_chunk(copy, offset, chunk, leave);
    leave += static_cast<int64_t>(static_cast<double>(chunk) / parameters_.tma_bytes_per_clk);
    offset += chunk;
  }
  width_free = leave;
  if (copy.bytes == 0) bulk_finished(copy, leave);
}

// Returns when the bytes of the command start.
int64_t Sm::admit_bulk_copy(BulkCopy& copy, int64_t cycle) {
  const bool to_global = !copy.load && !copy.between_shared;
  if (to_global) {
    BulkGroups& groups = groups_of(*copy.warp, copy.lane);
    ++groups.open_writes;
    copy.group = groups.first_group + groups.committed.size();
  }
  int64_t leave = std::max(cycle, tma_free_) +
                  (to_global ? parameters_.tma_store_issue_clk : parameters_.tma_load_issue_clk);
  tma_free_ = leave;
  ++copy.cta->transactions;  // the command itself keeps the CTA alive
  ++copy.cta->launch->transactions;
  return to_global ? leave + parameters_.tma_latency_clk : leave;
}

void Sm::finish_bulk_copy_at(const BulkCopy& copy, int64_t cycle) {
  device_.process().at(device_.clock().time(cycle), event_,
                       static_cast<uint64_t>(Timer::chunk) << 60 | static_cast<uint64_t>(copy.index) << 32);
}

void Sm::send_chunk(BulkCopy& copy, uint32_t offset, uint32_t bytes, int64_t cycle) {
  WarpTransaction& transaction = *device_.new_transaction();
  transaction.role = WarpTransaction::Role::bulk;
  transaction.make_room();
  transaction.kind = copy.load                   ? AccessKind::load
                     : copy.reduction != nullptr ? AccessKind::reduction
                                                 : AccessKind::store;
  transaction.op = copy.reduction;
  transaction.posted = !copy.load;
  transaction.contiguous = true;
  transaction.l2_hint = copy.hint;
  transaction.cta = copy.cta;
  transaction.warp = copy.warp;
  transaction.bulk = &copy;
  transaction.bulk_offset = offset;
  transaction.bulk_bytes = bytes;
  transaction.base = copy.global_address + offset;
  transaction.set_home(home_of(transaction.base));
  transaction.cover(transaction.base, bytes);
  if (!copy.load)
    std::memcpy(transaction.data(), copy.shared_cta->shared.data() + copy.shared_offset + offset, bytes);
  submit(transaction, cycle);
}

void Sm::chunk_completed(const WarpTransaction& transaction, int64_t cycle) {
  BulkCopy& copy = *transaction.bulk;
  if (copy.box != nullptr) {
    box_arrived(transaction);
  } else if (copy.load) {
    for_each_receiver(copy, [&](Cta& cta) {
      std::memcpy(cta.shared.data() + copy.shared_offset + transaction.bulk_offset, transaction.data(),
                  transaction.bulk_bytes);
    });
  }
  if (--copy.chunks_left == 0) bulk_completes(copy, cycle);
}

// All bytes are there; those of a load still have to be announced.
void Sm::bulk_completes(BulkCopy& copy, int64_t cycle) {
  if (copy.load) {
    finish_bulk_copy_at(copy, cycle + parameters_.tma_latency_clk);
  } else {
    bulk_finished(copy, cycle);
  }
}

void Sm::bulk_finished(BulkCopy& copy, int64_t cycle) {
  if (copy.between_shared) {
    const uint8_t* from = copy.cta->shared.data() + copy.source_offset;
    uint8_t* target = copy.shared_cta->shared.data() + copy.shared_offset;
    if (copy.reduction != nullptr) {
      std::vector<uint8_t> operands(from, from + copy.bytes);
      const ptx::Modifiers& modifiers = copy.reduction->modifiers;
      apply_atomic_bytes(modifiers.atomic, modifiers.type, copy.bytes, target, operands.data(), nullptr,
                         false);
    } else {
      std::memmove(target, from, copy.bytes);
    }
  }
  if (copy.box != nullptr) finish_box(copy);
  if (copy.load || copy.between_shared) {
    for_each_receiver(copy, [&](Cta& cta) {
      Cta& told = copy.receivers == 0 ? *copy.mbarrier_cta : cta;
      notify_shared_write(cta, copy.shared_offset, copy.bytes, cycle, kWokenOtherwise);
      mbarrier_update(told, copy.mbarrier_offset, 0, -static_cast<int32_t>(copy.bytes), false, cycle);
    });
  } else {
    if (copy.box == nullptr) l1_.drop(copy.global_address, copy.bytes);  // seen once the group is done
    Warp& warp = *copy.warp;
    BulkGroups& groups = groups_of(warp, copy.lane);
    if (copy.group == groups.first_group + groups.committed.size()) {
      --groups.open_writes;
    } else {
      --groups.committed[copy.group - groups.first_group];
      while (!groups.committed.empty() && groups.committed.front() == 0) {
        groups.committed.pop_front();
        ++groups.first_group;
      }
    }
    for (Fragment* fragment : warp.fragments)
      if (fragment->waiting && fragment->reason == Wait::bulk_copy) resume(*fragment, cycle);
  }
  Cta& cta = *copy.cta;
  copy.box.reset();
  free_bulk_copies_.push_back(&copy);
  device_.transaction_done(cta, device_.clock().time(cycle));
}

// commit_group closes the thread's open group; wait_group N waits until at most the N youngest groups are
// pending. The .read form asks only that the sources were read, which they are when the engine takes the
// command.
bool Sm::bulk_control(Fragment& fragment, const Op& op, uint32_t mask, int64_t cycle) {
  Warp& warp = *fragment.warp;
  if (op.opcode == Opcode::cp_async_bulk_commit_group) {
    for (uint32_t m = mask; m != 0; m &= m - 1) {
      BulkGroups& groups = groups_of(warp, static_cast<uint32_t>(std::countr_zero(m)));
      if (groups.open_writes == 0 && groups.committed.empty()) {
        ++groups.first_group;
      } else {
        groups.committed.push_back(groups.open_writes);
      }
      groups.open_writes = 0;
    }
    ++fragment.pc;
    return true;
  }
  const uint64_t allowed = op.src[0].present() ? uniform_source(fragment, op.src[0], mask) : 0;
  bool pending = false;
  for (uint32_t m = mask; m != 0 && !op.modifiers.read; m &= m - 1) {
    const auto& groups = warp.bulk_groups[static_cast<size_t>(std::countr_zero(m))];
    if (!groups || groups->committed.size() <= allowed) continue;
    for (size_t i = 0; i + allowed < groups->committed.size(); ++i)
      pending = pending || groups->committed[i] != 0;
  }
  if (pending) {
    fragment.phase = kWaitedForCopies;
    wait(fragment, Wait::bulk_copy, cycle);
    return false;
  }
  if (op.modifiers.read && tma_free_ > fragment.cycle)
    fragment.cycle = std::min(tma_free_, fragment.cycle + 4096);
  fragment.phase = kFresh;
  ++fragment.pc;
  return true;
}

}  // namespace ptxwire::sim
