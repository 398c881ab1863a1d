// Where the operands of a warpgroup matrix product lie in shared memory (PTX ISA 9.7.15.5, matrix
// descriptor), and what their elements are worth.
#pragma once

#include <cstdint>
#include <span>

#include "ptx_frontend/program.hpp"

namespace ptxwire::sim {

/// A row of an operand with k innermost: 16 halves, 8 words, 32 bytes or 256 bits.
inline constexpr uint32_t kOperandRowBytes = 32;
inline constexpr uint32_t kOperandRows = 64;  ///< of A

/// A matrix descriptor taken apart. Offsets in bytes.
struct MatrixDescriptor {
  uint32_t start = 0, leading_offset = 0, stride_offset = 0;
  uint32_t base_offset = 0;  ///< in units of 128 bytes: how far the swizzle pattern is from its own alignment
  uint32_t swizzle_bytes = 0;  ///< 0 (none), 32, 64, 128

  static MatrixDescriptor decode(uint64_t bits);
};

/// Brings `rows` rows of an operand together, k innermost: row r at out + r * kOperandRowBytes. `transposed`:
/// shared memory has m (or n) innermost, elements of 16 bits. Returns false if a part of it is outside of
/// `shared`.
bool gather_operand(const MatrixDescriptor& descriptor, bool transposed, uint32_t rows,
                    std::span<const uint8_t> shared, uint8_t* out);

/// The elements of one row as floats, which hold each of them exactly; tf32 ignores the 13 low bits. Returns
/// how many there are. Not for b1.
uint32_t widen_row(ptx::MatrixElement element, bool negate, const uint8_t* row, float* out);

/// IEEE half to float, exact.
float half_to_float(uint16_t bits);
/// Rounded to nearest, ties to even; a NaN becomes 0x7fff.
uint16_t float_to_half(float value);

}  // namespace ptxwire::sim
