// One function between decoding and register allocation: ops whose slots still stand for virtual
// registers. Positions are op indices local to the function.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ptx_frontend/program.hpp"

namespace ptxwire::ptx {

/// A number in VirtualCode::classes: registers a function really uses, numbered densely.
using VirtualRegister = uint32_t;
inline constexpr VirtualRegister kNoRegister = UINT32_MAX;

/// Which file a register lives in. `row`: up to 32 bits; `pair`: 64 bits; `quad`: 128 bits.
enum class RegisterClass : uint8_t { predicate, row, pair, quad };
inline constexpr unsigned kRegisterClasses = 4;

/// 32-lane rows that one register of the class takes (a predicate: one word, not a row).
constexpr unsigned rows_of(RegisterClass register_class) {
  switch (register_class) {
    case RegisterClass::pair:
      return 2;
    case RegisterClass::quad:
      return 4;
    default:
      return 1;
  }
}

constexpr std::array<VirtualRegister, 4> kNoDestinations = {kNoRegister, kNoRegister, kNoRegister,
                                                            kNoRegister};
constexpr std::array<VirtualRegister, 6> kNoSources = {kNoRegister, kNoRegister, kNoRegister,
                                                       kNoRegister, kNoRegister, kNoRegister};

/// The registers behind the slots of one op, position by position; kNoRegister for constants, sinks and gaps.
struct VirtualOperands {
  VirtualRegister guard = kNoRegister;
  std::array<VirtualRegister, 4> dst = kNoDestinations;
  std::array<VirtualRegister, 6> src = kNoSources;
  bool no_return = false;    ///< a call that ends the kernel (__assertfail)
  bool reads_clock = false;  ///< read_special of a clock or timer
};

/// Operands that do not fit into an Op. Index 0 of VirtualCode::lists is the empty list.
struct VirtualList {
  std::vector<Slot> slots;
  std::vector<VirtualRegister> registers;  ///< parallel to `slots`
  uint32_t destinations = 0;               ///< the first ones of `slots` are written
  std::vector<uint32_t> targets;           ///< brx: local positions; `slots` is empty then
};

struct VirtualCode {
  std::vector<Op> ops;                    ///< Op::target of a bra is a local position
  std::vector<VirtualOperands> operands;  ///< parallel to `ops`
  std::vector<RegisterClass> classes;     ///< per virtual register
  std::vector<VirtualList> lists{VirtualList{}};

  VirtualRegister new_register(RegisterClass register_class) {
    classes.push_back(register_class);
    return static_cast<VirtualRegister>(classes.size() - 1);
  }
};

/// Calls visit(register) for every register that op `i` reads, its guard included. A register may come twice.
template <typename Visit>
void for_each_use(const VirtualCode& code, uint32_t i, Visit&& visit) {
  const VirtualOperands& operands = code.operands[i];
  if (operands.guard != kNoRegister) visit(operands.guard);
  for (const VirtualRegister r : operands.src)
    if (r != kNoRegister) visit(r);
  const VirtualList& list = code.lists[code.ops[i].operand_list];
  for (uint32_t k = list.destinations; k < list.registers.size(); ++k)
    if (list.registers[k] != kNoRegister) visit(list.registers[k]);
}

/// Calls visit(register) for every register that op `i` writes (a guarded op: may write).
template <typename Visit>
void for_each_definition(const VirtualCode& code, uint32_t i, Visit&& visit) {
  for (const VirtualRegister r : code.operands[i].dst)
    if (r != kNoRegister) visit(r);
  const VirtualList& list = code.lists[code.ops[i].operand_list];
  for (uint32_t k = 0; k < list.destinations; ++k)
    if (list.registers[k] != kNoRegister) visit(list.registers[k]);
}

}  // namespace ptxwire::ptx
