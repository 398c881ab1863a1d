#include "sim/workload/micro_matrix.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>

#include "sim/workload/random.hpp"

namespace ptxwire::sim {
namespace {

int32_t drawn(uint64_t seed, uint32_t bound, uint64_t element) {
  const uint64_t bits = hash_of(seed, 0, element) >> 32;
  return static_cast<int32_t>(bits * (2 * uint64_t{bound} + 1) >> 32) - static_cast<int32_t>(bound);
}

/// Rounded to nearest, ties to even.
uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

std::vector<float> matrix(const MicroMemory::Content& content, uint64_t elements) {
  std::vector<float> values(elements);
  for (uint64_t i = 0; i < elements; ++i)
    values[i] = static_cast<float>(drawn(content.seed, content.value, i));
  return values;
}

constexpr size_t kColumns = 8, kRows = 4;  ///< summed together
using Four [[gnu::vector_size(16)]] = float;

/// Eight columns of B with k outermost, as pairs of vectors.
std::vector<Four> column_block(const std::vector<float>& right, uint64_t first, size_t width,
                               uint64_t depth) {
  std::vector<Four> block(2 * depth);
  for (uint64_t k = 0; k < depth; ++k)
    for (size_t c = 0; c < width; ++c) block[2 * k + c / 4][c % 4] = right[(first + c) * depth + k];
  return block;
}

}  // namespace

uint32_t bf16_integers(uint64_t seed, uint32_t bound, uint64_t w) {
  const auto element = [&](uint64_t i) {
    return uint32_t{to_bf16(static_cast<float>(drawn(seed, bound, i)))};
  };
  return element(2 * w) | element(2 * w + 1) << 16;
}

// Sums of four rows and eight columns stay in registers. Rows beyond the last repeat it.
std::vector<uint32_t> bf16_product(const MicroMemory::Content& a, const MicroMemory::Content& b,
                                   uint64_t rows, uint64_t columns, uint64_t depth) {
  const std::vector<float> left = matrix(a, rows * depth), right = matrix(b, columns * depth);
  std::vector<uint16_t> product(rows * columns + 1);
  for (uint64_t first = 0; first < columns; first += kColumns) {
    const size_t width = std::min<uint64_t>(kColumns, columns - first);
    const std::vector<Four> block = column_block(right, first, width, depth);
    for (uint64_t row = 0; row < rows; row += kRows) {
      const float* line[kRows];
      for (size_t r = 0; r < kRows; ++r) line[r] = left.data() + std::min(row + r, rows - 1) * depth;
      Four sum[kRows][2] = {};
      for (uint64_t k = 0; k < depth; ++k) {
        for (size_t r = 0; r < kRows; ++r) {
          sum[r][0] += line[r][k] * block[2 * k];
          sum[r][1] += line[r][k] * block[2 * k + 1];
        }
      }
      for (size_t r = 0; r < kRows && row + r < rows; ++r)
        for (size_t c = 0; c < width; ++c)
          product[(row + r) * columns + first + c] = to_bf16(sum[r][c / 4][c % 4]);
    }
  }
  std::vector<uint32_t> words((rows * columns + 1) / 2);
  for (size_t w = 0; w < words.size(); ++w) words[w] = product[2 * w] | uint32_t{product[2 * w + 1]} << 16;
  return words;
}

}  // namespace ptxwire::sim
