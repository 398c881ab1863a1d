#include "sim/exec/lanes/selectors.hpp"

namespace ptxwire::sim::lanes_baseline {
namespace {

#include "sim/exec/lanes/lane_access.inc"

#include "sim/exec/lanes/bit_field_ops.inc"

#include "sim/exec/lanes/integer_ops.inc"

}  // namespace

LaneOp select_integer(const ptx::Op& op) {
  return is_integer_type(op.modifiers.type) ? select_integer_form(op) : nullptr;
}

}  // namespace ptxwire::sim::lanes_baseline
