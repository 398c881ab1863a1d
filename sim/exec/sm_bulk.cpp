// Asynchronous copies: the bulk-copy engine (TMA, non-tensor) in both directions, and cp.async of single
// lanes.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "sim/exec/atomic_ops.hpp"
#include "sim/exec/sm.hpp"

namespace ptxwire::sim {

using models::AccessKind;
using models::kLineBytes;
using models::kSectorBytes;
using models::Picoseconds;
using ptx::Op;
using ptx::Opcode;
using ptx::Space;

namespace {

/// Lines and sectors of a byte range, at most kDataBytes long.
void range_parts(WarpTransaction& transaction, uint64_t begin, uint32_t bytes) {
  const uint64_t end = begin + bytes;
  transaction.part_count = 0;
  for (uint64_t line = begin & ~uint64_t{kLineBytes - 1}; line < end; line += kLineBytes) {
    const uint64_t from = std::max(begin, line);
    const uint64_t to = std::min(end, line + kLineBytes);
    transaction.parts[transaction.part_count++] = {
        line, 0, static_cast<uint16_t>(to - from),
        static_cast<uint8_t>((2U << ((to - 1 - line) / kSectorBytes)) -
                             (1U << ((from - line) / kSectorBytes)))};
  }
}

BulkGroups& groups_of(Warp& warp, uint32_t lane) {
  if (!warp.bulk_groups[lane]) warp.bulk_groups[lane] = std::make_unique<BulkGroups>();
  return *warp.bulk_groups[lane];
}

uint64_t strip_window(uint64_t address) {
  return address >= kWindowBytes && window_of(address) == Window::shared ? address & (kWindowBytes - 1)
                                                                         : address;
}

}  // namespace

bool Sm::bulk_copy(Fragment& fragment, const Op& op, uint32_t mask, int64_t cycle) {
  Warp& warp = *fragment.warp;
  Cta& cta = *warp.cta;
  uint64_t destination[32];
  uint64_t source[32];
  uint64_t barrier[32];
  addresses(fragment, op.src[0], op.offset, mask, destination);
  addresses(fragment, op.src[1], op.offset2, mask, source);
  if (op.src[3].present()) addresses(fragment, op.src[3], op.offset3, mask, barrier);
  const bool to_global = op.modifiers.space == Space::global;
  const bool from_global = op.modifiers.source_space == Space::global;
  if (op.modifiers.multicast) {
    stop(fragment, "multicast bulk copies are not executed by this version",
         static_cast<uint32_t>(std::countr_zero(mask)));
    return false;
  }
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(m));
    const auto bytes = static_cast<uint32_t>(uniform_source(fragment, op.src[2], 1U << lane));
    const auto shared_at = [&](uint64_t address, uint32_t size, Cta** owner) -> bool {
      const uint64_t offset = strip_window(address);
      const uint64_t rank = offset >> kSharedRankShift;
      if (rank > cta.cluster.size()) return false;
      *owner = rank == 0 ? &cta : cta.cluster[rank - 1];
      return (offset & ((1U << kSharedRankShift) - 1)) + size <= (*owner)->shared.size();
    };
    const uint64_t shared_address = to_global ? source[lane] : destination[lane];
    Cta* shared_cta = nullptr;
    if (bytes % 16 != 0 || destination[lane] % 16 != 0 || source[lane] % 16 != 0) {
      stop(fragment,
           fmt::format(
               "misaligned bulk copy of {} bytes from {:#x} to {:#x}: all three must be multiples of 16",
               bytes, source[lane], destination[lane]),
           lane);
      return false;
    }
    if (!shared_at(shared_address, bytes, &shared_cta)) {
      stop(fragment,
           fmt::format("out-of-bounds access to shared memory at {:#x} ({} bytes)", shared_address, bytes),
           lane);
      return false;
    }
    if (free_bulk_copies_.empty()) {
      bulk_copies_.emplace_back();
      bulk_copies_.back().index = static_cast<uint32_t>(bulk_copies_.size() - 1);
      free_bulk_copies_.push_back(&bulk_copies_.back());
    }
    BulkCopy& copy = *free_bulk_copies_.back();
    free_bulk_copies_.pop_back();
    copy = BulkCopy{.index = copy.index};
    copy.cta = &cta;
    copy.warp = &warp;
    copy.lane = lane;
    copy.load = from_global;
    copy.between_shared = !to_global && !from_global;
    copy.shared_cta = shared_cta;
    copy.shared_offset = static_cast<uint32_t>(strip_window(shared_address) & ((1U << kSharedRankShift) - 1));
    copy.global_address = to_global ? destination[lane] : source[lane];
    copy.bytes = bytes;
    copy.pc = fragment.pc;
    if (op.opcode == Opcode::cp_reduce_async_bulk) copy.reduction = &op;
    if (op.modifiers.cache_hint) {
      const uint64_t policy = uniform_source(fragment, op.src[5], 1U << lane);
      copy.priority = (policy >> 56 & 0xF) == 2   ? models::L2Priority::first
                      : (policy >> 56 & 0xF) == 4 ? models::L2Priority::last
                                                  : models::L2Priority::normal;
    }
    if (!to_global) {
      if (!op.src[3].present() || !shared_at(barrier[lane], 8, &copy.mbarrier_cta) ||
          barrier[lane] % 8 != 0) {
        stop(fragment, fmt::format("mbarrier at {:#x}, which is no aligned shared memory", barrier[lane]),
             lane);
        return false;
      }
      copy.mbarrier_offset =
          static_cast<uint32_t>(strip_window(barrier[lane]) & ((1U << kSharedRankShift) - 1));
    } else {
      BulkGroups& groups = groups_of(warp, lane);
      ++groups.open_writes;
      copy.group = groups.first_group + groups.committed.size();
    }
    // The engine takes one command after another; the bytes then move at the width of their direction, beside
    // the commands that follow.
    const uint32_t issue = to_global ? parameters_.tma_store_issue_clk : parameters_.tma_load_issue_clk;
    int64_t leave = std::max(cycle, tma_free_) + issue;
    tma_free_ = leave;
    ++cta.transactions;  // the command itself keeps the CTA alive
    ++cta.launch->transactions;
    if (copy.between_shared) {
      const int64_t arrive = leave + parameters_.tma_latency_clk + parameters_.dsm_latency_clk +
                             static_cast<int64_t>(static_cast<double>(bytes) / parameters_.dsm_bytes_per_clk);
      device_.process().at(device_.clock().time(arrive), event_,
                           static_cast<uint64_t>(Timer::chunk) << 60 | static_cast<uint64_t>(copy.index)
                                                                           << 32);
      continue;
    }
    const uint32_t home = home_of(copy.global_address);
    const MemorySpace* space = device_.group().space(home);
    if (space == nullptr || space->resolve(copy.global_address, bytes) == nullptr) {
      stop(fragment,
           fmt::format("bulk copy touches unmapped global address {:#x} ({} bytes)", copy.global_address,
                       bytes),
           lane, space == nullptr ? "no GPU has this address" : space->describe(copy.global_address, bytes));
      return false;
    }
    if (to_global) leave += parameters_.tma_latency_clk;
    int64_t& width_free = tma_width_free_[to_global ? 1 : 0];
    leave = std::max(leave, width_free);
    for (uint32_t offset = 0; offset < bytes;) {
      const auto chunk = static_cast<uint32_t>(std::min<uint64_t>(
          bytes - offset, WarpTransaction::kDataBytes - (copy.global_address + offset) % kLineBytes));
      ++copy.chunks_left;
      send_chunk(copy, offset, chunk, leave);
      leave += static_cast<int64_t>(static_cast<double>(chunk) / parameters_.tma_bytes_per_clk);
      offset += chunk;
    }
    width_free = leave;
    if (bytes == 0) bulk_finished(copy, leave);
  }
  ++fragment.pc;
  return true;
}

