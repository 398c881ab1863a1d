// The NICs and InfiniBand switches of a scenario across nodes.
#pragma once

#include <string>

#include "models/fabric/network_topology.hpp"
#include "sim/workload/scenario.hpp"

namespace ptxwire::sim {

/// File of the topology: the one the scenario names, or that of its machine for as many nodes as it has
/// ranks: "h800-4-nodes" for "h800-node" and 32 ranks. Error: there is none; it says which there are.
Expected<std::string> network_path(const Scenario& scenario);

/// That topology, with the links that the scenario's faults slow down or take away. Errors also name links
/// that it has not.
Expected<models::NetworkTopology> scenario_network(const Scenario& scenario);

/// Of the cable of a rank's NIC, in each direction, as slow as faults make it.
double nic_bytes_per_second(const models::NetworkTopology& network, uint32_t rank);

}  // namespace ptxwire::sim
