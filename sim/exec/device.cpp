#include "sim/exec/device.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "sim/exec/atomic_ops.hpp"
#include "sim/exec/sm.hpp"
#include "sim/memory/mapped_registers.hpp"

namespace ptxwire::sim {

using models::AccessKind;
using models::kLineBytes;
using models::kSectorBytes;
using models::Picoseconds;

Device::Device(DeviceGroup& group, models::GpuId id, models::LogicalProcess& process,
               models::GpuMemorySystem& memory)
    : group_(group),
      id_(id),
      first_peer_(id.value - id.value % group.machine->gpus),
      process_(process),
      memory_(memory),
      clock_(group.machine->sm.clock_hz),
      scheduler_(*this) {
  for (uint32_t s = 0; s < group.machine->sm.count; ++s) sms_.push_back(std::make_unique<Sm>(*this, s));
}

Device::~Device() = default;

// ------------------------------------------------------------------------------------------------ ends of
// CTAs

// CTAs of a cluster look at each other (cluster barrier, shared memory) until the last of them is done: they
// are freed together.
void Device::release_if_unused(const Cta& cta) {
  for (const Cta* member : cta.cluster)
    if (!member->finished || member->transactions != 0) return;
  for (Cta* member : cta.cluster) sms_[member->sm]->release_cta_later(*member);
}

void Device::cta_finished(Cta& cta, int64_t cycle) {
  Launch& launch = *cta.launch;
  ++launch.finished_ctas;
  const Picoseconds now = max(clock_.time(cycle), process_.now());
  scheduler_.give_back(cta, now);
  if (cta.transactions == 0) release_if_unused(cta);
  finish_if_drained(launch, now);
}

void Device::transaction_done(Cta& cta, Picoseconds now) {
  Launch& launch = *cta.launch;
  --launch.transactions;
  if (--cta.transactions == 0 && cta.finished) release_if_unused(cta);
  finish_if_drained(launch, now);
}

// A kernel is done when its CTAs are and everything they sent has arrived.
void Device::finish_if_drained(Launch& launch, Picoseconds now) {
  if (launch.done || launch.finished_ctas != launch.ctas || launch.transactions != 0) return;
  launch.done = true;
  launch.finished = now;
  if (launch.on_done) launch.on_done(now);
}

// ------------------------------------------------------------------------------------------------
// transactions

WarpTransaction* Device::new_transaction() {
  WarpTransaction* transaction = nullptr;
  if (free_transactions_.empty()) {
    transactions_.emplace_back();
    transaction = &transactions_.back();
  } else {
    transaction = free_transactions_.back();
    free_transactions_.pop_back();
  }
  transaction->source_gpu = id_;
  transaction->l2_hint = {};
  transaction->l2_prefetch_bytes = 0;
  transaction->host_memory = false;
  transaction->posted = false;
  transaction->answer_at_once = false;
  transaction->part_count = 0;
  transaction->parts_pending = 0;
  transaction->ready = {};
  transaction->contiguous = false;
  transaction->wakes_fragment = false;
  transaction->invalidates_l1 = false;
  transaction->fills_l1 = false;
  transaction->tracked_store = false;
  transaction->poll = false;
  transaction->waker = kWokenOtherwise;
  transaction->window_bytes = 0;
  return transaction;
}

void Device::recycle(WarpTransaction* transaction) { free_transactions_.push_back(transaction); }

void Device::perform(models::Transaction& transaction, unsigned first, unsigned count, Picoseconds now) {
  auto& warp_transaction = static_cast<WarpTransaction&>(transaction);
  perform_here(warp_transaction, first, count, now, *group_.devices[transaction.home_gpu.value]);
}

void Device::complete(models::Transaction& transaction, Picoseconds now) {
  auto& warp_transaction = static_cast<WarpTransaction&>(transaction);
  Cta& cta = *warp_transaction.cta;
  sms_[transaction.source_sm.value]->transaction_completed(warp_transaction, now);
  recycle(&warp_transaction);
  transaction_done(cta, now);
}

namespace {

/// Address range of part `p` of a contiguous transaction.
std::pair<uint64_t, uint64_t> part_range(const WarpTransaction& transaction, unsigned p) {
  const uint64_t line = transaction.parts[p].line;
  const uint64_t begin = std::max(transaction.base, line);
  return {begin, begin + transaction.parts[p].bytes};
}

/// L1 keeps whole sectors as they are now: up to kKeptSectors of them travel beside the lanes' bytes.
void keep_sectors(WarpTransaction& transaction, unsigned first, unsigned count, const MemorySpace& space) {
  uint32_t sector = transaction.sectors(first);
  for (unsigned p = first; p < first + count; ++p) {
    for (uint32_t s = 0; s < 4; ++s) {
      if ((transaction.parts[p].sector_mask >> s & 1U) == 0) continue;
      if (sector < WarpTransaction::kKeptSectors) {
        uint8_t* target = transaction.kept() + size_t{sector} * kSectorBytes;
        const uint64_t address = transaction.parts[p].line + uint64_t{s} * kSectorBytes;
        for (uint64_t bytes = kSectorBytes; bytes != 0;
             --bytes) {  // the last sector of an allocation may be short
          const uint8_t* memory = space.resolve(address, bytes);
          if (memory == nullptr) continue;
          std::memcpy(target, memory, bytes);
          break;
        }
      }
      ++sector;
    }
  }
}

}  // namespace

// Stores to registers of the NIC. What else a kernel may write there is ignored, as by the hardware.
void Device::ring_doorbells(const WarpTransaction& transaction, Picoseconds now) {
  const uint32_t nic = transaction.home() - kRegisterBias;
  ++transaction.cta->launch->profile_of(transaction.waker).doorbells;
  const auto first = static_cast<uint32_t>(std::countr_zero(transaction.mask));
  for (uint32_t m = transaction.mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(m));
    const uint64_t address = transaction.contiguous
                                 ? transaction.base + uint64_t{lane - first} * transaction.lane_bytes
                                 : transaction.address[lane];
    const uint8_t* bytes = transaction.data() + size_t{lane} * transaction.lane_bytes;
    group_.registers[nic]->store(address, {bytes, transaction.lane_bytes}, now);
  }
}

