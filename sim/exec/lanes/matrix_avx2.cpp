#include "sim/exec/lanes/selectors.hpp"

namespace ptxwire::sim::lanes_avx2 {
namespace {

#include "sim/exec/lanes/matrix_ops.inc"

}  // namespace

MatrixTile select_matrix_tile() { return multiply_tile; }

}  // namespace ptxwire::sim::lanes_avx2
