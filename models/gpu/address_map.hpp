// Where a line lives in one GPU's L2: partition, slice, set and tag. A bijection of line numbers, so a set
// and a tag name a line again.
//
// NVIDIA does not publish the hash. Ours keeps the properties that matter to streams: 4 KiB stay in one
// partition, any run of as many lines as a partition has slices touches every slice once, and each such run
// starts at another slice, so that strided accesses spread too.
#pragma once

#include <cstdint>

#include "models/base/transaction.hpp"
#include "models/machines/machine.hpp"

namespace ptxwire::models {

/// A fixed 64-bit mixer (the finalizer of SplitMix64): every input bit reaches every output bit.
constexpr uint64_t mix_bits(uint64_t x) {
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31U);
}

/// Quotient and remainder by a divisor fixed at run time, exact for numerators below 2^44 and divisors below
/// 2^20.
class FastDivider {
 public:
  constexpr explicit FastDivider(uint32_t divisor)
      : divisor_(divisor), reciprocal_(~uint64_t{0} / divisor + 1) {}
  [[nodiscard]] constexpr uint64_t quotient(uint64_t n) const {
    if (divisor_ == 1) return n;
    return static_cast<uint64_t>((static_cast<unsigned __int128>(n) * reciprocal_) >> 64U);
  }
  [[nodiscard]] constexpr uint32_t divisor() const { return divisor_; }
  /// A hash spread evenly over [0, divisor).
  [[nodiscard]] constexpr uint32_t scale(uint64_t hash) const {
    return static_cast<uint32_t>(((hash & 0xffffffffU) * divisor_) >> 32U);
  }

 private:
  uint32_t divisor_;
  uint64_t reciprocal_;
};

class L2AddressMap {
 public:
  struct Place {
    uint32_t slice;  ///< slices [p * slices / partitions, ...) belong to partition p
    uint32_t set;    ///< over all slices: slice * sets_per_slice + set in slice
    uint16_t tag;    ///< unique within a range of l2.bytes / ways * 65536 (214 GB), more than a GPU has
    uint8_t partition;
  };

  explicit L2AddressMap(const L2Parameters& l2)
      : partitions_(l2.partitions),
        slices_(l2.slices / l2.partitions),
        sets_(static_cast<uint32_t>(l2.bytes / (uint64_t{kLineBytes} * l2.ways * l2.slices))) {}

  [[nodiscard]] uint32_t sets_per_slice() const { return sets_.divisor(); }

  [[nodiscard]] uint32_t partition(uint64_t address) const {
    if (partitions_ != 2) return 0;
    // Of two neighbouring granules one goes to each partition; which one, the hash decides.
    const uint64_t granule = address / kLineBytes / kGranuleLines;
    return (granule ^ mix_bits(granule / 2)) & 1U;
  }

  [[nodiscard]] Place place(uint64_t address) const {
    const uint32_t home = partition(address);
    uint64_t line = address / kLineBytes;
    if (partitions_ == 2) line = line / (2 * kGranuleLines) * kGranuleLines + line % kGranuleLines;
    const uint64_t row = slices_.quotient(line);
    const auto column = static_cast<uint32_t>(line - row * slices_.divisor());
    const uint32_t slice = home * slices_.divisor() + rotate(slices_, column, mix_bits(row + 1));
    const uint64_t tag = sets_.quotient(row);
    const auto set_row = static_cast<uint32_t>(row - tag * sets_.divisor());
    // Only the bits of the tag that are kept may choose the set, or two lines could share set and tag.
    const uint32_t set = rotate(sets_, set_row, mix_bits((tag & 0xffffU) + 0x51ed27U));
    return {slice, slice * sets_.divisor() + set, static_cast<uint16_t>(tag), static_cast<uint8_t>(home)};
  }

 private:
  static constexpr uint64_t kGranuleLines = 32;

  static uint32_t rotate(const FastDivider& ring, uint32_t position, uint64_t hash) {
    const uint32_t sum = position + ring.scale(hash);
    return sum < ring.divisor() ? sum : sum - ring.divisor();
  }

  uint32_t partitions_;
  FastDivider slices_, sets_;
};

}  // namespace ptxwire::models
