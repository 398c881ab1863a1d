// Runs a microbenchmark scenario on the GPUs of this machine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "models/machines/machine.hpp"
#include "sim/measure/cuda_driver.hpp"
#include "sim/workload/micro_result.hpp"
#include "sim/workload/scenario.hpp"

namespace ptxwire::sim {

struct GpuRunOptions {
  uint32_t first_device = 0;  ///< the scenario's GPU 0; its others follow
  uint32_t repeats =
      20;  ///< timed calls, each on memory as the scenario states it, after one that is not timed
  bool check_results = true;
  /// Called with the number of calls done; returning false stops with an Error.
  std::function<bool(uint32_t)> progress;
};

/// The values of all repeats of one quantity.
struct Spread {
  double median = 0, least = 0, most = 0;
};
Spread spread_of(std::vector<double> values);

struct MeasuredFigure {
  std::string name, unit;
  Spread value;
};

struct GpuRunResult {
  std::string gpu;       ///< as the driver names it: "NVIDIA H200"
  std::string driver;    ///< CUDA release of the driver
  double clock_mhz = 0;  ///< the highest of its SMs
  uint32_t repeats = 0;
  Spread time_us;  ///< event before the launches to event behind them, stream of the first launch
  std::vector<MeasuredFigure> figures;  ///< the scenario's own first
  std::string mismatch;  ///< of the first repeat that computed something else; empty: all correct
  bool checked = false;
};

/// How the GPU differs from what `machine` describes (SMs, clock, L2, memory), in words; empty: not at all.
Expected<std::string> difference_from_machine(const CudaDriver& driver, uint32_t device,
                                              const models::Machine& machine);

/// An error unless it is a microbenchmark. Needs no GPU.
Expected<void> check_measurable(const Scenario& scenario);

/// The scenario is valid. Errors: a scenario that is no microbenchmark, too few GPUs or GPUs that cannot
/// reach each other, a GPU that is not Hopper, PTX that the driver refuses (with its log), and every failing
/// call by name.
Expected<GpuRunResult> run_on_gpu(const Scenario& scenario, const CudaDriver& driver,
                                  const GpuRunOptions& options);

}  // namespace ptxwire::sim