void Device::perform_here(WarpTransaction& transaction, unsigned first, unsigned count, Picoseconds now,
                          Device& home) {
  MemorySpace& space = *group_.space(transaction.home());
  transaction.sampled = now;
  const bool load = transaction.kind == AccessKind::load;
  const uint8_t waker = transaction.waker;
  if (transaction.home() >= kRegisterBias && transaction.kind == AccessKind::store)
    return ring_doorbells(transaction, now);
  if (transaction.role == WarpTransaction::Role::cache_control) {
    if (transaction.fills_l1) keep_sectors(transaction, first, count, space);
    return;
  }
  if (transaction.role == WarpTransaction::Role::box) {
    perform_box(transaction, first, count, space,
                [&](uint64_t address, uint64_t bytes) { home.notify_write(address, bytes, now); });
    return;
  }
  if (transaction.contiguous &&
      (load || transaction.kind == AccessKind::store || transaction.role == WarpTransaction::Role::bulk)) {
    const uint64_t begin = part_range(transaction, first).first;
    const uint64_t end = part_range(transaction, first + count - 1).second;
    const size_t skip =
        transaction.role == WarpTransaction::Role::bulk
            ? 0
            : static_cast<size_t>(std::countr_zero(transaction.mask)) * transaction.lane_bytes;
    uint8_t* data = transaction.data() + skip + (begin - transaction.base);
    if (load) {
      if (space.elides())
        space.read(begin, end - begin, data);
      else
        std::memcpy(data, space.resolve(begin, end - begin), end - begin);
    } else if (transaction.kind == AccessKind::store) {
      if (space.elides())
        space.write(begin, end - begin, data);
      else
        std::memcpy(space.resolve(begin, end - begin), data, end - begin);
      home.notify_write(begin, end - begin, now, waker);
    } else {
      uint8_t* memory = space.resolve(begin, end - begin);
      const ptx::Modifiers& modifiers = transaction.op->modifiers;
      apply_atomic_bytes(modifiers.atomic, modifiers.type, static_cast<uint32_t>(end - begin), memory, data,
                         nullptr, true);
      home.notify_write(begin, end - begin, now, waker);
    }
  } else {
    const size_t bytes = transaction.lane_bytes;
    for (unsigned p = first; p < first + count; ++p) {
      for (uint32_t m = transaction.parts[p].lane_mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<size_t>(std::countr_zero(m));
        uint8_t* memory = space.resolve(transaction.address[lane], bytes);
        uint8_t* data = transaction.data() + lane * bytes;
        if (load) {
          std::memcpy(data, memory, bytes);
          continue;
        }
        if (transaction.kind == AccessKind::store) {
          std::memcpy(memory, data, bytes);
        } else {
          const ptx::Modifiers& modifiers = transaction.op->modifiers;
          const bool swaps = modifiers.atomic == ptx::AtomicOp::cas;
          apply_atomic_bytes(modifiers.atomic, modifiers.type, transaction.lane_bytes, memory, data,
                             swaps ? transaction.second() + lane * bytes : nullptr, true);
        }
        home.notify_write(transaction.address[lane], bytes, now, waker);
      }
    }
  }
  if (transaction.fills_l1) keep_sectors(transaction, first, count, space);
}

