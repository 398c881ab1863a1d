#include "bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>

#include "ptx_frontend/frontend.hpp"
#include "support/data_path.hpp"

namespace ptxwire::sim::test {

std::string module_text(std::string_view body) {
  return fmt::format(".version 8.6\n.target sm_90a\n.address_size 64\n{}", body);
}

std::string entry(std::string_view name, uint32_t parameters, std::string_view body,
                  std::string_view directives) {
  std::string list;
  std::string loads;
  for (uint32_t i = 0; i < parameters; ++i) {
    list += fmt::format("{}.param .u64 {}_{}", i == 0 ? "" : ", ", name, i);
    loads += fmt::format("ld.param.u64 %rd{}, [{}_{}];\n", i, name, i);
  }
  return fmt::format(
      ".visible .entry {}({}) {}\n{{\n.reg .pred %p<10>; .reg .b16 %h<10>; .reg .b32 %r<40>; "
      ".reg .b64 %rd<40>; .reg .f32 %f<10>; .reg .f64 %fd<10>; .reg .b128 %q<4>;\n{}mov.u32 %r0, "
      "%tid.x;\n{}\nret;\n}}\n",
      name, list, directives, loads, body);
}

namespace {

std::shared_ptr<const ptx::Program> program_of(std::string_view body) {
  ptx::Diagnostics diagnostics;
  const auto text = std::make_shared<const std::string>(module_text(body));
  ptx::Module module = ptx::parse(text, "test.ptx", diagnostics);
  if (!diagnostics.has_errors()) ptx::check(module, diagnostics);
  for (const ptx::Diagnostic& diagnostic : diagnostics.list())
    UNSCOPED_INFO(ptx::render(diagnostic, "test.ptx", *text, false));
  REQUIRE_FALSE(diagnostics.has_errors());
  auto program = ptx::link_and_lower({&module});
  if (!program) FAIL(program.error().to_string());
  return std::make_shared<const ptx::Program>(*std::move(program));
}

const models::Machine& machine() {
  static const models::Machine loaded = [] {
    auto path = find_data_file("models/machines/h800-node.toml");
    if (!path) FAIL(path.error().to_string());
    auto result = models::load_machine(*path);
    if (!result) FAIL(result.error().to_string());
    return *result;
  }();
  return loaded;
}

}  // namespace

Bench::Bench(std::string_view body, uint32_t gpus) {
  auto cluster = Cluster::create(machine(), gpus);
  if (!cluster) FAIL(cluster.error().to_string());
  cluster_ = *std::move(cluster);
  auto loaded = cluster_->load(program_of(body));
  if (!loaded) FAIL(loaded.error().to_string());
  for (uint32_t gpu = 0; gpu < gpus; ++gpu) streams_.push_back(cluster_->create_stream(GpuId{gpu}));
}

DeviceAddress Bench::allocate(uint64_t bytes, uint32_t gpu) {
  auto address = cluster_->allocate(GpuId{gpu}, bytes, "test buffer");
  if (!address) FAIL(address.error().to_string());
  return *address;
}

Expected<LaunchId> Bench::try_launch(const std::string& kernel, const std::vector<uint64_t>& parameters,
                                     const Shape& shape) {
  LaunchConfig config;
  config.kernel = kernel;
  config.grid = shape.grid;
  config.block = shape.block;
  config.cluster = shape.cluster;
  config.dynamic_shared_bytes = shape.dynamic_shared;
  config.cooperative = shape.cooperative;
  config.parameters.resize(parameters.size() * 8);
  if (!parameters.empty()) std::memcpy(config.parameters.data(), parameters.data(), config.parameters.size());
  return cluster_->launch(streams_[shape.gpu], config);
}

void Bench::launch(const std::string& kernel, const std::vector<uint64_t>& parameters, const Shape& shape) {
  auto result = try_launch(kernel, parameters, shape);
  if (!result) FAIL(result.error().to_string());
}

RunLimits Bench::default_limits() {
  RunLimits limits;
  limits.max_time = models::microseconds(50000);
  // More than one is for runs under a sanitizer: results do not depend on it.
  const char* threads = std::getenv("PTXWIRE_TEST_THREADS");
  limits.threads = threads == nullptr ? 1 : static_cast<uint32_t>(std::max(1, std::atoi(threads)));
  return limits;
}

RunReport Bench::run(const RunLimits& limits) {
  auto report = cluster_->run(limits);
  if (!report) FAIL(report.error().to_string());
  return *report;
}

std::string Bench::run_error(const RunLimits& limits) {
  auto report = cluster_->run(limits);
  REQUIRE_FALSE(report);
  return report.error().to_string();
}

void Bench::read_bytes(DeviceAddress address, void* target, size_t bytes) {
  auto result = cluster_->read(address, {static_cast<uint8_t*>(target), bytes});
  if (!result) FAIL(result.error().to_string());
}

void Bench::write_bytes(DeviceAddress address, const void* source, size_t bytes) {
  auto result = cluster_->write(address, {static_cast<const uint8_t*>(source), bytes});
  if (!result) FAIL(result.error().to_string());
}

std::vector<uint32_t> words_of(std::string_view module_body, size_t count, const Shape& shape) {
  Bench bench(module_body);
  const DeviceAddress out = bench.allocate(count * 4);
  bench.launch("k", {out}, shape);
  bench.run();
  return bench.read<uint32_t>(out, count);
}

}  // namespace ptxwire::sim::test
