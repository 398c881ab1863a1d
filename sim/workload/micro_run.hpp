// Runs a microbenchmark scenario: memory, launches, results.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/machines/machine.hpp"
#include "sim/workload/run.hpp"
#include "sim/workload/scenario.hpp"

namespace ptxwire::sim {

/// The PTX file of a micro scenario: a file as named, or one of kernels/.
Expected<std::string> micro_program_path(const Scenario& scenario);

/// Where a micro scenario runs on a cluster that it shares with others.
struct MicroPlace {
  uint32_t first_gpu = 0;  ///< its GPU 0
  int priority = 0;        ///< of its streams
  std::string role;        ///< of its launches; empty: the entry
};

/// A micro scenario on somebody's cluster: filled, enqueued and compared by whoever shares the cluster out.
class MicroInstance {
 public:
  /// Loads the program, allocates the buffers and creates a stream per launch. The scenario is valid; it and
  /// the cluster outlive the instance.
  static Expected<std::unique_ptr<MicroInstance>> create(const Scenario& scenario, Cluster& cluster,
                                                         const MicroPlace& place);
  virtual ~MicroInstance() = default;

  /// Memory as the scenario states it before a call.
  virtual Expected<void> fill() = 0;
  /// All launches of one call, each on its stream.
  virtual Expected<std::vector<LaunchId>> enqueue() = 0;
  /// Reads the kernels' records after the last run.
  virtual Expected<void> finish() = 0;
  /// Empty if checksums and memory are as expected; after finish().
  virtual Expected<std::string> mismatch() const = 0;
  [[nodiscard]] virtual const std::vector<StreamId>& streams() const = 0;
  [[nodiscard]] virtual Expected<DeviceAddress> buffer(const std::string& name) const = 0;
};

/// run_scenario for kernel = "micro"; the scenario is valid. `figures` of the result starts with the
/// scenario's own.
Expected<ScenarioResult> run_micro(const Scenario& scenario, const models::Machine& machine,
                                   const RunOptions& options);

}  // namespace ptxwire::sim