void Sm::send_chunk(BulkCopy& copy, uint32_t offset, uint32_t bytes, int64_t cycle) {
  WarpTransaction& transaction = *device_.new_transaction();
  transaction.role = WarpTransaction::Role::bulk;
  transaction.kind = copy.load                   ? AccessKind::load
                     : copy.reduction != nullptr ? AccessKind::reduction
                                                 : AccessKind::store;
  transaction.op = copy.reduction;
  transaction.posted = !copy.load;
  transaction.contiguous = true;
  transaction.l2_priority = copy.priority;
  transaction.cta = copy.cta;
  transaction.warp = copy.warp;
  transaction.bulk = &copy;
  transaction.bulk_offset = offset;
  transaction.bulk_bytes = bytes;
  transaction.base = copy.global_address + offset;
  const uint32_t home = home_of(transaction.base);
  transaction.home_gpu = {home >= kHostBias ? home - kHostBias : home};
  transaction.host_memory = home >= kHostBias;
  range_parts(transaction, transaction.base, bytes);
  if (!copy.load)
    std::memcpy(transaction.data.data(), copy.shared_cta->shared.data() + copy.shared_offset + offset, bytes);
  submit(transaction, cycle);
}

void Sm::chunk_completed(WarpTransaction& transaction, Picoseconds now) {
  const int64_t cycle = device_.cycle(now);
  if (transaction.role == WarpTransaction::Role::async_copy) {
    Warp& warp = *transaction.warp;
    Cta& cta = *warp.cta;
    for (uint32_t m = transaction.mask; m != 0; m &= m - 1) {
      const auto lane = static_cast<size_t>(std::countr_zero(m));
      uint32_t offset = 0;
      std::memcpy(&offset, transaction.second.data() + lane * 4, 4);
      std::memcpy(cta.shared.data() + offset, transaction.data.data() + lane * transaction.lane_bytes,
                  transaction.second[128 + lane]);
    }
    finish_async_group(warp, transaction.store_epoch, cycle);
    return;
  }
  BulkCopy& copy = *transaction.bulk;
  if (copy.load)
    std::memcpy(copy.shared_cta->shared.data() + copy.shared_offset + transaction.bulk_offset,
                transaction.data.data(), transaction.bulk_bytes);
  if (--copy.chunks_left != 0) return;
  if (copy.load) {
    device_.process().at(device_.clock().time(cycle + parameters_.tma_latency_clk), event_,
                         static_cast<uint64_t>(Timer::chunk) << 60 | static_cast<uint64_t>(copy.index) << 32);
  } else {
    bulk_finished(copy, cycle);
  }
}

