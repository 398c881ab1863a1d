// Sectored, write-through L1 of one SM that keeps the bytes of the moment of its fill, so that a plain load
// may return stale data exactly where hardware would. Tags are set-associative with LRU; data is kept per
// line.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace ptxwire::sim {

/// Not modelled: data-array banks, hit-under-miss merging (a second miss to a line in flight goes out again).
class L1Cache {
 public:
  static constexpr uint32_t kLine = 128, kSector = 32, kWays = 4;

  /// `bytes` is what shared memory leaves of the unified array.
  void resize(uint64_t bytes) {
    sets_ = 1;
    while (sets_ * 2 * kWays * kLine <= bytes) sets_ *= 2;
    if (bytes < uint64_t{kWays} * kLine) sets_ = 0;
    lines_.assign(sets_ * kWays, {});
    invalidate();
  }
  /// Forgets everything: kernel start, or an acquire at gpu or sys scope.
  void invalidate() { ++epoch_; }

  /// Bytes of [address, address + bytes) inside one line, or nullptr unless all its sectors are valid.
  const uint8_t* find(uint64_t address, uint32_t bytes) {
    Line* line = lookup(address / kLine);
    if (line == nullptr) return nullptr;
    const uint8_t needed = sectors(address, bytes);
    if ((line->valid & needed) != needed) return nullptr;
    line->used = ++clock_;
    return line->data.data() + address % kLine;
  }
  /// Keeps whole sectors that a load brought in. `data` points at the bytes of `line_address` (128 of them,
  /// only the sectors in `sector_mask` are read).
  void fill(uint64_t line_address, uint8_t sector_mask, const uint8_t* data) {
    if (sets_ == 0) return;
    Line& line = allocate(line_address / kLine);
    for (uint32_t s = 0; s < 4; ++s)
      if ((sector_mask >> s & 1U) != 0)
        std::memcpy(line.data.data() + s * kSector, data + s * kSector, kSector);
    line.valid |= sector_mask;
    line.used = ++clock_;
  }
  /// Write-through: a store updates sectors that are present.
  void update(uint64_t address, const uint8_t* data, uint32_t bytes) {
    Line* line = lookup(address / kLine);
    if (line != nullptr) std::memcpy(line->data.data() + address % kLine, data, bytes);
  }

 private:
  struct Line {
    uint64_t tag = UINT64_MAX;
    uint64_t epoch = 0;
    uint64_t used = 0;
    uint8_t valid = 0;
    std::array<uint8_t, kLine> data;
  };
  static uint8_t sectors(uint64_t address, uint32_t bytes) {
    const uint32_t first = static_cast<uint32_t>(address % kLine) / kSector;
    const uint32_t last = static_cast<uint32_t>(address % kLine + bytes - 1) / kSector;
    return static_cast<uint8_t>((2U << last) - (1U << first));
  }
  Line* lookup(uint64_t tag) {
    if (sets_ == 0) return nullptr;
    Line* set = &lines_[(tag % sets_) * kWays];
    for (uint32_t w = 0; w < kWays; ++w)
      if (set[w].tag == tag && set[w].epoch == epoch_) return &set[w];
    return nullptr;
  }
  Line& allocate(uint64_t tag) {
    if (Line* present = lookup(tag)) return *present;
    Line* set = &lines_[(tag % sets_) * kWays];
    Line* victim = set;
    for (uint32_t w = 0; w < kWays; ++w) {
      if (set[w].epoch != epoch_) {
        victim = &set[w];
        break;
      }
      if (set[w].used < victim->used) victim = &set[w];
    }
    victim->tag = tag;
    victim->epoch = epoch_;
    victim->valid = 0;
    return *victim;
  }

  uint64_t sets_ = 0;
  uint64_t epoch_ = 1;
  uint64_t clock_ = 0;
  std::vector<Line> lines_;
};

}  // namespace ptxwire::sim
