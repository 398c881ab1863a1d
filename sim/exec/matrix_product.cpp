#include "sim/exec/matrix_product.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace ptxwire::sim {

using ptx::MatrixElement;
using ptx::Type;

namespace {

constexpr uint32_t kWarpRows = 16, kLanes = 32;
constexpr uint32_t kMaxSums = MatrixRight::kMaxColumns / 2;  ///< of a thread
constexpr uint32_t kCanonicalNan = 0x7FFFFFFF;

using SumRow = std::array<float, kLanes>;

/// Elements of a row that count, as floats.
uint32_t widen(const MatrixProductForm& form, ptx::MatrixElement element, bool negate, const uint8_t* row,
               float* out) {
  return widen_row(element, negate, row, out) * form.matrix.row_bytes / kOperandRowBytes;
}

/// Columns of B for four lanes of each row group, twice: see matrix_tile.hpp.
uint32_t spread_right(const MatrixProductForm& form, const uint8_t* rows, float* out) {
  std::array<float, kMaxDepth> values;
  uint32_t depth = 0;
  for (uint32_t column = 0; column < form.matrix.n; ++column) {
    depth = widen(form, form.matrix.b, form.matrix.negate_b, rows + size_t{column} * kOperandRowBytes,
                  values.data());
    const uint32_t place = column % 8;
    float* target = out + ((size_t{column} / 8 * 2 + place % 2) * depth) * 8 + place / 2;
    for (uint32_t k = 0; k < depth; ++k) target[size_t{k} * 8] = target[size_t{k} * 8 + 4] = values[k];
  }
  return depth;
}

void spread_left(const MatrixProductForm& form, const uint8_t* rows, float* out) {
  std::array<float, kMaxDepth> values;
  for (uint32_t row = 0; row < kWarpRows; ++row) {
    const uint32_t depth = widen(form, form.matrix.a, form.matrix.negate_a,
                                 rows + size_t{row} * kOperandRowBytes, values.data());
    float* target = out + row / 8 * kLanes + row % 8 * 4;
    for (uint32_t k = 0; k < depth; ++k) std::fill_n(target + size_t{k} * 2 * kLanes, 4, values[k]);
  }
}

/// A sum that is not a number has one bit pattern.
void make_canonical(float* sums) {
  for (uint32_t lane = 0; lane < kLanes; ++lane)
    sums[lane] = sums[lane] == sums[lane] ? sums[lane] : std::bit_cast<float>(kCanonicalNan);
}

int32_t added(int32_t sum, int32_t term, bool saturate) {
  if (!saturate) return static_cast<int32_t>(static_cast<uint32_t>(sum) + static_cast<uint32_t>(term));
  const int64_t exact = int64_t{sum} + term;
  return static_cast<int32_t>(
      std::clamp<int64_t>(exact, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()));
}

/// The bits that both rows have set.
uint32_t common_bits(const uint8_t* a, const uint8_t* b) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < kOperandRowBytes; i += 8) {
    uint64_t x = 0, y = 0;
    std::memcpy(&x, a + i, 8);
    std::memcpy(&y, b + i, 8);
    count += static_cast<uint32_t>(std::popcount(x & y));
  }
  return count;
}

void multiply_bits(const MatrixProductForm& form, const uint8_t* left, const uint8_t* right,
                   uint32_t* const* registers) {
  for (uint32_t i = 0; i < form.registers(); ++i) {
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      const uint32_t row = lane / 4 + i / 2 % 2 * 8;
      const uint32_t column = i / 4 * 8 + lane % 4 * 2 + i % 2;
      const uint32_t term =
          common_bits(left + size_t{row} * kOperandRowBytes, right + size_t{column} * kOperandRowBytes);
      registers[i][lane] = form.accumulate ? registers[i][lane] + term : term;
    }
  }
}

}  // namespace

MatrixRight::MatrixRight(const MatrixProductForm& form, const uint8_t* rows) : rows_(rows) {
  if (form.matrix.b != MatrixElement::b1) depth_ = spread_right(form, rows, spread_.data());
}

void multiply_warp(const MatrixProductForm& form, const uint8_t* left, const MatrixRight& right,
                   uint32_t* const* registers) {
  if (form.matrix.b == MatrixElement::b1) return multiply_bits(form, left, right.rows_, registers);
  alignas(64) std::array<float, size_t{2} * kLanes * kMaxDepth> spread;
  spread_left(form, left, spread.data());
  alignas(64) std::array<SumRow, kMaxSums> own;
  std::array<float*, kMaxSums> sums;
  const uint32_t count = form.matrix.n / 2U;
  const bool in_place = form.sum_type == Type::f32;
  for (uint32_t i = 0; i < count; ++i) {
    sums[i] = in_place ? reinterpret_cast<float*>(registers[i]) : own[i].data();
    if (!form.accumulate || form.sum_type == Type::s32) {
      std::fill_n(sums[i], kLanes, 0.0F);
    } else if (!in_place) {
      for (uint32_t lane = 0; lane < kLanes; ++lane)
        sums[i][lane] = half_to_float(static_cast<uint16_t>(registers[i / 2][lane] >> i % 2 * 16));
    }
  }
  matrix_tile()(sums.data(), spread.data(), right.spread_.data(), form.matrix.n / 8U, right.depth_);
  for (uint32_t i = 0; i < count; ++i) {
    if (in_place) {
      make_canonical(sums[i]);
    } else if (form.sum_type == Type::s32) {  // the sum of a whole depth is below 2^24: exact
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        const auto before = form.accumulate ? static_cast<int32_t>(registers[i][lane]) : 0;
        registers[i][lane] =
            static_cast<uint32_t>(added(before, static_cast<int32_t>(sums[i][lane]), form.saturate));
      }
    } else if (i % 2 == 1) {
      for (uint32_t lane = 0; lane < kLanes; ++lane)
        registers[i / 2][lane] =
            float_to_half(sums[i - 1][lane]) | static_cast<uint32_t>(float_to_half(sums[i][lane])) << 16;
    }
  }
}

}  // namespace ptxwire::sim
