// Any bytes as a topology file of a network: a network whose ways can be asked for, or one error, never a
// crash.
#include "models/fabric/network_summary.hpp"
#include "models/fabric/network_topology.hpp"
#include "tests/fuzz/memory_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ptxwire::fuzz::MemoryFile file(data, size);
  if (!file.usable()) return -1;
  const auto network = ptxwire::models::NetworkTopology::load(file.path());
  if (!network && network.error().message.empty()) __builtin_trap();
  if (network && network->gpus() <= 64) ptxwire::models::summarize(*network);
  return 0;
}