// ------------------------------------------------------------------------------------------------ watches

void Device::watch(uint64_t address, uint32_t bytes, Fragment& fragment) {
  for (uint64_t sector = address / kSectorBytes; sector <= (address + bytes - 1) / kSectorBytes; ++sector) {
    watches_[sector].push_back({&fragment, 0});
    watched_.set(sector % watched_.size());
  }
}

void Device::unwatch(Fragment& fragment, const std::vector<PollRead>& reads) {
  for (const PollRead& read : reads) {
    if (read.shared) continue;
    for (uint64_t sector = read.address / kSectorBytes;
         sector <= (read.address + read.bytes - 1) / kSectorBytes; ++sector) {
      const auto found = watches_.find(sector);
      if (found == watches_.end()) continue;
      std::erase_if(found->second, [&](const auto& entry) { return entry.first == &fragment; });
      if (found->second.empty()) watches_.erase(found);
    }
  }
  if (watches_.empty()) watched_.reset();
}

void Device::notify_write(uint64_t address, uint64_t bytes, Picoseconds now, uint8_t waker) {
  if (address - told_begin_ < told_bytes_) watcher_->written(address, bytes, now);
  if (watches_.empty()) return;
  for (uint64_t sector = address / kSectorBytes; sector <= (address + bytes - 1) / kSectorBytes; ++sector) {
    if (!watched_.test(sector % watched_.size())) continue;
    const auto found = watches_.find(sector);
    if (found == watches_.end()) continue;
    const auto waiting = found->second;  // waking changes the table
    for (const auto& [fragment, unused] : waiting) {
      const bool polled =
          std::any_of(fragment->poll.reads.begin(), fragment->poll.reads.end(), [&](const PollRead& read) {
            return !read.shared && read.address < address + bytes && address < read.address + read.bytes;
          });
      if (polled && fragment->parked) sms_[fragment->warp->cta->sm]->wake_parked(*fragment, now, waker);
    }
  }
}

// ------------------------------------------------------------------------------------------------ ends

void Device::fault(Error error) {
  if (!fault_) fault_.emplace(process_.now(), std::move(error));
}

double Device::tensor_busy_clk() const {
  double sum = 0;
  for (const std::unique_ptr<Sm>& sm : sms_) sum += sm->tensor_busy_clk();
  return sum;
}

void Device::print(std::string text) { printed_.emplace_back(process_.now(), std::move(text)); }

bool Device::nudge(Picoseconds now, const Nudge& what) {
  bool moved = false;
  for (const std::unique_ptr<Sm>& sm : sms_) {
    if (what.clocks) {
      moved = sm->nudge_clocks(cycle(now), cycle(now - what.parked_for)) || moved;
    } else {
      moved = sm->nudge_joins(cycle(now)) || moved;
    }
  }
  return moved;
}

std::vector<std::string> Device::waiting_report(size_t limit) const {
  std::vector<std::string> lines;
  scheduler_.waiting_report(lines);
  const size_t kernels = lines.size();
  for (const std::unique_ptr<Sm>& sm : sms_) sm->waiting_report(lines, limit + kernels);
  return lines;
}

}  // namespace ptxwire::sim
