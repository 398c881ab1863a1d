#include "sim/exec/lanes/selectors.hpp"

namespace ptxwire::sim::lanes_baseline {
namespace {

#include "sim/exec/lanes/lane_access.inc"

#include "sim/exec/lanes/warp_ops.inc"

}  // namespace

LaneOp select_warp(const ptx::Op& op) { return select_warp_form(op); }

}  // namespace ptxwire::sim::lanes_baseline
