// The device-side printf: a C format string and a packed argument buffer (each argument naturally aligned, as
// the CUDA ABI lays them out: 4 bytes for int, 8 for long long, double and pointers).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace ptxwire::sim {

/// `read(offset, bytes)` returns an argument's bits; `string(address)` a %s argument. Unknown conversions are
/// printed as they are.
std::string format_vprintf(const std::string& format,
                           const std::function<uint64_t(uint32_t offset, uint32_t bytes)>& read,
                           const std::function<std::string(uint64_t address)>& string);

}  // namespace ptxwire::sim
