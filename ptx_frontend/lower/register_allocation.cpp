#include "ptx_frontend/lower/register_allocation.hpp"

#include <algorithm>
#include <array>

namespace ptxwire::ptx {
namespace {

/// One row (or pair, or quad, or predicate) of a class while registers move in.
struct Home {
  std::vector<LiveRange> taken;  ///< by registers with several ranges; ascending
  size_t cursor = 0;             ///< second pass: first entry of `taken` that may still matter
  uint32_t busy_until = 0;       ///< second pass: end of the latest register with one range
};

bool fits(const Home& home, std::span<const LiveRange> ranges) {
  auto taken = std::upper_bound(home.taken.begin(), home.taken.end(), ranges.front().begin,
                                [](uint32_t p, const LiveRange& range) { return p < range.end; });
  for (const LiveRange& range : ranges) {
    while (taken != home.taken.end() && taken->end <= range.begin) ++taken;
    if (taken == home.taken.end()) return true;
    if (taken->begin < range.end) return false;
  }
  return true;
}

void move_in(Home& home, std::span<const LiveRange> ranges) {
  const auto old_size = static_cast<std::ptrdiff_t>(home.taken.size());
  home.taken.insert(home.taken.end(), ranges.begin(), ranges.end());
  std::inplace_merge(home.taken.begin(), home.taken.begin() + old_size, home.taken.end(),
                     [](const LiveRange& a, const LiveRange& b) { return a.begin < b.begin; });
}

/// Same question for a register with one range; asked in ascending order of `range.begin`.
bool fits_next(Home& home, const LiveRange& range) {
  if (home.busy_until > range.begin) return false;
  while (home.cursor < home.taken.size() && home.taken[home.cursor].end <= range.begin) ++home.cursor;
  return home.cursor == home.taken.size() || home.taken[home.cursor].begin >= range.end;
}

template <typename Fits>
uint32_t first_home(std::vector<Home>& homes, Fits&& wanted) {
  for (uint32_t h = 0; h < homes.size(); ++h)
    if (wanted(homes[h])) return h;
  homes.emplace_back();
  return static_cast<uint32_t>(homes.size()) - 1;
}

/// Assigns homes to the registers of one class; returns how many homes there are.
uint32_t allocate_class(const LiveIntervals& intervals, std::vector<VirtualRegister>& members,
                        std::vector<uint32_t>& index) {
  std::sort(members.begin(), members.end(), [&](VirtualRegister a, VirtualRegister b) {
    const auto begin_a = intervals.of(a).front().begin, begin_b = intervals.of(b).front().begin;
    return begin_a != begin_b ? begin_a < begin_b : a < b;
  });
  std::vector<Home> homes;
  for (const VirtualRegister r : members) {
    const auto ranges = intervals.of(r);
    if (ranges.size() == 1) continue;
    index[r] = first_home(homes, [&](const Home& home) { return fits(home, ranges); });
    move_in(homes[index[r]], ranges);
  }
  for (const VirtualRegister r : members) {
    const auto ranges = intervals.of(r);
    if (ranges.size() != 1) continue;
    index[r] = first_home(homes, [&](Home& home) { return fits_next(home, ranges.front()); });
    homes[index[r]].busy_until = ranges.front().end;
  }
  return static_cast<uint32_t>(homes.size());
}

}  // namespace

RegisterAllocation allocate_registers(const VirtualCode& code, const LiveIntervals& intervals) {
  RegisterAllocation allocation;
  const auto registers = static_cast<uint32_t>(code.classes.size());
  allocation.index.assign(registers, 0);
  std::array<std::vector<VirtualRegister>, kRegisterClasses> members;
  for (VirtualRegister r = 0; r < registers; ++r)
    if (!intervals.of(r).empty()) members[static_cast<unsigned>(code.classes[r])].push_back(r);

  for (const RegisterClass c :
       {RegisterClass::predicate, RegisterClass::quad, RegisterClass::pair, RegisterClass::row}) {
    std::vector<VirtualRegister>& of_class = members[static_cast<unsigned>(c)];
    const uint32_t homes = allocate_class(intervals, of_class, allocation.index);
    if (c == RegisterClass::predicate) {
      allocation.predicates = homes;
      continue;
    }
    for (const VirtualRegister r : of_class)
      allocation.index[r] = allocation.rows + allocation.index[r] * rows_of(c);
    allocation.rows += homes * rows_of(c);
  }
  return allocation;
}

std::vector<LiveRows> rows_live_before(const VirtualCode& code, const LiveIntervals& intervals,
                                       const RegisterAllocation& allocation,
                                       const std::vector<uint32_t>& ops) {
  std::vector<LiveRows> result;
  for (const uint32_t op : ops) result.push_back({op, std::vector<uint32_t>((allocation.rows + 31) / 32, 0)});
  for (VirtualRegister r = 0; r < code.classes.size(); ++r) {
    if (code.classes[r] == RegisterClass::predicate) continue;
    const uint32_t first = allocation.index[r], end = first + rows_of(code.classes[r]);
    for (const LiveRange& range : intervals.of(r)) {
      auto at = std::lower_bound(result.begin(), result.end(), range.begin,
                                 [](const LiveRows& live, uint32_t begin) { return 2 * live.pc < begin; });
      for (; at != result.end() && 2 * at->pc < range.end; ++at)
        for (uint32_t row = first; row < end; ++row) at->rows[row / 32] |= 1U << row % 32;
    }
  }
  return result;
}

void apply_allocation(const RegisterAllocation& allocation, VirtualCode& code) {
  const auto place = [&](Slot& slot, VirtualRegister r) {
    if (r != kNoRegister) slot.index = static_cast<uint16_t>(allocation.index[r]);
  };
  for (size_t i = 0; i < code.ops.size(); ++i) {
    Op& op = code.ops[i];
    const VirtualOperands& operands = code.operands[i];
    place(op.guard, operands.guard);
    for (size_t k = 0; k < op.dst.size(); ++k) place(op.dst[k], operands.dst[k]);
    for (size_t k = 0; k < op.src.size(); ++k) place(op.src[k], operands.src[k]);
  }
  for (VirtualList& list : code.lists)
    for (size_t k = 0; k < list.slots.size(); ++k) place(list.slots[k], list.registers[k]);
}

}  // namespace ptxwire::ptx
