// Spreading addresses over parallel units (slices, sets, links): consecutive ones take all units in turn, and
// each round starts elsewhere, so that strides that are a multiple of a round spread as well. Each round uses
// every unit once.
#pragma once

#include <cstdint>

namespace ptxwire::models {

/// Fibonacci hashing: the upper half of a product with 2^64 over the golden ratio. Neighbouring numbers land
/// far apart and any run of them evenly.
constexpr uint32_t golden_hash(uint64_t x) {
  return static_cast<uint32_t>((x * 0x9e3779b97f4a7c15ULL) >> 32U);
}

/// Quotient by a divisor fixed at run time, exact for numerators below 2^44 and divisors below 2^20.
class FastDivider {
 public:
  constexpr explicit FastDivider(uint32_t divisor)
      : divisor_(divisor), reciprocal_(~uint64_t{0} / divisor + 1) {}
  [[nodiscard]] constexpr uint64_t quotient(uint64_t n) const {
    if (divisor_ == 1) return n;
    return static_cast<uint64_t>((static_cast<unsigned __int128>(n) * reciprocal_) >> 64U);
  }
  [[nodiscard]] constexpr uint32_t divisor() const { return divisor_; }

 private:
  uint32_t divisor_;
  uint64_t reciprocal_;
};

/// Position in a ring of `size` after a turn by a hash that is even over 32 bits.
constexpr uint32_t rotate_in_ring(uint32_t position, uint32_t hash, uint32_t size) {
  const uint32_t sum = position + static_cast<uint32_t>((uint64_t{hash} * size) >> 32U);
  return sum < size ? sum : sum - size;
}

}  // namespace ptxwire::models
