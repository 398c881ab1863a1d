// Hand-made and random VirtualCode for the analyses of lowering.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <random>
#include <vector>

#include "ptx_frontend/lower/virtual_code.hpp"

namespace ptxwire::ptx::test {

inline Slot slot_for(RegisterClass register_class) {
  Slot slot;
  slot.kind = register_class == RegisterClass::predicate ? Slot::Kind::predicate : Slot::Kind::reg;
  slot.rows = static_cast<uint8_t>(rows_of(register_class));
  return slot;
}

/// Appends an op that writes `dst` and reads `src`; returns its position.
inline uint32_t add_op(VirtualCode& code, Opcode opcode, std::vector<VirtualRegister> dst = {},
                       std::vector<VirtualRegister> src = {}, VirtualRegister guard = kNoRegister) {
  Op op;
  op.opcode = opcode;
  VirtualOperands operands;
  for (size_t k = 0; k < dst.size(); ++k) {
    op.dst[k] = slot_for(code.classes[dst[k]]);
    operands.dst[k] = dst[k];
  }
  for (size_t k = 0; k < src.size(); ++k) {
    op.src[k] = slot_for(code.classes[src[k]]);
    operands.src[k] = src[k];
  }
  if (guard != kNoRegister) {
    op.guard = slot_for(RegisterClass::predicate);
    operands.guard = guard;
  }
  code.ops.push_back(op);
  code.operands.push_back(operands);
  return static_cast<uint32_t>(code.ops.size()) - 1;
}

inline uint32_t add_branch(VirtualCode& code, uint32_t target, VirtualRegister guard = kNoRegister) {
  const uint32_t position = add_op(code, Opcode::bra, {}, {}, guard);
  code.ops[position].target = target;
  return position;
}

/// A function of about `length` ops over registers of every class: assignments (some guarded), branches both
/// ways, early returns. With `initialise`, all registers are written first, so that no path reads an
/// undefined one.
inline VirtualCode random_code(std::mt19937& random, uint32_t length, uint32_t registers, bool initialise) {
  VirtualCode code;
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  for (uint32_t r = 0; r < registers; ++r)
    code.new_register(r < 2 ? RegisterClass::predicate : static_cast<RegisterClass>(below(kRegisterClasses)));
  if (initialise)
    for (uint32_t r = 0; r < registers; ++r) add_op(code, Opcode::mov, {r});
  const auto first = static_cast<uint32_t>(code.ops.size());
  for (uint32_t i = 0; i < length; ++i) {
    const uint32_t kind = below(20);
    const VirtualRegister guard = below(2);
    if (kind < 3) {
      add_branch(code, first + below(length + 1), guard);
    } else if (kind == 3 && i > length / 4) {
      add_op(code, Opcode::ret, {}, {}, guard);
    } else if (kind == 4 && i > length / 4) {
      add_branch(code, first + below(length + 1));
    } else {
      std::vector<VirtualRegister> dst = {below(registers)}, src;
      if (below(4) == 0) dst.push_back(below(registers));
      if (dst.size() == 2 && dst[0] == dst[1]) dst.pop_back();
      for (uint32_t k = below(4); k > 0; --k) src.push_back(below(registers));
      add_op(code, Opcode::add, dst, src, below(6) == 0 ? guard : kNoRegister);
    }
  }
  add_op(code, Opcode::ret);
  return code;
}

}  // namespace ptxwire::ptx::test
