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

#include "models/base/transaction.hpp"

namespace ptxwire::sim {

/// Not modelled: data-array banks, hit-under-miss merging (a second miss to a line in flight goes out again).
class L1Cache {
 public:
  static constexpr uint32_t kLine = models::kLineBytes, kSector = models::kSectorBytes, kWays = 4;

  /// `bytes` is what shared memory leaves of the unified array.
  void resize(uint64_t bytes) {
    sets_ = 1;
    while (sets_ * 2 * kWays * kLine <= bytes) sets_ *= 2;
    if (bytes < uint64_t{kWays} * kLine) sets_ = 0;
    tags_.assign(sets_, {});
    // Left as it is: a line is read only where it was filled, and most kernels fill few.
    lines_ = std::make_unique_for_overwrite<Line[]>(sets_ * kWays);
    invalidate();
  }
  [[nodiscard]] bool present() const { return sets_ != 0; }
  /// Forgets everything: kernel start, or an acquire at gpu or sys scope.
  void invalidate() {
    invalidated_ = ++changes_;
    if (++epoch_ < kEpochs) return;
    epoch_ = 1;
    tags_.assign(sets_, {});
  }
  /// Counts stores and invalidations. A load remembers it when it is issued and hands it to fill().
  [[nodiscard]] uint64_t changes() const { return changes_; }

  /// Bytes of [address, address + bytes) inside one line, or nullptr unless all its sectors are valid.
  const uint8_t* find(uint64_t address, uint32_t bytes) {
    const Place place = lookup(address / kLine);
    if (place.way == kWays) return nullptr;
    const uint8_t needed = models::sectors_touched(address % kLine, bytes);
    if ((place.set->valid[place.way] & needed) != needed) return nullptr;
    touch(place);
    return data_of(place) + address % kLine;
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
    const Place place = allocate(line_address / kLine);
    uint8_t* line = data_of(place);
    for (uint32_t s = 0; s < 4; ++s)
      if ((sector_mask >> s & 1U) != 0) std::memcpy(line + s * kSector, data + s * kSector, kSector);
    place.set->valid[place.way] |= sector_mask;
    touch(place);
  }
  /// Write-through: a store updates sectors that are present.
  void update(uint64_t address, const uint8_t* data, uint32_t bytes) {
    written(address) = ++changes_;
    const Place place = lookup(address / kLine);
    if (place.way != kWays) std::memcpy(data_of(place) + address % kLine, data, bytes);
  }

  /// An atomic or the bulk-copy engine changes these bytes at L2: the sectors are not valid any more.
  void drop(uint64_t address, uint64_t bytes) {
    for (uint64_t at = address; at < address + bytes; at = (at / kLine + 1) * kLine) {
      written(at) = ++changes_;
      const auto piece = static_cast<uint32_t>(std::min(address + bytes, (at / kLine + 1) * kLine) - at);
      const Place place = lookup(at / kLine);
      if (place.way != kWays)
        place.set->valid[place.way] &= static_cast<uint8_t>(~models::sectors_touched(at % kLine, piece));
    }
  }

 private:
  static constexpr size_t kWrittenLines = 512;

  static constexpr uint32_t kTagBits = 40;  ///< of a line's number: addresses have 47 bits
  static constexpr uint64_t kEpochs = uint64_t{1} << (64 - kTagBits);

  /// What a lookup reads is one line of the host's cache; the bytes lie apart.
  struct alignas(64) Set {
    std::array<uint64_t, kWays> key{};  ///< epoch and tag; a line of another epoch is absent
    std::array<uint8_t, kWays> valid{};
    std::array<uint8_t, kWays> order{0, 1, 2, 3};  ///< ways, most recently used first
  };
  struct Place {
    Set* set = nullptr;
    uint32_t way = kWays;  ///< kWays: absent
  };
  using Line = std::array<uint8_t, kLine>;

  [[nodiscard]] uint64_t key_of(uint64_t tag) const { return epoch_ << kTagBits | tag; }
  uint8_t* data_of(const Place& place) {
    return lines_[static_cast<size_t>(place.set - tags_.data()) * kWays + place.way].data();
  }
  static void touch(const Place& place) {
    auto& order = place.set->order;
    uint32_t position = 0;
    while (order[position] != place.way) ++position;
    for (; position != 0; --position) order[position] = order[position - 1];
    order[0] = static_cast<uint8_t>(place.way);
  }
  Place lookup(uint64_t tag) {
    if (sets_ == 0) return {};
    Place place{&tags_[tag & (sets_ - 1)], 0};
    const uint64_t key = key_of(tag);
    while (place.way < kWays && place.set->key[place.way] != key) ++place.way;
    return place;
  }
  Place allocate(uint64_t tag) {
    Place place = lookup(tag);
    if (place.way != kWays) return place;
    place.way = 0;
    while (place.way < kWays && place.set->key[place.way] >> kTagBits == epoch_) ++place.way;
    if (place.way == kWays) place.way = place.set->order.back();
    place.set->key[place.way] = key_of(tag);
    place.set->valid[place.way] = 0;
    return place;
  }

  /// Value of changes_ at the last store to the line, or to one that shares its entry.
  uint64_t& written(uint64_t address) { return written_[address / kLine % kWrittenLines]; }

  uint64_t sets_ = 0;  ///< a power of two, or none
  uint64_t epoch_ = 1;
  uint64_t changes_ = 0, invalidated_ = 0;
  std::vector<uint64_t> written_ = std::vector<uint64_t>(kWrittenLines);
  std::vector<Set> tags_;
  std::unique_ptr<Line[]> lines_;  ///< [set][way]
};

}  // namespace ptxwire::sim
