// Special registers: their spellings, types and the version and target that introduced them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "ptx_frontend/isa/opcode.hpp"
#include "ptx_frontend/isa/types.hpp"

namespace ptxwire::ptx {

struct SpecialRegisterInfo {
  std::string_view name;  ///< "%tid"; of a numbered family the stem: "%envreg"
  SpecialRegister first;  ///< the register, or its .x component or number 0
  Type type = Type::u32;
  uint8_t count = 1;    ///< numbered families: how many
  bool vector = false;  ///< has components .x .y .z (.w reads as zero)
  uint8_t ptx = 10;     ///< first PTX version, 10 * major + minor
  uint8_t sm = 0;       ///< first target
};

/// All special registers, sorted by name.
std::span<const SpecialRegisterInfo> special_registers();

struct SpecialRegisterMatch {
  const SpecialRegisterInfo* info = nullptr;  ///< null: no special register
  SpecialRegister value = SpecialRegister::count;
};

/// Finds "%tid", "%envreg3", ... (without component).
SpecialRegisterMatch find_special_register(std::string_view name);

/// The description of a register value (of any component or number).
const SpecialRegisterInfo& special_register_info(SpecialRegister value);

}  // namespace ptxwire::ptx
