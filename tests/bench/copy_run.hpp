// The copy kernel (kernels/micro/copy.cu) on one simulated GPU, launched as often as a benchmark wants.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>

#include "models/machines/machine.hpp"
#include "ptx_frontend/frontend.hpp"
#include "sim/cluster/cluster.hpp"
#include "support/data_path.hpp"

namespace ptxwire::bench {

/// The value, or the end of the program with the error on standard error: a benchmark has no caller to tell.
template <typename T>
T need(Expected<T> result) {
  if (!result) {
    std::fputs((result.error().to_string() + '\n').c_str(), stderr);
    std::exit(1);
  }
  return *std::move(result);
}
inline void need(const Expected<void>& result) {
  if (!result) need(Expected<int>(result.error()));
}

inline models::Machine load_machine(const std::string& name) {
  return need(models::load_machine(need(find_data_file("models/machines/" + name + ".toml"))));
}

struct CopyShape {
  uint32_t ctas = 132;  ///< one per SM of the machine
  uint32_t threads = 256;
  uint64_t bytes = 16U << 20U;  ///< copied per launch, a multiple of 16
};

class CopyRun {
 public:
  CopyRun(const models::Machine& machine, const CopyShape& shape)
      : shape_(shape), cluster_(need(sim::Cluster::create(machine, 1))) {
    auto program = need(ptx::load_program({need(find_data_file("kernels/micro/copy.ptx"))}));
    module_ = need(cluster_->load(std::make_shared<const ptx::Program>(std::move(program))));
    to_ = need(cluster_->allocate(sim::GpuId{0}, shape.bytes, "to"));
    from_ = need(cluster_->allocate(sim::GpuId{0}, shape.bytes, "from"));
    stream_ = cluster_->create_stream(sim::GpuId{0});
    const std::span<uint8_t> source = cluster_->view(from_, shape.bytes);
    for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<uint8_t>(i * 131 + (i >> 12U));
  }

  void launch() {
    sim::LaunchConfig config{.module = module_, .kernel = "copy_v4"};
    config.grid.x = shape_.ctas;
    config.block.x = shape_.threads;
    const uint64_t parameters[] = {to_, from_, shape_.bytes / 16};
    config.parameters.resize(sizeof parameters);
    std::memcpy(config.parameters.data(), parameters, sizeof parameters);
    need(cluster_->launch(stream_, std::move(config)));
  }

  /// One launch, start to end, on the calling thread.
  sim::RunReport run() {
    launch();
    return need(cluster_->run({.threads = 1}));
  }

  [[nodiscard]] bool copied() const {
    const std::span<uint8_t> to = cluster_->view(to_, shape_.bytes),
                             from = cluster_->view(from_, shape_.bytes);
    return std::equal(to.begin(), to.end(), from.begin(), from.end());
  }

 private:
  CopyShape shape_;
  std::unique_ptr<sim::Cluster> cluster_;
  uint32_t module_ = 0;
  sim::DeviceAddress to_ = 0, from_ = 0;
  sim::StreamId stream_ = 0;
};

}  // namespace ptxwire::bench
