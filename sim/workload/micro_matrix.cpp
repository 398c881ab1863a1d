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

constexpr size_t kBlock = 16;  ///< columns summed together
using Sums [[gnu::vector_size(kBlock * sizeof(float))]] = float;

}  // namespace

uint32_t bf16_integers(uint64_t seed, uint32_t bound, uint64_t w) {
  const auto element = [&](uint64_t i) {
    return uint32_t{to_bf16(static_cast<float>(drawn(seed, bound, i)))};
  };
  return element(2 * w) | element(2 * w + 1) << 16;
}

// Column blocks of B lie with k outermost, so that the sums of a block are one vector.
std::vector<uint32_t> bf16_product(const MicroMemory::Content& a, const MicroMemory::Content& b,
                                   uint64_t rows, uint64_t columns, uint64_t depth) {
  const std::vector<float> left = matrix(a, rows * depth), right = matrix(b, columns * depth);
  std::vector<uint16_t> product(rows * columns + 1);
  std::vector<Sums> block(depth);
  for (uint64_t first = 0; first < columns; first += kBlock) {
    const size_t width = std::min<uint64_t>(kBlock, columns - first);
    for (uint64_t k = 0; k < depth; ++k) {
      block[k] = Sums{};
      for (size_t c = 0; c < width; ++c) block[k][c] = right[(first + c) * depth + k];
    }
    for (uint64_t row = 0; row < rows; ++row) {
      Sums sum{};
      for (uint64_t k = 0; k < depth; ++k) sum += left[row * depth + k] * block[k];
      for (size_t c = 0; c < width; ++c) product[row * columns + first + c] = to_bf16(sum[c]);
    }
  }
  std::vector<uint32_t> words((rows * columns + 1) / 2);
  for (size_t w = 0; w < words.size(); ++w) words[w] = product[2 * w] | uint32_t{product[2 * w + 1]} << 16;
  return words;
}

}  // namespace ptxwire::sim
