// Any PTX that checks: one of its entries, picked by the size of the text, runs with two CTAs and ends, with
// a result or with one error (a fault, a deadlock, the cycle budget), never with a crash.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "models/machines/machine.hpp"
#include "ptx_frontend/frontend.hpp"
#include "sim/cluster/cluster.hpp"
#include "support/data_path.hpp"

namespace {

using namespace ptxwire;  // NOLINT(google-build-using-namespace)

constexpr uint64_t kBufferBytes = 4096;

/// The H800 node with a small L2, which is quick to set up.
const models::Machine& machine() {
  static const models::Machine loaded = [] {
    const auto path = find_data_file("models/machines/h800-node.toml");
    if (!path) std::abort();
    auto read = models::load_machine(*path);
    if (!read || !models::set_machine_parameter(*read, "l2.bytes", "1536 KiB")) std::abort();
    return *read;
  }();
  return loaded;
}

std::shared_ptr<const ptx::Program> program_of(const uint8_t* data, size_t size) {
  ptx::Diagnostics diagnostics;
  const auto text = std::make_shared<const std::string>(reinterpret_cast<const char*>(data), size);
  ptx::Module module = ptx::parse(text, "input.ptx", diagnostics);
  if (!diagnostics.has_errors()) ptx::check(module, diagnostics);
  if (diagnostics.has_errors()) return nullptr;
  auto program = ptx::link_and_lower({&module});
  return program ? std::make_shared<const ptx::Program>(*std::move(program)) : nullptr;
}

/// Every 8-byte place of the parameter block is the address of a buffer.
sim::LaunchConfig launch_of(const ptx::ProgramFunction& entry, uint32_t module, sim::DeviceAddress buffer) {
  sim::LaunchConfig config{.module = module, .kernel = entry.name};
  config.grid.x = 2;
  config.block.x = 64;
  config.parameters.resize(entry.parameter_bytes);
  for (size_t i = 0; i < entry.parameter_bytes; ++i)
    config.parameters[i] = static_cast<uint8_t>(buffer >> 8 * (i % 8));
  return config;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::shared_ptr<const ptx::Program> program = program_of(data, size);
  if (program == nullptr) return -1;
  auto cluster = sim::Cluster::create(machine(), 2);
  if (!cluster) __builtin_trap();
  const auto module = (*cluster)->load(program);
  if (!module) return 0;
  const auto buffer = (*cluster)->allocate(sim::GpuId{1}, kBufferBytes, "buffer");
  const sim::StreamId stream = (*cluster)->create_stream(sim::GpuId{0});
  std::vector<const ptx::ProgramFunction*> entries;
  for (const ptx::ProgramFunction& function : program->functions)
    if (function.is_entry) entries.push_back(&function);
  if (entries.empty()) return -1;
  const ptx::ProgramFunction& entry = *entries[size % entries.size()];
  if (!(*cluster)->launch(stream, launch_of(entry, *module, *buffer))) return 0;
  sim::RunLimits limits{.max_time = models::microseconds(30), .threads = 1};
  const auto report = (*cluster)->run(limits);
  if (!report && report.error().message.empty()) __builtin_trap();
  return 0;
}
