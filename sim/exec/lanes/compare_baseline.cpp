#include "sim/exec/lanes/selectors.hpp"

namespace ptxwire::sim::lanes_baseline {
namespace {

#include "sim/exec/lanes/lane_access.inc"

#include "sim/exec/lanes/float_access.inc"

#include "sim/exec/lanes/compare_ops.inc"

}  // namespace

LaneOp select_compare(const ptx::Op& op) { return select_compare_form(op); }

}  // namespace ptxwire::sim::lanes_baseline
