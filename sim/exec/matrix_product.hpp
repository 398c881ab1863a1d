// D = A * B + D as a warpgroup computes it: values only.
//
// Accumulation. Floating point: the sum of a warpgroup's instruction starts with D (or 0) and takes the
// products in ascending order of k; products are exact, each sum is rounded to nearest f32, and a D in f16 is
// rounded once at the end. The ISA leaves order, intermediate rounding and treatment of the low bits to the
// hardware, so results agree bit for bit where every partial sum is exact and within the usual error bound
// elsewhere. Integers wrap, or saturate with .satfinite.
#pragma once

#include <array>
#include <cstdint>

#include "ptx_frontend/program.hpp"
#include "sim/exec/matrix_operand.hpp"
#include "sim/exec/matrix_tile.hpp"

namespace ptxwire::sim {

struct MatrixProductForm {
  ptx::MatrixForm matrix;
  ptx::Type sum_type = ptx::Type::f32;  ///< of D: f32, f16, s32
  bool accumulate = true;               ///< else D starts at 0
  bool saturate = false;                ///< s32

  /// Registers of D in a thread.
  [[nodiscard]] uint32_t registers() const { return matrix.n / (sum_type == ptx::Type::f16 ? 4U : 2U); }
};

/// Operand B, read once for all four warps.
class MatrixRight {
 public:
  static constexpr uint32_t kMaxColumns = 256;
  /// `rows`: n rows of kOperandRowBytes, k innermost.
  MatrixRight(const MatrixProductForm& form, const uint8_t* rows);

 private:
  friend void multiply_warp(const MatrixProductForm&, const uint8_t*, const MatrixRight&, uint32_t* const*);
  const uint8_t* rows_;
  uint32_t depth_ = 0;
  std::array<float, size_t{kMaxColumns / 8} * kSpreadColumns * kMaxDepth> spread_;
};

/// The share of one warp: `left` are its 16 rows of A, registers[i] the 32 lanes of its i-th register of D.
void multiply_warp(const MatrixProductForm& form, const uint8_t* left, const MatrixRight& right,
                   uint32_t* const* registers);

}  // namespace ptxwire::sim
