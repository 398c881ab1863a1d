// Functions that the loader provides: vprintf and __assertfail.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "sim/exec/sm.hpp"
#include "sim/exec/vprintf.hpp"

namespace ptxwire::sim {

void Sm::intrinsic(Fragment& fragment, const ptx::CallSite& site, uint32_t mask) {
  Warp& warp = *fragment.warp;
  const uint32_t base = fragment.frames.back().local_base;
  const auto argument = [&](uint32_t lane, size_t index) {
    uint64_t value = 0;
    if (index < site.arguments.size())
      std::memcpy(&value,
                  &warp.local[size_t{lane} * warp.local_bytes + base + site.arguments[index].caller_offset],
                  std::min<uint32_t>(site.arguments[index].bytes, 8));
    return value;
  };
  const auto read_bytes = [&](uint32_t lane, uint64_t address, uint32_t bytes) -> const uint8_t* {
    const Window window = window_of(address);
    if (window == Window::device) {
      const MemorySpace* space = device_.space(home_of(address));
      return space == nullptr ? nullptr : space->resolve(address, bytes);
    }
    return near_pointer(fragment, window, address & (kWindowBytes - 1), lane, bytes, nullptr);
  };
  const auto read_string = [&](uint32_t lane, uint64_t address) {
    std::string text;
    for (const uint8_t* byte = read_bytes(lane, address, 1);
         byte != nullptr && *byte != 0 && text.size() < 4096;
         byte = read_bytes(lane, address + text.size(), 1))
      text.push_back(static_cast<char>(*byte));
    return text;
  };
  const auto set_result = [&](uint32_t lane, uint64_t value) {
    for (const ptx::ParameterCopy& copy : site.results)
      std::memcpy(&warp.local[size_t{lane} * warp.local_bytes + base + copy.caller_offset], &value,
                  std::min<uint32_t>(copy.bytes, 8));
  };
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(m));
    if (site.intrinsic == "vprintf") {
      const uint64_t list = argument(lane, 1);
      const std::string text = format_vprintf(
          read_string(lane, argument(lane, 0)),
          [&](uint32_t offset, uint32_t bytes) {
            uint64_t value = 0;
            if (const uint8_t* data = read_bytes(lane, list + offset, bytes))
              std::memcpy(&value, data, bytes);
            return value;
          },
          [&](uint64_t address) { return read_string(lane, address); });
      device_.print(text);
      set_result(lane, 1);
    } else if (site.intrinsic == "__assertfail") {
      stop(fragment,
           fmt::format("assertion '{}' failed ({}:{} in {})", read_string(lane, argument(lane, 0)),
                       read_string(lane, argument(lane, 1)), static_cast<uint32_t>(argument(lane, 2)),
                       read_string(lane, argument(lane, 3))),
           lane);
      return;
    } else {
      stop(fragment, fmt::format("call of '{}', which the loader does not provide", site.intrinsic), lane);
      return;
    }
  }
}

}  // namespace ptxwire::sim
