// Runs one lane operation over many operand tuples and compares every lane with a reference. Each tuple is
// tried in every build the CPU can run, with all lanes and with some, and in place where the widths allow it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "sim/exec/lane_ops.hpp"

namespace ptxwire::sim::lane_test {

using ptx::Op;
using ptx::Opcode;
using ptx::Rounding;
using ptx::Slot;
using ptx::Type;

/// Operand values of one lane, in source order.
using Operands = std::array<uint64_t, 4>;
/// Register widths in bits: destination, then sources (8/16/32: one row, 64: two; 1: predicate).
struct Widths {
  unsigned destination = 32;
  std::vector<unsigned> sources;
};
using Reference = std::function<uint64_t(const Operands&)>;

/// The builds that this CPU can run.
std::vector<LaneVariant> variants();

Op make_op(Opcode opcode, Type type, const std::function<void(ptx::Modifiers&)>& adjust = {});

/// Compares the op with `reference` on all `cases`. A destination of 16 or 8 bits is compared in its low
/// bits.
void check(const std::string& name, Op op, const Widths& widths, const std::vector<Operands>& cases,
           const Reference& reference);

/// Every combination of the corner values for `sources` operands, then `random` tuples of uniform bits.
std::vector<Operands> combine(const std::vector<std::vector<uint64_t>>& corners, size_t random = 2000);

/// Corner values of an integer type of `bits` bits: around 0, around the sign bit, single bits, patterns.
std::vector<uint64_t> integer_corners(unsigned bits);

/// A register file with room for a few operands, for tests that look at single warps.
struct Warp {
  Warp();
  LaneFrame frame();
  void set32(int row, const std::function<uint32_t(int)>& value);
  void set64(int row, const std::function<uint64_t(int)>& value);
  [[nodiscard]] uint32_t get32(int row, int lane) const { return rows[static_cast<size_t>(32 * row + lane)]; }
  [[nodiscard]] uint64_t get64(int row, int lane) const;
  std::vector<uint32_t> rows, predicates, constants32;
  std::vector<uint64_t> constants64;
  uint32_t carry = 0;
};

Slot reg(int row, unsigned bits = 32);
Slot predicate(int index, bool negated = false);
Slot constant(int index);
Slot sink();

}  // namespace ptxwire::sim::lane_test
