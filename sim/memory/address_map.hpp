// The generic address space of the simulated machine.
//
//   [1<<36, 2<<36)  shared window: (CTA rank in cluster + 1) << 24 | offset; rank field 0 is the executing
//   CTA [2<<36, 3<<36)  local window: byte offset in the thread's local memory [3<<36, 4<<36)  kernel
//   parameter window: byte offset in the parameter block [4<<36, 5<<36)  constant window: byte offset in the
//   module's constant bank
//   [(g+1)<<40, ..) memory of GPU g, g < 1024;  [(g+1025)<<40, ..) host memory mapped by GPU g
//   [(g+2049)<<40, ..) registers of the NIC of GPU g
// Address 0 and everything else is unmapped.
#pragma once

#include <cstdint>

namespace ptxwire::sim {

inline constexpr uint64_t kWindowBytes = 1ULL << 36;
inline constexpr uint64_t kSharedWindow = 1ULL << 36;
inline constexpr uint64_t kLocalWindow = 2ULL << 36;
inline constexpr uint64_t kParameterWindow = 3ULL << 36;
inline constexpr uint64_t kConstantWindow = 4ULL << 36;
inline constexpr uint32_t kSharedRankShift = 24;
inline constexpr uint32_t kGpuShift = 40;
inline constexpr uint32_t kHostBias = 1024;
inline constexpr uint32_t kRegisterBias = 2048;

enum class Window : uint8_t { unmapped, shared, local, parameter, constant, device };

constexpr Window window_of(uint64_t address) {
  if (address >> kGpuShift != 0) return Window::device;
  switch (address >> 36) {
    case 1:
      return Window::shared;
    case 2:
      return Window::local;
    case 3:
      return Window::parameter;
    case 4:
      return Window::constant;
    default:
      return Window::unmapped;
  }
}

/// Index of the home of a device address: GPU number, kHostBias + GPU number for host memory, kRegisterBias +
/// GPU number for registers of its NIC.
constexpr uint32_t home_of(uint64_t address) { return static_cast<uint32_t>(address >> kGpuShift) - 1; }
constexpr uint64_t home_base(uint32_t home) { return static_cast<uint64_t>(home + 1) << kGpuShift; }

}  // namespace ptxwire::sim
