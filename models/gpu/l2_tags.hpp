// The tag array of one GPU's L2: which sectors of which lines are present and dirty. Knows nothing of time.
//
// Replacement is true LRU within three priority classes: a victim is taken from the evict_first lines if the
// set has any, else from the normal ones, else from the evict_last ones. A set of up to 16 ways is one
// 64-byte line of the host's cache, since a simulated access costs about one miss there.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <vector>

#include "models/base/transaction.hpp"
#include "support/large_pages.hpp"

namespace ptxwire::models {

class L2Tags {
 public:
  static constexpr unsigned kMaxWays = 16;

  struct Outcome {
    uint8_t missing_sectors = 0;        ///< of those asked for, not present before
    uint8_t evicted_dirty_sectors = 0;  ///< of the line that had to leave
    bool hit = false;                   ///< the line was present (its sectors need not be)
    bool evicted = false;               ///< another line had to leave
    uint8_t evicted_owner = 0;          ///< who had brought that line in
    uint16_t evicted_tag = 0;
  };

  /// `sets` sets of `ways` (at most 16) lines, all invalid.
  L2Tags(uint32_t sets, uint32_t ways);

  [[nodiscard]] uint32_t sets() const { return static_cast<uint32_t>(sets_.size()); }
  [[nodiscard]] uint32_t ways() const { return ways_; }

  /// Brings the line in if needed, marks `sectors` valid (and dirty if `write`) and the line most recently
  /// used. `L2Priority::unchanged` leaves the class of a present line alone and brings a missing one in as
  /// normal.
  /// `owner` (below kMaxOwners) is remembered for a line that it brings in.
  Outcome access(uint32_t set, uint16_t tag, uint8_t sectors, bool write, L2Priority priority,
                 uint8_t owner = 0);

  /// The sectors are dirty no longer (their bytes are given up). Nothing if the line is absent.
  void clean(uint32_t set, uint16_t tag, uint8_t sectors);

  /// Puts a line that is present into another eviction class.
  void set_priority(uint32_t set, uint16_t tag, L2Priority priority);

  /// Sectors of the line now valid; 0 if it is absent. Does not touch the order.
  [[nodiscard]] uint8_t valid_sectors(uint32_t set, uint16_t tag) const;

  /// Hint to the host that `set` will be accessed soon.
  void prefetch(uint32_t set) const { __builtin_prefetch(&sets_[set], 1); }

  /// All lines become invalid, dirty or not.
  void invalidate_all();

 private:
  struct alignas(64) Set {
    std::array<uint16_t, kMaxWays> tag{};
    std::array<uint8_t, kMaxWays> sectors{};  ///< low nibble valid, high nibble dirty
    uint64_t order = 0;                       ///< ways as nibbles, most recently used lowest
    uint16_t occupied = 0;                    ///< ways that hold a line
    uint16_t first = 0, last = 0;             ///< ways in class evict_first / evict_last
  };
  static_assert(sizeof(Set) == 64);

  static constexpr unsigned kAbsent = kMaxWays;
  [[nodiscard]] static unsigned find(const Set& set, uint16_t tag);
  [[nodiscard]] unsigned victim(const Set& set) const;
  static void touch(Set& set, unsigned way);
  static void classify(Set& set, unsigned way, L2Priority priority);

  uint32_t ways_;
  uint64_t initial_order_;
  std::unique_ptr<LargePages> memory_ = std::make_unique<LargePages>();
  std::pmr::vector<Set> sets_;
  std::pmr::vector<uint64_t> owners_;  ///< per set, a nibble per way; apart, since only misses need them
};

}  // namespace ptxwire::models
