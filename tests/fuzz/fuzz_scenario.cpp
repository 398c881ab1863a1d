// Any bytes as a scenario file: a scenario or one error, never a crash.
#include "sim/workload/scenario.hpp"
#include "tests/fuzz/memory_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ptxwire::fuzz::MemoryFile file(data, size);
  if (!file.usable()) return -1;
  const auto scenario = ptxwire::sim::load_scenario(file.path());
  if (!scenario && scenario.error().message.empty()) __builtin_trap();
  return 0;
}