void Sm::bulk_finished(BulkCopy& copy, int64_t cycle) {
  if (copy.between_shared) {
    // shared::cta -> shared::cluster: the source is the CTA's own memory, `global_address` holds its offset.
    const uint64_t from = strip_window(copy.global_address) & ((1U << kSharedRankShift) - 1);
    uint8_t* target = copy.shared_cta->shared.data() + copy.shared_offset;
    if (from + copy.bytes <= copy.cta->shared.size() && copy.reduction != nullptr) {
      std::vector<uint8_t> operands(
          copy.cta->shared.begin() + static_cast<std::ptrdiff_t>(from),
          copy.cta->shared.begin() + static_cast<std::ptrdiff_t>(from + copy.bytes));
      const ptx::Modifiers& modifiers = copy.reduction->modifiers;
      apply_atomic_bytes(modifiers.atomic, modifiers.type, copy.bytes, target, operands.data(), nullptr,
                         false);
    } else if (from + copy.bytes <= copy.cta->shared.size()) {
      std::memcpy(target, copy.cta->shared.data() + from, copy.bytes);
    }
  }
  if (copy.load || copy.between_shared) {
    notify_shared_write(*copy.shared_cta, copy.shared_offset, copy.bytes, cycle);
    mbarrier_update(*copy.mbarrier_cta, copy.mbarrier_offset, 0, -static_cast<int32_t>(copy.bytes), false,
                    cycle);
  } else {
    l1_.drop(copy.global_address, copy.bytes);  // the thread sees them once its group is done
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
    fragment.phase = 6;
    wait(fragment, Wait::bulk_copy, cycle);
    return false;
  }
  if (op.modifiers.read && tma_free_ > fragment.cycle)
    fragment.cycle = std::min(tma_free_, fragment.cycle + 4096);
  fragment.phase = 0;
  ++fragment.pc;
  return true;
}

// ------------------------------------------------------------------------------------------------ cp.async

bool Sm::async_copy(Fragment& fragment, const Op& op, uint32_t mask, int64_t cycle) {
  Warp& warp = *fragment.warp;
  Cta& cta = *warp.cta;
  uint64_t destination[32];
  uint64_t source[32];
  addresses(fragment, op.src[0], op.offset, mask, destination);
  addresses(fragment, op.src[1], op.offset2, mask, source);
  const auto bytes = static_cast<uint32_t>(uniform_source(fragment, op.src[2], mask));
  WarpTransaction& transaction = *device_.new_transaction();
  transaction.role = WarpTransaction::Role::async_copy;
  transaction.kind = AccessKind::load;
  transaction.posted = false;
  transaction.lane_bytes = static_cast<uint8_t>(bytes);
  transaction.l2_prefetch_bytes = op.modifiers.l2_prefetch_bytes;
  transaction.cta = &cta;
  transaction.warp = &warp;
  transaction.contiguous = false;
  uint32_t moving = 0;
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(m));
    const uint64_t offset = strip_window(destination[lane]);
    if (offset + bytes > cta.shared.size() || offset % bytes != 0 || source[lane] % bytes != 0) {
      stop(fragment,
           fmt::format("out-of-bounds or misaligned cp.async of {} bytes from {:#x} to shared {:#x}", bytes,
                       source[lane], offset),
           lane);
      device_.recycle(&transaction);
      return false;
    }
    uint32_t valid = bytes;
    if (op.src[3].kind == ptx::Slot::Kind::predicate) {
      const uint32_t predicate = warp.predicates[fragment.frames.back().predicate_base + op.src[3].index];
      if (((predicate >> lane & 1U) != 0) != op.src[3].negated) valid = 0;
    } else if (op.src[3].present()) {
      valid = std::min(bytes, static_cast<uint32_t>(uniform_source(fragment, op.src[3], 1U << lane)));
    }
    if (valid != bytes) std::memset(cta.shared.data() + offset, 0, bytes);
    if (valid == 0) continue;
    const auto narrow = static_cast<uint32_t>(offset);
    std::memcpy(transaction.second.data() + size_t{lane} * 4, &narrow, 4);
    transaction.second[128 + lane] = static_cast<uint8_t>(valid);
    moving |= 1U << lane;
  }
  if (moving == 0) {
    device_.recycle(&transaction);
  } else {
    transaction.mask = moving;
    transaction.base = source[std::countr_zero(moving)];
    std::copy_n(source, 32, transaction.address.begin());
    const uint32_t home = home_of(transaction.base);
    transaction.home_gpu = {home};
    const MemorySpace* space = device_.group().space(home);
    if (space == nullptr || !build_parts(transaction)) {
      stop(fragment,
           fmt::format("access to unmapped global address {:#x} ({} bytes)", transaction.base, bytes),
           static_cast<uint32_t>(std::countr_zero(moving)));
      device_.recycle(&transaction);
      return false;
    }
    ++warp.async_groups.back();
    transaction.store_epoch = warp.async_first + warp.async_groups.size() - 1;
    const int64_t start =
        lsu_.claim(cycle, std::max(2U, static_cast<uint32_t>(std::popcount(moving)) * bytes / 128));
    submit(transaction, start);
  }
  ++fragment.pc;
  return true;
}

