// A network in figures and the speed of light of a traffic matrix, as text and as JSON (schema:
// docs/json.md).
//
//   h800-4-nodes: 4 nodes of 8 GPUs
//     NVLink            4 NVSwitches per node; 8 x 25 GB/s per GPU
//     NICs              32, 50 GB/s each, behind PCIe of 63 GB/s
//     ...
//   Speed of light of 1 MB from each GPU to each other, 992 MB in all
//     relays     time      bound by
//     any        480.0 us  what node0 sends: 192 MB over 8 links NIC to leaf, 400 GB/s
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/fabric/network_bound.hpp"
#include "models/fabric/network_summary.hpp"
#include "models/fabric/network_topology.hpp"

namespace ptxwire::sim {

struct TopologyReport {
  std::string name;
  const models::NetworkTopology* network = nullptr;
  models::NetworkSummary summary;
  /// Of the traffic; empty: none was given.
  std::string traffic;  ///< in words
  std::vector<std::pair<models::Relays, models::NetworkBound>> bounds;
};

std::string topology_text(const TopologyReport& report);
std::string topology_json(const TopologyReport& report);

}  // namespace ptxwire::sim
