#include "sim/exec/lanes/selectors.hpp"

namespace ptxwire::sim::lanes_avx2 {
namespace {

#include "sim/exec/lanes/lane_access.inc"

#include "sim/exec/lanes/float_access.inc"

#include "sim/exec/lanes/float_formats.inc"

#include "sim/exec/lanes/convert_ops.inc"

}  // namespace

LaneOp select_convert(const ptx::Op& op) { return select_convert_form(op); }

}  // namespace ptxwire::sim::lanes_avx2
