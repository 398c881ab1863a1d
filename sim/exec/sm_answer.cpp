// Room for accesses in flight, and what their answers bring: register bytes, sectors for L1,
// acknowledgements.
#include <algorithm>
#include <cstring>

#include "sim/exec/sm.hpp"

namespace ptxwire::sim {

using models::kLineBytes;
using models::kSectorBytes;
using models::Picoseconds;

// Issue does not run away from the load/store unit: accesses without a result would else be booked without
// end.
int64_t Sm::claim_lsu(Fragment& fragment, int64_t cycle, uint32_t width) {
  const int64_t start = lsu_.claim(cycle, width);
  fragment.cycle = std::max(fragment.cycle, start - kBookedAhead_clk);
  return start;
}

bool Sm::has_room(Room room, uint64_t amount) const {
  switch (room) {
    case kLoadRoom:
      return outstanding_lines_ == 0 || outstanding_lines_ + amount <= parameters_.outstanding_load_lines;
    case kLocalStoreRoom:
      return local_store_bytes_ == 0 || local_store_bytes_ + amount <= parameters_.local_store_window_bytes;
    case kRemoteStoreRoom:
      return remote_store_bytes_ == 0 ||
             remote_store_bytes_ + amount <= parameters_.remote_store_window_bytes;
  }
  return true;
}

bool Sm::room_for(Fragment& fragment, Room room, uint64_t amount, int64_t cycle) {
  if (has_room(room, amount) && (window_waiters_[room].empty() || fragment.wait_result)) {
    fragment.wait_result = false;
    return true;
  }
  if (fragment.phase == kFresh) fragment.phase = kWaitedForRoom;
  fragment.wait_detail = amount;
  window_waiters_[room].push_back(&fragment);
  wait(fragment, room == kLoadRoom ? Wait::local_load : Wait::store_window, cycle);
  return false;
}

// First come, first served: those at the front go on as far as there is room.
void Sm::wake_window_waiters(int64_t cycle) {
  for (const Room room : {kLoadRoom, kLocalStoreRoom, kRemoteStoreRoom}) {
    uint64_t promised = 0;
    std::deque<Fragment*>& waiters = window_waiters_[room];
    while (!waiters.empty() && has_room(room, promised + waiters.front()->wait_detail)) {
      Fragment& fragment = *waiters.front();
      waiters.pop_front();
      promised += fragment.wait_detail;
      fragment.wait_result = true;  // its turn: those behind it do not block it
      resume(fragment, cycle);
    }
  }
}

void Sm::fill_l1(const WarpTransaction& transaction) {
  const uint8_t* sector = transaction.kept();
  alignas(16) uint8_t line[kLineBytes];
  if (transaction.sectors(transaction.part_count) > WarpTransaction::kKeptSectors) return;
  for (uint32_t p = 0; p < transaction.part_count; ++p) {
    for (uint32_t s = 0; s < 4; ++s) {
      if ((transaction.parts[p].sector_mask >> s & 1U) == 0) continue;
      std::memcpy(line + s * kSectorBytes, sector, kSectorBytes);
      sector += kSectorBytes;
    }
    l1_.fill(transaction.parts[p].line, transaction.parts[p].sector_mask, line, transaction.l1_changes);
  }
}

void Sm::transaction_completed(WarpTransaction& transaction, Picoseconds now) {
  const int64_t cycle = device_.cycle(now);
  if (transaction.role == WarpTransaction::Role::bulk || transaction.role == WarpTransaction::Role::box)
    return chunk_completed(transaction, cycle);
  if (transaction.role == WarpTransaction::Role::async_copy) return async_copy_arrived(transaction, cycle);
  if (transaction.role == WarpTransaction::Role::cache_control) {
    if (transaction.fills_l1) fill_l1(transaction);
    return;
  }
  Cta& cta = *transaction.cta;
  Warp& warp = *transaction.warp;
  if (transaction.posted) {
    (transaction.remote() || transaction.host_memory ? remote_store_bytes_ : local_store_bytes_) -=
        transaction.window_bytes;
    cta.stores.acknowledge(transaction.store_epoch);
    if (!cta.release_waiting.empty()) wake_release_waiters(cta, cycle);
  } else {
    outstanding_lines_ -= transaction.part_count;
    if (transaction.invalidates_l1) l1_.invalidate();
    if (transaction.fills_l1) fill_l1(transaction);
    scatter(warp, transaction.row_base, *transaction.op, transaction.mask, transaction.lane_bytes,
            transaction.data());
    bool last = true;
    Fragment& fragment = *transaction.fragment;
    if (transaction.wakes_fragment) last = --fragment.wait_detail == 0;
    const ExecOp& exec = cta.program->op(transaction.pc);
    for (uint32_t i = 0; i < exec.results; ++i) {
      const size_t row = size_t{transaction.row_base} + exec.result_rows[i];
      warp.row_pending[row] &= ~transaction.mask;
      if (warp.row_pending[row] == 0) warp.row_ready[row] = cycle;
    }
    if (transaction.poll && fragment.warp == &warp) {
      const int64_t sampled = device_.cycle(transaction.sampled);
      uint64_t previous = 0;
      for (uint32_t m = transaction.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<size_t>(std::countr_zero(m));
        if (transaction.address[lane] == previous) continue;
        previous = transaction.address[lane];
        note_poll(fragment, transaction.address[lane], transaction.lane_bytes,
                  transaction.data() + lane * transaction.lane_bytes, false, sampled);
      }
    }
    if (transaction.wakes_fragment) {
      if (last) resume(fragment, cycle);
    } else {
      for (Fragment* waiter : warp.fragments)
        if (waiter->on_scoreboard) resume(*waiter, cycle);
    }
  }
  wake_window_waiters(cycle);
}

}  // namespace ptxwire::sim
