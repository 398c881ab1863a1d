#include "tests/sim/conformance/cuda_device.hpp"

#include "models/machines/machine.hpp"
#include "ptx_frontend/frontend.hpp"
#include "support/data_path.hpp"

namespace ptxwire::sim::conformance {
namespace {

template <typename T>
T require(Expected<T> value) {
  if (!value) FAIL(value.error().to_string());
  return *std::move(value);
}
void require(const Expected<void>& result) {
  if (!result) FAIL(result.error().to_string());
}

const models::Machine& machine() {
  static const models::Machine kMachine =
      require(models::load_machine(require(find_data_file("models/machines/h800-node.toml"))));
  return kMachine;
}

}  // namespace

CudaDevice::CudaDevice(const std::string& module) {
  const std::string path = std::string(PTXWIRE_SOURCE_DIR "/tests/sim/conformance/cuda/") + module + ".ptx";
  auto program = std::make_shared<const ptx::Program>(require(ptx::load_program({path})));
  cluster_ = require(Cluster::create(machine(), 1));
  module_ = require(cluster_->load(program));
}

DeviceAddress CudaDevice::allocate(uint64_t bytes) {
  return require(cluster_->allocate(GpuId{0}, bytes, "array"));
}
void CudaDevice::write(DeviceAddress address, std::span<const uint8_t> bytes) {
  require(cluster_->write(address, bytes));
}
void CudaDevice::read(DeviceAddress address, std::span<uint8_t> bytes) const {
  require(cluster_->read(address, bytes));
}
DeviceAddress CudaDevice::symbol(const std::string& name) const {
  return require(cluster_->symbol(module_, name, GpuId{0}));
}

Expected<RunReport> CudaDevice::launch(const std::string& kernel, const Shape& shape,
                                       std::vector<uint8_t> parameters) {
  LaunchConfig config;
  config.module = module_;
  config.kernel = kernel;
  config.grid = shape.grid;
  config.block = shape.block;
  config.cluster = shape.cluster;
  config.dynamic_shared_bytes = shape.dynamic_shared_bytes;
  config.cooperative = shape.cooperative;
  config.parameters = std::move(parameters);
  auto launched = cluster_->launch(cluster_->create_stream(GpuId{0}), std::move(config));
  if (!launched) return launched.error();
  RunLimits limits;
  limits.threads = 1;
  limits.max_time = models::microseconds(20000);
  return cluster_->run(limits);
}

std::vector<int> small_integers(size_t count, int low, int high, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int> values(count);
  for (int& value : values) value = low + static_cast<int>(random() % static_cast<uint32_t>(high - low + 1));
  return values;
}

}  // namespace ptxwire::sim::conformance
