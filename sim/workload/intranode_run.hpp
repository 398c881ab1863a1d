// One run of an intranode dispatch or combine: run.hpp's part for this family.
#pragma once

#include "models/machines/machine.hpp"
#include "sim/workload/routing.hpp"
#include "sim/workload/run.hpp"

namespace ptxwire::sim {

RoutingShape routing_shape(const Scenario& scenario);

/// Rows that the busiest GPU sends to or gets from others, whichever is more.
uint64_t busiest_rows(const Routing& routing);

/// Bytes, bandwidths and bound of a call that takes `result.time_us`. `link_bytes_per_second`: all NVLink
/// links of a GPU together, one direction.
void fill_rates(ScenarioResult& result, const Scenario& scenario, const Routing& routing,
                double link_bytes_per_second);

Expected<ScenarioResult> run_intranode(const Scenario& scenario, const models::Machine& machine,
                                       const RunOptions& options);

}  // namespace ptxwire::sim
