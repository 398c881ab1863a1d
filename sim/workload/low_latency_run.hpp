// Runs pairs of low-latency dispatch and combine and says how long the kernel asked for takes.
#pragma once

#include "models/machines/machine.hpp"
#include "sim/workload/run.hpp"
#include "sim/workload/scenario.hpp"

namespace ptxwire::sim {

/// run_scenario for kernel = "low_latency_dispatch" and "low_latency_combine"; the scenario is valid. Both
/// run `calls` pairs back to back; `time_us` is the mean duration of the kernel, as a profiler gives it, over
/// the ranks and all pairs but the first, whose start is cold.
Expected<ScenarioResult> run_low_latency(const Scenario& scenario, const models::Machine& machine,
                                         const RunOptions& options);

}  // namespace ptxwire::sim
