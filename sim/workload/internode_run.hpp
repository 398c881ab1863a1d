// One run of an internode dispatch or combine: run.hpp's part for this family.
#pragma once

#include "models/machines/machine.hpp"
#include "sim/workload/run.hpp"

namespace ptxwire::sim {

Expected<ScenarioResult> run_internode(const Scenario& scenario, const models::Machine& machine,
                                       const RunOptions& options);

}  // namespace ptxwire::sim
