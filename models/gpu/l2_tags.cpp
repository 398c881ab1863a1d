#include "models/gpu/l2_tags.hpp"

#include <bit>

namespace ptxwire::models {
namespace {

constexpr uint64_t kEveryNibble = 0x1111111111111111ULL;

constexpr std::array<uint16_t, L2Tags::kMaxWays> kWayBit = [] {
  std::array<uint16_t, L2Tags::kMaxWays> bits{};
  for (unsigned way = 0; way < L2Tags::kMaxWays; ++way) bits[way] = static_cast<uint16_t>(1U << way);
  return bits;
}();

/// Bits of the `count` lowest nibbles.
constexpr uint64_t low_nibbles(unsigned count) {
  return count >= 16 ? ~uint64_t{0} : (uint64_t{1} << (4 * count)) - 1;
}

/// Position of the nibble equal to `way`; there is exactly one.
unsigned position_of(uint64_t order, unsigned way) {
  const uint64_t difference = order ^ (way * kEveryNibble);
  const uint64_t zero_nibbles = (difference - kEveryNibble) & ~difference & (kEveryNibble << 3U);
  return static_cast<unsigned>(std::countr_zero(zero_nibbles)) / 4;
}

}  // namespace

L2Tags::L2Tags(uint32_t sets, uint32_t ways)
    : ways_(ways), initial_order_(0), sets_(sets, memory_.get()), owners_(sets, memory_.get()) {
  // Unused ways of a narrow set stay at the old end, above the `ways` nibbles that victim() looks at.
  for (unsigned way = 0; way < kMaxWays; ++way) initial_order_ |= uint64_t{way} << (4 * way);
  invalidate_all();
}

void L2Tags::invalidate_all() {
  for (Set& set : sets_) {
    set = {};
    set.order = initial_order_;
  }
}

unsigned L2Tags::find(const Set& set, uint16_t tag) {
  // Sixteen-bit values throughout, no branch and no early exit: the compiler makes two vector compares of it.
  uint16_t matches = 0;
  for (unsigned way = 0; way < kMaxWays; ++way) {
    const auto all_or_none = static_cast<uint16_t>(-static_cast<int>(set.tag[way] == tag));
    matches = static_cast<uint16_t>(matches | (all_or_none & kWayBit[way]));
  }
  matches &= set.occupied;
  return matches != 0 ? static_cast<unsigned>(std::countr_zero(matches)) : kAbsent;
}

void L2Tags::touch(Set& set, unsigned way) {
  const unsigned position = position_of(set.order, way);
  const uint64_t newer = set.order & low_nibbles(position);
  const uint64_t older = set.order & ~low_nibbles(position + 1);
  set.order = older | (newer << 4U) | way;
}

unsigned L2Tags::victim(const Set& set) const {
  const uint32_t all = (uint32_t{1} << ways_) - 1;
  const uint32_t free_ways = all & ~uint32_t{set.occupied};
  if (free_ways != 0) return static_cast<unsigned>(std::countr_zero(free_ways));
  const uint32_t normal = all & ~(uint32_t{set.first} | set.last);
  const uint32_t candidates = set.first != 0 ? set.first : normal != 0 ? normal : all;
  unsigned position = ways_ - 1;
  while (((candidates >> ((set.order >> (4 * position)) & 15U)) & 1U) == 0) --position;
  return (set.order >> (4 * position)) & 15U;
}

void L2Tags::classify(Set& set, unsigned way, L2Priority priority) {
  const uint16_t bit = kWayBit[way];
  set.first = static_cast<uint16_t>(priority == L2Priority::first ? set.first | bit : set.first & ~bit);
  set.last = static_cast<uint16_t>(priority == L2Priority::last ? set.last | bit : set.last & ~bit);
}

L2Tags::Outcome L2Tags::access(uint32_t set_index, uint16_t tag, uint8_t sectors, bool write,
                               L2Priority priority, uint8_t owner) {
  Set& set = sets_[set_index];
  Outcome outcome;
  unsigned way = find(set, tag);
  outcome.hit = way != kAbsent;
  const bool keep_class = outcome.hit && priority == L2Priority::unchanged;
  if (!outcome.hit) {
    way = victim(set);
    outcome.evicted_dirty_sectors = static_cast<uint8_t>(set.sectors[way] >> 4U);
    uint64_t& owners = owners_[set_index];
    outcome.evicted = (set.occupied & kWayBit[way]) != 0;
    outcome.evicted_tag = set.tag[way];
    outcome.evicted_owner = static_cast<uint8_t>(owners >> (4 * way) & 15U);
    owners = (owners & ~(uint64_t{15} << (4 * way))) | uint64_t{owner} << (4 * way);
    set.tag[way] = tag;
    set.occupied |= kWayBit[way];
    set.sectors[way] = 0;
  }
  outcome.missing_sectors = static_cast<uint8_t>(sectors & ~set.sectors[way]);
  set.sectors[way] = static_cast<uint8_t>(set.sectors[way] | sectors | (write ? sectors << 4U : 0));
  if (!keep_class) classify(set, way, priority);
  touch(set, way);
  return outcome;
}

void L2Tags::clean(uint32_t set_index, uint16_t tag, uint8_t sectors) {
  Set& set = sets_[set_index];
  const unsigned way = find(set, tag);
  if (way != kAbsent) set.sectors[way] = static_cast<uint8_t>(set.sectors[way] & ~(sectors << 4U));
}

void L2Tags::set_priority(uint32_t set_index, uint16_t tag, L2Priority priority) {
  Set& set = sets_[set_index];
  const unsigned way = find(set, tag);
  if (way != kAbsent && priority != L2Priority::unchanged) classify(set, way, priority);
}

uint8_t L2Tags::valid_sectors(uint32_t set_index, uint16_t tag) const {
  const Set& set = sets_[set_index];
  const unsigned way = find(set, tag);
  return way == kAbsent ? uint8_t{0} : static_cast<uint8_t>(set.sectors[way] & 15U);
}

}  // namespace ptxwire::models
