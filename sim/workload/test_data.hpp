// Inputs as functions of their coordinates: whatever a kernel moves can be computed again where it should
// arrive, so neither inputs nor expectations are kept twice.
#pragma once

#include <cstdint>
#include <span>

namespace ptxwire::sim {

/// Bits of the BF16 nearest to `value` (ties to even). Not for NaN.
uint16_t to_bf16(float value);
float from_bf16(uint16_t bits);

/// Data of one run.
class TestData {
 public:
  explicit TestData(uint64_t seed) : seed_(seed) {}

  /// A row that is only moved: any bytes. `row` holds a whole number of 8-byte words.
  void fill_row(uint32_t rank, uint32_t token, std::span<uint8_t> row) const;
  /// Offset of the first byte that differs from fill_row's, or row.size().
  [[nodiscard]] size_t first_difference(uint32_t rank, uint32_t token, std::span<const uint8_t> row) const;
  /// Byte `offset` of the row.
  [[nodiscard]] uint8_t row_byte(uint32_t rank, uint32_t token, size_t offset) const;

  [[nodiscard]] float scale(uint32_t rank, uint32_t token, uint32_t index) const;
  /// A weight with few bits, so that sums of eight are exact.
  [[nodiscard]] float weight(uint32_t rank, uint32_t token, uint32_t k) const;

  /// A row of BF16 over many orders of magnitude: groups of 128 values share a largest exponent; some groups
  /// are tiny, some zero.
  void fill_activations(uint32_t rank, uint32_t token, std::span<uint16_t> row) const;
  /// A weight in (0, 1] with as many bits as a float has.
  [[nodiscard]] float gate(uint32_t rank, uint32_t token, uint32_t k) const;

  /// What rank `rank` made of token `token` of rank `source`: BF16 integers from -31 to 31, so that the sum
  /// over 8 ranks is exact in BF16. `row` holds a multiple of 4 values.
  void fill_summand(uint32_t rank, uint32_t source, uint32_t token, std::span<uint16_t> row) const;
  /// Adds that row to `sum`.
  void add_summand(uint32_t rank, uint32_t source, uint32_t token, std::span<float> sum) const;
  /// The weight that travels back with it.
  [[nodiscard]] float summand_weight(uint32_t rank, uint32_t source, uint32_t token, uint32_t k) const;

 private:
  uint64_t seed_;
};

}  // namespace ptxwire::sim
