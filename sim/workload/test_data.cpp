#include "sim/workload/test_data.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "sim/workload/random.hpp"

namespace ptxwire::sim {

namespace {

/// What a hash is for: streams of different purposes never meet.
enum class Purpose : uint64_t { row, scale, weight, summand, summand_weight, activation, gate };

constexpr uint64_t kMaxRanks = 256;

/// The values of one row: hash number `i` of it.
class RowHash {
 public:
  RowHash(uint64_t seed, Purpose purpose, uint32_t rank, uint32_t source, uint32_t token)
      : base_(hash_of(seed, static_cast<uint64_t>(purpose),
                      (uint64_t{token} * kMaxRanks + source) * kMaxRanks + rank)) {}
  [[nodiscard]] uint64_t operator()(uint64_t i) const { return mix(base_ + i * kGoldenGamma); }

 private:
  uint64_t base_;
};

constexpr int kSmallest = -31, kLargest = 31;
constexpr uint64_t kCodes = 64;  ///< of six bits; the one value too many becomes 0

constexpr int small_integer(uint64_t code) {
  const int value = kSmallest + static_cast<int>(code);
  return value <= kLargest ? value : 0;
}

constexpr std::array<uint16_t, kCodes> kSmallBf16 = [] {
  std::array<uint16_t, kCodes> bits{};
  for (uint64_t code = 0; code < kCodes; ++code)  // few bits: the upper half of the float is the whole value
    bits[code] =
        static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(small_integer(code))) >> 16);
  return bits;
}();

constexpr uint64_t code_of(uint64_t hash, unsigned value) { return (hash >> (16 * value)) % kCodes; }

constexpr float small_fraction(uint64_t hash) { return static_cast<float>(hash % 256) / 16.0F; }

}  // namespace

uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

float from_bf16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

void TestData::fill_row(uint32_t rank, uint32_t token, std::span<uint8_t> row) const {
  const RowHash hash(seed_, Purpose::row, rank, 0, token);
  for (size_t i = 0; i < row.size() / 8; ++i) {
    const uint64_t word = hash(i);
    std::memcpy(row.data() + 8 * i, &word, 8);
  }
}

size_t TestData::first_difference(uint32_t rank, uint32_t token, std::span<const uint8_t> row) const {
  const RowHash hash(seed_, Purpose::row, rank, 0, token);
  for (size_t i = 0; i < row.size() / 8; ++i) {
    uint64_t word = 0;
    std::memcpy(&word, row.data() + 8 * i, 8);
    if (const uint64_t difference = word ^ hash(i); difference != 0)
      return 8 * i + static_cast<size_t>(std::countr_zero(difference)) / 8;
  }
  return row.size();
}

uint8_t TestData::row_byte(uint32_t rank, uint32_t token, size_t offset) const {
  const RowHash hash(seed_, Purpose::row, rank, 0, token);
  return static_cast<uint8_t>(hash(offset / 8) >> (8 * (offset % 8)));
}

float TestData::scale(uint32_t rank, uint32_t token, uint32_t index) const {
  return small_fraction(RowHash(seed_, Purpose::scale, rank, 0, token)(index));
}

float TestData::weight(uint32_t rank, uint32_t token, uint32_t k) const {
  return small_fraction(RowHash(seed_, Purpose::weight, rank, 0, token)(k));
}

float TestData::summand_weight(uint32_t rank, uint32_t source, uint32_t token, uint32_t k) const {
  return small_fraction(RowHash(seed_, Purpose::summand_weight, rank, source, token)(k));
}

void TestData::fill_activations(uint32_t rank, uint32_t token, std::span<uint16_t> row) const {
  constexpr size_t kGroup = 128, kPerHash = 4;
  constexpr uint64_t kZeroOneIn = 16, kLargestExponent = 137, kGroupExponents = 32, kExponents = 16;
  const RowHash hash(seed_, Purpose::activation, rank, 0, token);
  for (size_t i = 0; i < row.size(); ++i) {
    const uint64_t group = hash(row.size() + i / kGroup);
    const uint64_t code = hash(i / kPerHash) >> (16 * (i % kPerHash));
    const uint64_t exponent =
        kLargestExponent - group / kZeroOneIn % kGroupExponents - code / 256 % kExponents;
    const uint64_t sign_and_mantissa = (code & 0x80U) << 8U | (code & 0x7fU);
    row[i] = group % kZeroOneIn == 0 ? 0 : static_cast<uint16_t>(sign_and_mantissa | exponent << 7U);
  }
}

float TestData::gate(uint32_t rank, uint32_t token, uint32_t k) const {
  constexpr int kBits = 24;
  const uint64_t hash = RowHash(seed_, Purpose::gate, rank, 0, token)(k);
  return std::ldexp(static_cast<float>(1 + (hash >> (64U - kBits))), -kBits);
}

void TestData::fill_summand(uint32_t rank, uint32_t source, uint32_t token, std::span<uint16_t> row) const {
  const RowHash hash(seed_, Purpose::summand, rank, source, token);
  for (size_t i = 0; i < row.size() / 4; ++i) {
    const uint64_t word = hash(i);
    for (unsigned j = 0; j < 4; ++j) row[4 * i + j] = kSmallBf16[code_of(word, j)];
  }
}

void TestData::add_summand(uint32_t rank, uint32_t source, uint32_t token, std::span<float> sum) const {
  const RowHash hash(seed_, Purpose::summand, rank, source, token);
  for (size_t i = 0; i < sum.size() / 4; ++i) {
    const uint64_t word = hash(i);
    for (unsigned j = 0; j < 4; ++j) sum[4 * i + j] += static_cast<float>(small_integer(code_of(word, j)));
  }
}

}  // namespace ptxwire::sim
