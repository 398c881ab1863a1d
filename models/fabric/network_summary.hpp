// A network in a few figures: what a reader of its file would count.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/fabric/network_topology.hpp"

namespace ptxwire::models {

/// Ways of fewest hops between two NICs.
struct NetworkWays {
  NicId from, to;
  std::vector<uint32_t> path;  ///< one of them, vertices; empty: there is none
  double count = 0;            ///< parallel cables are ways of their own
};

struct NetworkSummary {
  uint32_t nvlinks = 0;     ///< of all nodes
  uint32_t links_down = 0;  ///< of NetworkTopology::links()
  uint32_t rails = 0;       ///< 0: some leaf serves NICs of several numbers, or none has NICs
  uint32_t planes = 0;      ///< parts of the network that no switch joins
  /// Rate down over rate up, of the leaf where it is highest; 0: no leaf has a link up.
  double oversubscription = 0;
  double bisection_bytes_per_second = 0;
  /// Between the first and the last NIC, and between the first NICs of the first and the last node.
  std::vector<NetworkWays> ways;
};

NetworkSummary summarize(const NetworkTopology& network);

}  // namespace ptxwire::models
