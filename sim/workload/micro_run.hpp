// Runs a microbenchmark scenario: memory, launches, results.
#pragma once

#include <string>

#include "models/machines/machine.hpp"
#include "sim/workload/run.hpp"
#include "sim/workload/scenario.hpp"

namespace ptxwire::sim {

/// The PTX file of a micro scenario: a file as named, or one of kernels/.
Expected<std::string> micro_program_path(const Scenario& scenario);

/// run_scenario for kernel = "micro"; the scenario is valid. `figures` of the result starts with the
/// scenario's own.
Expected<ScenarioResult> run_micro(const Scenario& scenario, const models::Machine& machine,
                                   const RunOptions& options);

}  // namespace ptxwire::sim
