// The NICs and InfiniBand switches of a scenario across nodes.
#pragma once

#include <string>

#include "models/fabric/network_topology.hpp"
#include "sim/workload/scenario.hpp"

namespace ptxwire::sim {

/// File of the topology: the one the scenario names, or that of its machine for as many nodes as it has
/// ranks: "h800-4-nodes" for "h800-node" and 32 ranks. Error: there is none; it says which there are.
Expected<std::string> network_path(const Scenario& scenario);

Expected<models::NetworkTopology> scenario_network(const Scenario& scenario);

}  // namespace ptxwire::sim
