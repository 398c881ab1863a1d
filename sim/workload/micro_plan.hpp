// A microbenchmark scenario in numbers: what is launched on which memory, what must be there before and
// after, and the figures that follow. Where it runs, on a simulated cluster or on a GPU, is up to the caller.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ptx_frontend/program.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/workload/micro_memory.hpp"
#include "sim/workload/micro_result.hpp"
#include "sim/workload/scenario.hpp"

namespace ptxwire::sim {

/// The launch, the same for all of [[launches]].
struct MicroShape {
  Dim3 grid, block;
  uint32_t cluster = 1, shared = 0;
};

/// Makes the 128 bytes that a kernel takes from a tensor map in our layout: the same ones on a simulated GPU.
using TensorMapEncoder = std::function<Expected<TensorMap>(const TensorMap&)>;

class MicroPlan {
 public:
  /// The scenario is valid and outlives the plan.
  static Expected<MicroPlan> create(const Scenario& scenario);

  [[nodiscard]] const MicroShape& shape() const { return shape_; }
  [[nodiscard]] const std::vector<MicroMemory>& memory() const { return memory_; }
  /// GPU of each launch.
  [[nodiscard]] const std::vector<uint32_t>& launch_gpus() const { return launch_gpus_; }
  /// Each launch writes one record per CTA.
  [[nodiscard]] uint64_t records() const { return shape_.grid.count(); }

  /// What buffer `index` holds before a call, `bytes` long, if it lies at `address`.
  void fill(size_t index, DeviceAddress address, std::span<uint8_t> bytes) const;

  /// Parameter block of a launch. `addresses` are those of memory(), `report` that of the launch's records,
  /// `rdma` the bytes of what its GPU needs to post.
  /// Errors: arguments that do not fit the kernel's parameters, maps that are refused.
  [[nodiscard]] Expected<std::vector<uint8_t>> parameters(size_t launch, const ptx::ProgramFunction& kernel,
                                                          std::span<const DeviceAddress> addresses,
                                                          DeviceAddress report,
                                                          const TensorMapEncoder& encode = {},
                                                          std::span<const uint8_t> rdma = {}) const;

  /// Adds the records of one launch to the output.
  void take_records(size_t launch, std::span<const MicroRecord> records, MicroOutput& output) const;

  /// All figures of the output, to which the scenario's `flop` is added, the scenario's own first. Error: the
  /// output does not give it.
  [[nodiscard]] Expected<std::vector<Figure>> figures(MicroOutput output) const;

  /// The first thing that is not as it must be, or nothing. `view(i)` gives the bytes of buffer i after the
  /// run.
  [[nodiscard]] Expected<std::string> mismatch(
      std::span<const MicroRecord> records,
      const std::function<Expected<std::span<const uint8_t>>(size_t)>& view) const;

 private:
  explicit MicroPlan(const Scenario& scenario) : scenario_(&scenario) {}
  Expected<void> read_shape();
  Expected<void> pack(const MicroArgument& argument, const ptx::ProgramParameter& parameter,
                      std::span<const DeviceAddress> addresses, DeviceAddress report,
                      const TensorMapEncoder& encode, std::span<const uint8_t> rdma,
                      std::vector<uint8_t>& block) const;
  /// 0: there is no such buffer.
  [[nodiscard]] DeviceAddress address_of(const std::string& buffer,
                                         std::span<const DeviceAddress> addresses) const;
  [[nodiscard]] Expected<uint64_t> argument(const std::string& text, std::span<const DeviceAddress> addresses,
                                            DeviceAddress report) const;

  const Scenario* scenario_;
  MicroShape shape_;
  std::vector<MicroMemory> memory_;
  std::vector<uint32_t> launch_gpus_;
};

}  // namespace ptxwire::sim
