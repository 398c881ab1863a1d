// Any bytes as a topology file: a topology or one error, never a crash.
#include "models/fabric/topology.hpp"
#include "tests/fuzz/memory_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ptxwire::fuzz::MemoryFile file(data, size);
  if (!file.usable()) return -1;
  const auto topology = ptxwire::models::Topology::load(file.path());
  if (!topology && topology.error().message.empty()) __builtin_trap();
  return 0;
}
