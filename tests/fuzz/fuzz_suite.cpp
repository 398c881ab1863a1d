// Any bytes as a suite file: a suite or one error, never a crash.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sim/study/suite.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto suite = ptxwire::sim::parse_suite({reinterpret_cast<const char*>(data), size}, "input.toml");
  if (!suite && suite.error().message.empty()) __builtin_trap();
  return 0;
}
