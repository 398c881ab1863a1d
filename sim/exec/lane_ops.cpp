#include "sim/exec/lane_ops.hpp"

#include "sim/exec/lanes/selectors.hpp"

namespace ptxwire::sim {
namespace {

void do_nothing(const ptx::Op&, const LaneFrame&, uint32_t) {}

/// True where nothing that the op would write is wanted.
bool has_no_effect(const ptx::Op& op) {
  if (op.modifiers.carry_out) return false;
  bool has_destination = false;
  for (const ptx::Slot& slot : op.dst) {
    if (slot.kind == ptx::Slot::Kind::reg || slot.kind == ptx::Slot::Kind::predicate) return false;
    has_destination = has_destination || slot.kind == ptx::Slot::Kind::sink;
  }
  return has_destination;
}

using Selector = LaneOp (*)(const ptx::Op&);

/// Each form belongs to one group: the first that knows it.
template <size_t count>
LaneOp first_of(const Selector (&selectors)[count], const ptx::Op& op) {
  for (const Selector selector : selectors) {
    if (const LaneOp lane_op = selector(op)) return has_no_effect(op) ? do_nothing : lane_op;
  }
  return nullptr;
}

}  // namespace

bool lane_variant_available(LaneVariant variant) {
  if (variant == LaneVariant::baseline) return true;
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
}

LaneOp select_lane_op(const ptx::Op& op, LaneVariant variant) {
  static constexpr Selector kBaseline[] = {lanes_baseline::select_logic,   lanes_baseline::select_integer,
                                           lanes_baseline::select_compare, lanes_baseline::select_float,
                                           lanes_baseline::select_half,    lanes_baseline::select_convert,
                                           lanes_baseline::select_warp};
  static constexpr Selector kAvx2[] = {lanes_avx2::select_logic,   lanes_avx2::select_integer,
                                       lanes_avx2::select_compare, lanes_avx2::select_float,
                                       lanes_avx2::select_half,    lanes_avx2::select_convert,
                                       lanes_avx2::select_warp};
  return variant == LaneVariant::avx2 ? first_of(kAvx2, op) : first_of(kBaseline, op);
}

LaneOp select_lane_op(const ptx::Op& op) {
  static const LaneVariant variant =
      lane_variant_available(LaneVariant::avx2) ? LaneVariant::avx2 : LaneVariant::baseline;
  return select_lane_op(op, variant);
}

MatrixTile matrix_tile() {
  static const MatrixTile tile = lane_variant_available(LaneVariant::avx2)
                                     ? lanes_avx2::select_matrix_tile()
                                     : lanes_baseline::select_matrix_tile();
  return tile;
}

}  // namespace ptxwire::sim
