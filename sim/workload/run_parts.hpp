// What the runs of all kernel families share.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/machines/machine.hpp"
#include "sim/workload/run.hpp"

namespace ptxwire::sim {

RunLimits run_limits(const RunOptions& options);

/// Runs what is enqueued, and the companion's work behind it if there is one.
Expected<RunReport> run_beside(Cluster& cluster, const RunOptions& options);

/// The runs of one scenario so far.
struct RunsSoFar {
  RunReport report;                            ///< of the last one
  uint64_t warp_instructions = 0, events = 0;  ///< of all

  /// One more, beside the companion if there is one.
  Expected<void> run(Cluster& cluster, const RunOptions& options);
  /// One more that does not count: without the companion.
  Expected<void> run_alone(Cluster& cluster, RunOptions options);
};

/// Before anything is allocated: `bytes` must fit the memory of one GPU. `what` says which setting asks for
/// them: "'tokens' is 5: input and output".
Expected<void> check_fits_gpu(const Scenario& scenario, const models::Machine& machine, uint64_t bytes,
                              const std::string& what);

struct LoadedProgram {
  std::shared_ptr<const ptx::Program> program;
  uint32_t module = 0;
};
/// One PTX file on all GPUs of the cluster. Its kernels take the registers that the scenario states: by its
/// log of ptxas, and for `main_entry`, if the file has it, by number; a file that has it is loaded with the
/// scenario's cache hints. Errors: what the front end refuses, a
/// log that cannot be read or that lacks `main_entry`.
Expected<LoadedProgram> load_on(Cluster& cluster, const Scenario& scenario, const std::string& path,
                                std::string_view main_entry);

/// A scenario that is valid, by its family.
Expected<ScenarioResult> run_family(const Scenario& scenario, const models::Machine& machine,
                                    const RunOptions& options);

/// Duration of one kernel, launched on every rank: on rank 0, which has GPU 0, and on the slowest.
KernelTime kernel_time(const RunReport& report, const std::vector<LaunchId>& launches);

/// The outcome of a check: `mismatch` is empty or the first thing that is not as it must be.
void judge(ScenarioResult& result, std::string mismatch);

}  // namespace ptxwire::sim
