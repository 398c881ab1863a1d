// What an atomic does to memory, value by value. Used at the home of global memory and for shared memory.
#pragma once

#include <cstdint>

#include "ptx_frontend/isa/types.hpp"

namespace ptxwire::sim {

/// The new value for `old` (bits of `type`, at most 64).
uint64_t apply_atomic(ptx::AtomicOp operation, ptx::Type type, uint64_t old_value, uint64_t operand,
                      uint64_t swap);

/// The same for `bytes` bytes in place: `memory` gets the new value, `operand` the old one. 16 bytes: exch
/// and cas.
void apply_atomic_bytes(ptx::AtomicOp operation, ptx::Type type, uint32_t bytes, uint8_t* memory,
                        uint8_t* operand, const uint8_t* swap);

}  // namespace ptxwire::sim
