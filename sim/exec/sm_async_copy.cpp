// cp.async: copies of single lanes from global to shared memory, their groups and their arrival on mbarriers.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "sim/exec/shared_place.hpp"
#include "sim/exec/sm.hpp"

namespace ptxwire::sim {

using models::AccessKind;
using ptx::Op;
using ptx::Opcode;

namespace {

constexpr size_t kValidBytes =
    128;  ///< in WarpTransaction::second: bytes to keep per lane, behind the offsets

}  // namespace

bool Sm::async_copy(Fragment& fragment, const Op& op, uint32_t mask, int64_t cycle) {
  Warp& warp = *fragment.warp;
  Cta& cta = *warp.cta;
  uint64_t destination[32];
  uint64_t source[32];
  addresses(fragment, op.src[0], op.offset, destination);
  addresses(fragment, op.src[1], op.offset2, source);
  const auto bytes = static_cast<uint32_t>(uniform_source(fragment, op.src[2], mask));
  std::array<uint32_t, 32> offset{};
  std::array<uint8_t, 32> valid{};
  uint32_t moving = 0;
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(m));
    const SharedPlace place = shared_place(cta, destination[lane], bytes);
    if (place.cta != &cta || destination[lane] % bytes != 0 || source[lane] % bytes != 0) {
      stop(fragment,
           fmt::format("{} cp.async of {} bytes from {:#x} to shared {:#x}",
                       place.cta != &cta ? "out-of-bounds" : "misaligned", bytes, source[lane],
                       destination[lane]),
           lane);
      return false;
    }
    offset[lane] = place.offset;
    uint32_t count = bytes;
    if (op.src[3].kind == ptx::Slot::Kind::predicate) {
      const uint32_t predicate = warp.predicates[fragment.frames.back().predicate_base + op.src[3].index];
      if (((predicate >> lane & 1U) != 0) != op.src[3].negated) count = 0;
    } else if (op.src[3].present()) {
      count = std::min(bytes, static_cast<uint32_t>(uniform_source(fragment, op.src[3], 1U << lane)));
    }
    if (count != bytes) std::memset(cta.shared.data() + offset[lane], 0, bytes);
    if (count == 0) continue;
    valid[lane] = static_cast<uint8_t>(count);
    moving |= 1U << lane;
  }
  while (moving != 0) {
    const uint32_t home = home_of(source[std::countr_zero(moving)]);
    uint32_t same = 0;
    for (uint32_t m = moving; m != 0; m &= m - 1)
      if (home_of(source[std::countr_zero(m)]) == home) same |= m & (~m + 1);
    moving &= ~same;
    if (!send_async(fragment, op, same, source, offset, valid, cycle)) return false;
  }
  ++fragment.pc;
  return true;
}

// One transaction for the lanes of `mask`, whose sources have one home.
bool Sm::send_async(Fragment& fragment, const Op& op, uint32_t mask, const uint64_t* source,
                    const std::array<uint32_t, 32>& offset, const std::array<uint8_t, 32>& valid,
                    int64_t cycle) {
  Warp& warp = *fragment.warp;
  const auto bytes = static_cast<uint32_t>(uniform_source(fragment, op.src[2], mask));
  WarpTransaction& transaction = *device_.new_transaction();
  transaction.role = WarpTransaction::Role::async_copy;
  transaction.make_room();
  transaction.kind = AccessKind::load;
  transaction.posted = false;
  transaction.lane_bytes = static_cast<uint8_t>(bytes);
  transaction.l2_prefetch_bytes = op.modifiers.l2_prefetch_bytes;
  transaction.cta = warp.cta;
  transaction.warp = &warp;
  transaction.mask = mask;
  transaction.base = source[std::countr_zero(mask)];
  const uint32_t home = home_of(transaction.base);
  transaction.set_home(home);
  const MemorySpace* space = device_.space(home);
  if (space == nullptr || !build_parts(transaction, source)) {
    stop_unmapped(fragment, mask, source, bytes);
    device_.recycle(&transaction);
    return false;
  }
  std::copy_n(source, 32, transaction.address.begin());
  std::memcpy(transaction.second(), offset.data(), sizeof(offset));
  std::memcpy(transaction.second() + kValidBytes, valid.data(), sizeof(valid));
  ++warp.async_groups.back();
  transaction.store_epoch = warp.async_first + warp.async_groups.size() - 1;
  const int64_t start =
      claim_lsu(fragment, cycle, std::max(2U, static_cast<uint32_t>(std::popcount(mask)) * bytes / 128));
  submit(transaction, start);
  return true;
}

void Sm::async_copy_arrived(const WarpTransaction& transaction, int64_t cycle) {
  Warp& warp = *transaction.warp;
  Cta& cta = *warp.cta;
  for (uint32_t m = transaction.mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<size_t>(std::countr_zero(m));
    uint32_t offset = 0;
    std::memcpy(&offset, transaction.second() + lane * 4, 4);
    std::memcpy(cta.shared.data() + offset, transaction.data() + lane * transaction.lane_bytes,
                transaction.second()[kValidBytes + lane]);
  }
  finish_async_group(warp, transaction.store_epoch, cycle);
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
      addresses(fragment, op.src[0], op.offset, address);
      for (uint32_t m = mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(m));
        const SharedPlace place = shared_place(*warp.cta, address[lane], 8);
        if (place.cta != warp.cta || address[lane] % 8 != 0) {
          stop(fragment, fmt::format("mbarrier at {:#x}, which is no aligned shared memory", address[lane]),
               lane);
          return false;
        }
        // Without .noinc the arrival is first added to what the phase expects, so it is neutral.
        if (!op.modifiers.no_increment) mbarrier_update(*warp.cta, place.offset, -1, 0, false, cycle);
        warp.async_arrivals.push_back({warp.async_first + warp.async_groups.size() - 1, place.offset, 1});
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
        fragment.phase = kWaitedForCopies;
        wait(fragment, Wait::bulk_copy, cycle);
        return false;
      }
      fragment.phase = kFresh;
      break;
    }
  }
  ++fragment.pc;
  return true;
}

}  // namespace ptxwire::sim
