// Cycles of one scheduler port (or pipe) as bits. A warp that runs ahead of the event clock takes the first
// free cycle at or after it is ready and leaves earlier ones to others; a single "busy until" would waste the
// gaps.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace ptxwire::sim {

class SlotCalendar {
 public:
  /// Takes the first `width` free consecutive cycles at or after `cycle`; returns the first of them. Runs are
  /// not split over 64-cycle words; widths beyond 32 take several claims.
  int64_t claim(int64_t cycle, uint32_t width) {
    if (width <= 1) return claim_one(cycle);
    while (width > kMaxWidth) {
      cycle = claim_run(cycle, kMaxWidth) + kMaxWidth;
      width -= kMaxWidth;
    }
    return claim_run(cycle, width);
  }

 private:
  static constexpr size_t kWords = 16;
  static constexpr uint32_t kMaxWidth = 32;

  uint64_t& word(int64_t cycle) {
    const int64_t number = cycle >> 6;
    const size_t slot = static_cast<size_t>(number) % kWords;
    if (number_[slot] >
        number) {  // a parked warp replays the past: those cycles are no longer kept, take them as free
      forgotten_ = 0;
      return forgotten_;
    }
    if (number_[slot] != number) {
      number_[slot] = number;
      bits_[slot] = 0;
    }
    return bits_[slot];
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

  std::array<uint64_t, kWords> bits_{};
  std::array<int64_t, kWords> number_{};
  uint64_t forgotten_ = 0;
};

}  // namespace ptxwire::sim
