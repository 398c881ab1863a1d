// Any bytes as a machine file: a machine or one error, never a crash.
#include "models/machines/machine.hpp"
#include "tests/fuzz/memory_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ptxwire::fuzz::MemoryFile file(data, size);
  if (!file.usable()) return -1;
  const auto machine = ptxwire::models::load_machine(file.path());
  if (!machine && machine.error().message.empty()) __builtin_trap();
  return 0;
}
