// One run of an intranode dispatch or combine: run.hpp's part for this family.
#pragma once

#include <functional>

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

/// Rows that come in and go out fit the memory of a GPU. Before a routing is drawn.
Expected<void> check_rows_fit(const Scenario& scenario, const models::Machine& machine);

Expected<ScenarioResult> run_intranode(const Scenario& scenario, const models::Machine& machine,
                                       const RunOptions& options);

class IntranodeNode;
/// Looks at a run now and then, as RunOptions::progress.
using IntranodeObserver = std::function<void(const IntranodeNode&, const RunProgress&)>;
/// The same with a routing of its own, which has the shape of the scenario's and fits.
Expected<ScenarioResult> run_intranode(const Scenario& scenario, const models::Machine& machine,
                                       const RunOptions& options, const Routing& routing,
                                       const IntranodeObserver& observe);

}  // namespace ptxwire::sim
