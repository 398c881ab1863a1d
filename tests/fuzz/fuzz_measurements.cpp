// Any bytes as a table of measurements: rows or one error that names the line, never a crash.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sim/study/measurement.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto rows =
      ptxwire::sim::parse_measurements({reinterpret_cast<const char*>(data), size}, "input.csv");
  if (!rows && (rows.error().message.empty() || rows.error().line == 0)) __builtin_trap();
  return 0;
}
