// The selectors of each group of operations, once per build. Every function returns nullptr for forms it does
// not own.
#pragma once

#include <cstdint>

#include "sim/exec/lane_ops.hpp"
#include "sim/exec/matrix_tile.hpp"

namespace ptxwire::sim {

namespace lanes_baseline {
LaneOp select_integer(const ptx::Op& op);
LaneOp select_logic(const ptx::Op& op);
LaneOp select_compare(const ptx::Op& op);
LaneOp select_float(const ptx::Op& op);
LaneOp select_half(const ptx::Op& op);
LaneOp select_convert(const ptx::Op& op);
LaneOp select_warp(const ptx::Op& op);
MatrixTile select_matrix_tile();
}  // namespace lanes_baseline

namespace lanes_avx2 {
LaneOp select_integer(const ptx::Op& op);
LaneOp select_logic(const ptx::Op& op);
LaneOp select_compare(const ptx::Op& op);
LaneOp select_float(const ptx::Op& op);
LaneOp select_half(const ptx::Op& op);
LaneOp select_convert(const ptx::Op& op);
LaneOp select_warp(const ptx::Op& op);
MatrixTile select_matrix_tile();
}  // namespace lanes_avx2

}  // namespace ptxwire::sim
