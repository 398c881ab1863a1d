#include <cfenv>

#include "sim/exec/lanes/selectors.hpp"

namespace ptxwire::sim::lanes_avx2 {
namespace {

constexpr bool kHasFma = true;

#include "sim/exec/lanes/lane_access.inc"

#include "sim/exec/lanes/float_access.inc"

#include "sim/exec/lanes/double_ops.inc"

#include "sim/exec/lanes/float_ops.inc"

}  // namespace

LaneOp select_float(const ptx::Op& op) { return select_float_form(op); }

}  // namespace ptxwire::sim::lanes_avx2
