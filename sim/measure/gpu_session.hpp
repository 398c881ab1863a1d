// What a run holds on the GPUs: contexts, modules, memory, streams and events; all given back at the end.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/measure/cuda_driver.hpp"
#include "sim/memory/tensor_map.hpp"

namespace ptxwire::sim {

class GpuSession {
 public:
  explicit GpuSession(const CudaDriver& driver) : driver_(driver) {}
  ~GpuSession();
  GpuSession(const GpuSession&) = delete;
  GpuSession& operator=(const GpuSession&) = delete;

  /// Retains the primary contexts of `count` devices from `first` on, and lets each reach the memory of all
  /// others.
  Expected<void> open(uint32_t first, uint32_t count);
  /// Compiles the PTX on every GPU. The driver's log is part of the error.
  Expected<void> load(const std::string& ptx, const std::string& path, const std::string& entry);
  /// Clusters of more than 8 CTAs and more than 48 KiB of dynamic shared memory have to be asked for.
  Expected<void> allow(uint32_t cluster, uint32_t dynamic_shared_bytes);

  // Below, `gpu` counts from 0 for the first device of open().
  Expected<cuda::DevicePointer> allocate(uint32_t gpu, uint64_t bytes, const std::string& name);
  Expected<void> write(uint32_t gpu, cuda::DevicePointer address, std::span<const uint8_t> bytes);
  Expected<void> read(uint32_t gpu, cuda::DevicePointer address, std::span<uint8_t> bytes);
  Expected<void> clear(uint32_t gpu, cuda::DevicePointer address, uint64_t bytes);
  Expected<cuda::Stream> create_stream(uint32_t gpu);
  Expected<cuda::Event> create_event(uint32_t gpu);
  Expected<void> record(uint32_t gpu, cuda::Event event, cuda::Stream stream);
  Expected<void> synchronize(uint32_t gpu, cuda::Stream stream);
  Expected<double> elapsed_us(cuda::Event from, cuda::Event to);
  /// `config.stream` belongs to `gpu`; `parameters` is the raw block.
  Expected<void> launch(uint32_t gpu, const cuda::LaunchConfig& config, std::span<const uint8_t> parameters);

  /// The driver's own tensor map with the arguments of ours.
  [[nodiscard]] Expected<TensorMap> encode(const TensorMap& map) const;

  [[nodiscard]] Expected<int> attribute(uint32_t gpu, cuda::DeviceAttribute attribute) const;
  [[nodiscard]] Expected<std::string> name(uint32_t gpu) const;

 private:
  struct Gpu {
    cuda::Device device = 0;
    cuda::Context context = nullptr;
    cuda::Module module = nullptr;
    cuda::Function function = nullptr;
    std::vector<cuda::DevicePointer> memory;
    std::vector<cuda::Stream> streams;
    std::vector<cuda::Event> events;
  };
  Expected<void> enter(uint32_t gpu);

  const CudaDriver& driver_;
  std::vector<Gpu> gpus_;
};

}  // namespace ptxwire::sim