void Sm::finish_async_group(Warp& warp, uint64_t group, int64_t cycle) {
  --warp.async_groups[group - warp.async_first];
  while (warp.async_groups.size() > 1 && warp.async_groups.front() == 0) {
    warp.async_groups.pop_front();
    ++warp.async_first;
  }
  for (size_t i = 0; i < warp.async_arrivals.size();) {
    const auto [last, offset, arrivals] = warp.async_arrivals[i];
    if (warp.async_first > last || (warp.async_first == last && warp.async_groups.front() == 0)) {
      warp.async_arrivals.erase(warp.async_arrivals.begin() + static_cast<std::ptrdiff_t>(i));
      mbarrier_update(*warp.cta, static_cast<uint32_t>(offset), static_cast<int32_t>(arrivals), 0, false,
                      cycle);
    } else {
      ++i;
    }
  }
  for (Fragment* fragment : warp.fragments)
    if (fragment->waiting && fragment->reason == Wait::bulk_copy) resume(*fragment, cycle);
}

bool Sm::async_control(Fragment& fragment, const Op& op, uint32_t mask, int64_t cycle) {
  Warp& warp = *fragment.warp;
  switch (op.opcode) {
    case Opcode::cp_async_commit_group:
      if (warp.async_groups.size() == 1 && warp.async_groups.front() == 0) {
        ++warp.async_first;
      } else {
        warp.async_groups.push_back(0);
      }
      break;
    case Opcode::cp_async_mbarrier_arrive: {
      uint64_t address[32];
      addresses(fragment, op.src[0], op.offset, mask, address);
      for (uint32_t m = mask; m != 0; m &= m - 1) {
        const uint64_t offset = strip_window(address[std::countr_zero(m)]);
        if (offset + 8 > warp.cta->shared.size() || offset % 8 != 0) {
          stop(fragment, fmt::format("mbarrier at {:#x}, which is no aligned shared memory", offset),
               static_cast<uint32_t>(std::countr_zero(m)));
          return false;
        }
        // Without .noinc the arrival is first added to what the phase expects, so it is neutral.
        if (!op.modifiers.no_increment)
          mbarrier_update(*warp.cta, static_cast<uint32_t>(offset), -1, 0, false, cycle);
        warp.async_arrivals.push_back({warp.async_first + warp.async_groups.size() - 1, offset, 1});
      }
      if (warp.async_groups.size() == 1 && warp.async_groups.front() == 0) {
        ++warp.async_groups.front();
        finish_async_group(warp, warp.async_first, cycle);
      }
      break;
    }
    default: {
      const bool all = op.opcode == Opcode::cp_async_wait_all;
      const uint64_t allowed = all || !op.src[0].present() ? 0 : uniform_source(fragment, op.src[0], mask);
      const size_t closed = all ? warp.async_groups.size() : warp.async_groups.size() - 1;
      bool pending = false;
      for (size_t i = 0; i + allowed < closed; ++i) pending = pending || warp.async_groups[i] != 0;
      if (pending) {
        fragment.phase = 6;
        wait(fragment, Wait::bulk_copy, cycle);
        return false;
      }
      fragment.phase = 0;
      break;
    }
  }
  ++fragment.pc;
  return true;
}

}  // namespace ptxwire::sim
