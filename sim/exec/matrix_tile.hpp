// The arithmetic of a warp's share of a matrix product: 16 rows of D by n columns, in the order of the
// registers.
//
// Accumulator register i of lane l holds row l / 4 + 8 * (i / 2 % 2) and column 8 * (i / 4) + 2 * (l % 4) + i
// % 2 (PTX ISA 9.7.15.5, D fragments), so that one register row of 32 lanes is 8 rows of D by 4 of its
// columns. Both operands are spread to that shape once and the sums stay in registers.
#pragma once

#include <cstdint>

namespace ptxwire::sim {

/// Depth of a product: at most 32 elements of 8 bits.
inline constexpr uint32_t kMaxDepth = 32;
/// Floats that `b` takes per 8 columns and element of depth.
inline constexpr uint32_t kSpreadColumns = 16;

/// sums[i][lane] += a * b over the whole depth, in ascending order of k, each product and each sum rounded to
/// f32 (products of the formats that wgmma takes are exact).
///   sums: register i at sums[i], 32 lanes each, i < 4 * groups
///   a:    [depth][half][32 lanes]: row l / 4 + 8 * half
///   b:    [group][parity][depth][8]: columns 8 * group + 2 * (0..3) + parity, twice
using MatrixTile = void (*)(float* const* sums, const float* a, const float* b, uint32_t groups,
                            uint32_t depth);

/// The build that this CPU can run; all give the same bits.
MatrixTile matrix_tile();

}  // namespace ptxwire::sim
