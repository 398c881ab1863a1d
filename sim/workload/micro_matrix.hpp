// Matrices of small whole numbers in bf16, and their product: exact in f32 in whatever order it is summed.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/workload/micro_memory.hpp"

namespace ptxwire::sim {

/// Two elements of a matrix drawn from -bound to bound, at 32-bit word w.
uint32_t bf16_integers(uint64_t seed, uint32_t bound, uint64_t w);

/// All words of C [rows][columns] = bf16(A [rows][depth] * B [columns][depth]^T).
std::vector<uint32_t> bf16_product(const MicroMemory::Content& a, const MicroMemory::Content& b,
                                   uint64_t rows, uint64_t columns, uint64_t depth);

}  // namespace ptxwire::sim
