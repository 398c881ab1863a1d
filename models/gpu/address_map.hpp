// Where a line lives in one GPU's L2: partition, slice, set and tag. A bijection of line numbers, so a set
// and a tag name a line again.
//
// NVIDIA does not publish the hash. Ours keeps the properties that matter to streams: 4 KiB stay in one
// partition, any run of as many lines as a partition has slices touches every slice once, and each such run
// starts at another slice, so that strided accesses spread too.
#pragma once

#include <cstdint>

#include "models/base/spread.hpp"
#include "models/base/transaction.hpp"
#include "models/machines/machine.hpp"

namespace ptxwire::models {

class L2AddressMap {
 public:
  struct Place {
    uint32_t slice;  ///< slices [p * slices / partitions, ...) belong to partition p
    uint32_t set;    ///< over all slices: slice * sets_per_slice + set in slice
    uint16_t tag;    ///< unique within a range of l2.bytes / ways * 65536 (214 GB), more than a GPU has
    uint32_t line;   ///< number among the lines of the slice, in the order of addresses; as unique as the tag
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
    return (granule ^ (golden_hash(granule / 2) >> 31U)) & 1U;
  }

  [[nodiscard]] Place place(uint64_t address) const {
    const uint32_t home = partition(address);
    uint64_t line = address / kLineBytes;
    if (partitions_ == 2) line = line / (2 * kGranuleLines) * kGranuleLines + line % kGranuleLines;
    const uint64_t row = slices_.quotient(line);
    const auto column = static_cast<uint32_t>(line - row * slices_.divisor());
    const uint32_t slice =
        home * slices_.divisor() + rotate_in_ring(column, golden_hash(row), slices_.divisor());
    const uint64_t tag = sets_.quotient(row);
    const auto set_row = static_cast<uint32_t>(row - tag * sets_.divisor());
    // Only the bits of the tag that are kept may choose the set, or two lines could share set and tag.
    const auto kept = static_cast<uint32_t>(tag & 0xffffU);
    const uint32_t set = rotate_in_ring(set_row, golden_hash(kept), sets_.divisor());
    return {slice, slice * sets_.divisor() + set, static_cast<uint16_t>(kept),
            kept * sets_.divisor() + set_row, static_cast<uint8_t>(home)};
  }

  /// Place::line of the line with this tag in this set (over all slices) of `slice`.
  [[nodiscard]] uint32_t line_of_tag(uint32_t slice, uint32_t set, uint16_t tag) const {
    const uint32_t sets = sets_.divisor();
    const uint32_t turned = rotate_in_ring(0, golden_hash(tag), sets);
    const uint32_t in_slice = set - slice * sets;
    return tag * sets + (in_slice < turned ? in_slice + sets - turned : in_slice - turned);
  }

 private:
  static constexpr uint64_t kGranuleLines = 32;

  uint32_t partitions_;
  FastDivider slices_, sets_;
};

}  // namespace ptxwire::models
