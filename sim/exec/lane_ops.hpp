// Bit-exact semantics of every instruction that only reads and writes registers of one warp:
// lane arithmetic, conversions, compares, and the exchanges between lanes (shfl, vote, ...).
// The core resolves operands and guards; these functions know neither memory nor time.
#pragma once

#include <cstdint>

#include "ptx_frontend/program.hpp"

namespace ptxwire::sim {

/// Where an op finds its operands; the core fills it before the call.
/// Operands of up to 32 bits are uint32_t[32], 64-bit ones uint64_t[32], b128 ones two uint64_t[32] (low,
/// high). 8- and 16-bit readers use the low bits of a row only, so the bits above them never matter.
struct LaneFrame {
  uint32_t* rows = nullptr;               ///< register rows of the function: row i starts at rows + 32*i
  uint32_t* predicates = nullptr;         ///< one lane mask per predicate register
  const uint32_t* constants32 = nullptr;  ///< constant i, low half, broadcast: constants32 + 32*i
  const uint64_t* constants64 = nullptr;  ///< constant i, broadcast: constants64 + 32*i
  uint32_t* carry = nullptr;              ///< lane mask of CC.CF; needed only by .cc and addc/subc/madc
};

/// Executes one op for the lanes in `active_mask` (never 0). Registers and predicate bits of other lanes keep
/// their value. Sources and destinations may share rows in any way.
using LaneOp = void (*)(const ptx::Op& op, const LaneFrame& frame, uint32_t active_mask);

/// The function that executes `op`, chosen once at load time by opcode, types and modifiers for the CPU at
/// hand; nullptr if the op is not pure register work, or if that form has no semantics here.
/// The warp-lane exchanges (shfl, vote, match, redux, elect, activemask) take as `active_mask` the lanes that
/// take part: the member mask of an already converged fragment, filtered by the guard.
LaneOp select_lane_op(const ptx::Op& op);

/// The two builds of the same source: which one runs depends on the CPU only; both give the same bits.
enum class LaneVariant : uint8_t { baseline, avx2 };
/// True if this CPU can run `variant`.
bool lane_variant_available(LaneVariant variant);
/// As select_lane_op, from a chosen build; for tests and benchmarks.
LaneOp select_lane_op(const ptx::Op& op, LaneVariant variant);

}  // namespace ptxwire::sim
