// A program outside the project, which knows ptxwire only through find_package: adds two vectors on a
// simulated GPU and checks every sum.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/machines/machine.hpp"
#include "ptx_frontend/frontend.hpp"
#include "sim/cluster/cluster.hpp"
#include "support/data_path.hpp"

namespace {

using ptxwire::Expected;
using ptxwire::sim::DeviceAddress;

/// The value, or the end of the program with the error in words.
template <typename T>
T need(Expected<T> result) {
  if (!result) {
    std::fprintf(stderr, "%s\n", result.error().to_string().c_str());
    std::exit(1);
  }
  return std::move(*result);
}

template <typename T>
void append(std::vector<uint8_t>& parameters, T value) {
  const size_t at = parameters.size();
  parameters.resize(at + sizeof(T));
  std::memcpy(parameters.data() + at, &value, sizeof(T));
}

}  // namespace

int main() {
  const std::string machine_file = need(ptxwire::find_data_file("models/machines/h800-node.toml"));
  const std::string kernel_file = need(ptxwire::find_data_file("kernels/micro/vector_add.ptx"));
  const auto machine = need(ptxwire::models::load_machine(machine_file));
  const auto cluster = need(ptxwire::sim::Cluster::create(machine, 1));
  const auto program =
      std::make_shared<const ptxwire::ptx::Program>(need(ptxwire::ptx::load_program({kernel_file})));

  constexpr uint32_t kCount = 1000;
  const ptxwire::models::GpuId gpu{};
  const DeviceAddress left = need(cluster->allocate(gpu, kCount * sizeof(float), "left"));
  const DeviceAddress right = need(cluster->allocate(gpu, kCount * sizeof(float), "right"));
  const DeviceAddress sum = need(cluster->allocate(gpu, kCount * sizeof(float), "sum"));
  auto* left_values = reinterpret_cast<float*>(cluster->view(left, kCount * sizeof(float)).data());
  auto* right_values = reinterpret_cast<float*>(cluster->view(right, kCount * sizeof(float)).data());
  for (uint32_t i = 0; i < kCount; ++i) {
    left_values[i] = static_cast<float>(i);
    right_values[i] = 0.5f;
  }

  ptxwire::sim::LaunchConfig launch;
  launch.module = need(cluster->load(program));
  launch.kernel = "vector_add";
  launch.grid.x = 4;
  launch.block.x = 256;
  for (const DeviceAddress address : {left, right, sum}) append(launch.parameters, address);
  append(launch.parameters, kCount);
  need(cluster->launch(cluster->create_stream(gpu), launch));
  const auto report = need(cluster->run());

  const auto* sums = reinterpret_cast<const float*>(cluster->view(sum, kCount * sizeof(float)).data());
  for (uint32_t i = 0; i < kCount; ++i) {
    if (sums[i] != static_cast<float>(i) + 0.5f) {
      std::fprintf(stderr, "sum %u is %g\n", i, static_cast<double>(sums[i]));
      return 1;
    }
  }
  std::printf("%u sums are right after %lld ps, data from %s\n", kCount,
              static_cast<long long>(report.time.value), kernel_file.c_str());
  return 0;
}
