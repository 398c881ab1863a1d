#include "sim/exec/lanes/selectors.hpp"

namespace ptxwire::sim::lanes_avx2 {
namespace {

#include "sim/exec/lanes/lane_access.inc"

#include "sim/exec/lanes/logic_ops.inc"

}  // namespace

LaneOp select_logic(const ptx::Op& op) { return select_logic_form(op); }

}  // namespace ptxwire::sim::lanes_avx2
