// Sectored, write-through L1 of one SM that keeps the bytes of the moment of its fill, so that a plain load
// may return stale data exactly where hardware would. Tags are set-associative with LRU; data is kept per
// line.
#pragma once

#include <algorithm>
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
  void invalidate() {
    ++epoch_;
    invalidated_ = ++changes_;
  }
  /// Counts stores and invalidations. A load remembers it when it is issued and hands it to fill().
  [[nodiscard]] uint64_t changes() const { return changes_; }

  /// Bytes of [address, address + bytes) inside one line, or nullptr unless all its sectors are valid.
  const uint8_t* find(uint64_t address, uint32_t bytes) {
    Line* line = lookup(address / kLine);
    if (line == nullptr) return nullptr;
    const uint8_t needed = sectors(address, bytes);
    if ((line->valid & needed) != needed) return nullptr;
    line->used = ++clock_;
    return line->data.data() + address % kLine;
  }
  /// As find, for a range over several lines: copies to `out` if every byte is there.
  bool read(uint64_t address, uint32_t bytes, uint8_t* out) {
    while (bytes != 0) {
      const auto piece = static_cast<uint32_t>(std::min<uint64_t>(bytes, kLine - address % kLine));
      const uint8_t* found = find(address, piece);
      if (found == nullptr) return false;
      std::memcpy(out, found, piece);
      address += piece;
      out += piece;
      bytes -= piece;
    }
    return true;
  }
  /// As update, for a range over several lines.
  void write(uint64_t address, const uint8_t* data, uint32_t bytes) {
    while (bytes != 0) {
      const auto piece = static_cast<uint32_t>(std::min<uint64_t>(bytes, kLine - address % kLine));
      update(address, data, piece);
      address += piece;
      data += piece;
      bytes -= piece;
    }
  }
  /// Keeps whole sectors that a load brought in. `data` points at the bytes of `line_address` (128 of them,
  /// only the sectors in `sector_mask` are read). Nothing is kept if since `issued` (see changes()) the cache
  /// was invalidated or the line was written: the bytes may be older than that.
  void fill(uint64_t line_address, uint8_t sector_mask, const uint8_t* data, uint64_t issued) {
    if (sets_ == 0 || issued < invalidated_ || issued < written(line_address)) return;
    Line& line = allocate(line_address / kLine);
    for (uint32_t s = 0; s < 4; ++s)
      if ((sector_mask >> s & 1U) != 0)
        std::memcpy(line.data.data() + s * kSector, data + s * kSector, kSector);
    line.valid |= sector_mask;
    line.used = ++clock_;
  }
  /// Write-through: a store updates sectors that are present.
  void update(uint64_t address, const uint8_t* data, uint32_t bytes) {
    written(address) = ++changes_;
    Line* line = lookup(address / kLine);
    if (line != nullptr) std::memcpy(line->data.data() + address % kLine, data, bytes);
  }

  /// An atomic or the bulk-copy engine changes these bytes at L2: the sectors are not valid any more.
  void drop(uint64_t address, uint64_t bytes) {
    for (uint64_t at = address; at < address + bytes; at = (at / kLine + 1) * kLine) {
      written(at) = ++changes_;
      const auto piece = static_cast<uint32_t>(std::min(address + bytes, (at / kLine + 1) * kLine) - at);
      if (Line* line = lookup(at / kLine)) line->valid &= static_cast<uint8_t>(~sectors(at, piece));
    }
  }

 private:
  static constexpr size_t kWrittenLines = 512;

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

  /// Value of changes_ at the last store to the line, or to one that shares its entry.
  uint64_t& written(uint64_t address) { return written_[address / kLine % kWrittenLines]; }

  uint64_t sets_ = 0;
  uint64_t epoch_ = 1;
  uint64_t clock_ = 0;
  uint64_t changes_ = 0, invalidated_ = 0;
  std::vector<uint64_t> written_ = std::vector<uint64_t>(kWrittenLines);
  std::vector<Line> lines_;
};

}  // namespace ptxwire::sim
