// The 64-bit mbarrier object as this simulator lays it out (it is opaque in PTX): expected arrivals, pending
// arrivals, transaction count, phase.
#pragma once

#include <cstdint>

namespace ptxwire::sim {

class MbarrierWord {
 public:
  explicit MbarrierWord(uint64_t bits) : bits_(bits) {}
  static MbarrierWord initial(uint32_t count) {
    return MbarrierWord(count | static_cast<uint64_t>(count) << 20);
  }

  [[nodiscard]] uint64_t bits() const { return bits_; }
  [[nodiscard]] uint32_t expected() const { return static_cast<uint32_t>(bits_ & 0xFFFFF); }
  [[nodiscard]] uint32_t pending() const { return static_cast<uint32_t>(bits_ >> 20 & 0xFFFFF); }
  [[nodiscard]] bool phase() const { return (bits_ >> 63) != 0; }
  /// Bytes still awaited: 22 bits, two's complement (PTX allows -(2^20-1) to 2^20-1).
  [[nodiscard]] int32_t transactions() const {
    return static_cast<int32_t>(static_cast<uint32_t>(bits_ >> 40 & 0x3FFFFF) << 10) >> 10;
  }

  /// Applies arrivals and a change of the transaction count; returns whether the phase completed.
  bool update(uint32_t arrivals, int32_t transactions_change, uint32_t dropped) {
    const uint32_t expected_now = expected() - dropped;
    uint32_t pending_now = pending() - arrivals;
    const int32_t transactions_now = transactions() + transactions_change;
    bool phase_now = phase();
    const bool complete = (pending_now & 0xFFFFF) == 0 && transactions_now == 0;
    if (complete) {
      pending_now = expected_now;
      phase_now = !phase_now;
    }
    bits_ = (expected_now & 0xFFFFF) | static_cast<uint64_t>(pending_now & 0xFFFFF) << 20 |
            static_cast<uint64_t>(static_cast<uint32_t>(transactions_now) & 0x3FFFFF) << 40 |
            static_cast<uint64_t>(phase_now) << 63;
    return complete;
  }

 private:
  uint64_t bits_;
};

}  // namespace ptxwire::sim
