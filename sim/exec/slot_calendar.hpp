// Cycles of one scheduler port (or pipe) as bits. A warp that runs ahead of the event clock takes the first
// free cycle at or after it is ready and leaves earlier ones to others; a single "busy until" would waste the
// gaps.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ptxwire::sim {

/// Keeps every cycle from about the latest requested one to the last one taken, however many warps queue up.
/// Cycles longer ago are forgotten and count as free: a parked warp replays its last turn there.
class SlotCalendar {
 public:
  SlotCalendar() = default;
  SlotCalendar(const SlotCalendar&) = delete;
  SlotCalendar& operator=(const SlotCalendar&) = delete;

  /// Takes the first `width` free consecutive cycles at or after `cycle` and returns the first of them. Runs
  /// are not split over 64-cycle words; widths beyond 32 take several runs, and the first cycle of the last
  /// one is returned.
  int64_t claim(int64_t cycle, uint32_t width) {
    if (cycle >> 6 > requested_) requested_ = cycle >> 6;
    if (width <= 1) return claim_one(cycle);
    while (width > kMaxWidth) {
      cycle = claim_run(cycle, kMaxWidth) + kMaxWidth;
      width -= kMaxWidth;
    }
    return claim_run(cycle, width);
  }

  /// Takes the first `count` free cycles at or after `cycle`, next to each other or not, and returns the last
  /// of them.
  int64_t claim_scattered(int64_t cycle, uint32_t count) {
    if (cycle >> 6 > requested_) requested_ = cycle >> 6;
    for (;; cycle = (cycle | 63) + 1) {
      uint64_t& bits = word(cycle);
      for (uint64_t free = ~bits & (~0ULL << (cycle & 63)); free != 0; free &= free - 1) {
        bits |= free & (~free + 1);
        if (--count == 0) return (cycle & ~int64_t{63}) + std::countr_zero(free);
      }
    }
  }

 private:
  static constexpr size_t kWords = 16;
  static constexpr uint32_t kMaxWidth = 32;
  static constexpr int64_t kRecentWords = 2;  ///< before the latest request others may still ask for cycles

  struct Word {
    int64_t number = 0;
    uint64_t bits = 0;
  };

  uint64_t& word(int64_t cycle) {
    const int64_t number = cycle >> 6;
    Word* slot = &words_[static_cast<size_t>(number) & (size_ - 1)];
    if (slot->number == number) return slot->bits;
    if (slot->number > number) {
      forgotten_ = 0;
      return forgotten_;
    }
    while (slot->number + kRecentWords >= requested_ && slot->bits != 0) {
      grow();
      slot = &words_[static_cast<size_t>(number) & (size_ - 1)];
      if (slot->number >= number) return slot->bits;
    }
    *slot = {number, 0};
    return slot->bits;
  }

  /// Doubles the ring. Rare: only when more than 1,024 cycles are booked ahead.
  void grow() {
    std::vector<Word> wider(2 * size_);
    for (size_t i = 0; i < size_; ++i) {
      Word& target = wider[static_cast<size_t>(words_[i].number) & (2 * size_ - 1)];
      if (words_[i].number >= target.number) target = words_[i];
    }
    wide_.swap(wider);
    words_ = wide_.data();
    size_ *= 2;
  }

  int64_t claim_one(int64_t cycle) {
    for (;;) {
      uint64_t& bits = word(cycle);
      const uint64_t free = ~bits >> (cycle & 63);
      if (free != 0) {
        const int64_t at = cycle + std::countr_zero(free);
        bits |= 1ULL << (at & 63);
        return at;
      }
      cycle = (cycle | 63) + 1;
    }
  }

  int64_t claim_run(int64_t cycle, uint32_t width) {
    const uint64_t ones = (1ULL << width) - 1;
    for (;;) {
      uint64_t& bits = word(cycle);
      for (uint32_t bit = static_cast<uint32_t>(cycle & 63); bit + width <= 64; ++bit) {
        if (((bits >> bit) & ones) == 0) {
          bits |= ones << bit;
          return (cycle & ~int64_t{63}) + bit;
        }
      }
      cycle = (cycle | 63) + 1;
    }
  }

  std::array<Word, kWords> narrow_{};
  std::vector<Word> wide_;
  Word* words_ = narrow_.data();
  size_t size_ = kWords;
  int64_t requested_ = 0;  ///< word of the latest request
  uint64_t forgotten_ = 0;
};

}  // namespace ptxwire::sim
