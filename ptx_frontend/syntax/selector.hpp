// Selectors of video operands: %r1.h0, %r2.b3210.
#pragma once

#include <cstdint>

namespace ptxwire::ptx {

/// Operand::component of a register with a selector, which is the last word of the operand's range.
inline constexpr uint8_t kSelector = 5;

}  // namespace ptxwire::ptx
