// What an atomic does to memory, value by value. Used at the home of global memory and for shared memory.
#pragma once

#include <cstdint>

#include "ptx_frontend/isa/types.hpp"

namespace ptxwire::sim {

/// The new value for `old` (bits of `type`, at most 64). `flush_subnormals`: add.f32 takes and gives zeros
/// for subnormal numbers, as it does on global memory; on shared memory it does not (PTX ISA, atom and red).
uint64_t apply_atomic(ptx::AtomicOp operation, ptx::Type type, uint64_t old_value, uint64_t operand,
                      uint64_t swap, bool flush_subnormals);

/// The same in place for one value or several in a row (`bytes` in all): `memory` gets the new values,
/// `operand` the old ones. Single values of 16 bytes: exch and cas.
void apply_atomic_bytes(ptx::AtomicOp operation, ptx::Type type, uint32_t bytes, uint8_t* memory,
                        uint8_t* operand, const uint8_t* swap, bool flush_subnormals);

}  // namespace ptxwire::sim
