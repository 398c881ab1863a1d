#include "sim/exec/lanes/selectors.hpp"

namespace ptxwire::sim::lanes_avx2 {
namespace {

#include "sim/exec/lanes/lane_access.inc"

#include "sim/exec/lanes/float_access.inc"

#include "sim/exec/lanes/half_ops.inc"

}  // namespace

LaneOp select_half(const ptx::Op& op) { return select_half_form(op); }

}  // namespace ptxwire::sim::lanes_avx2
