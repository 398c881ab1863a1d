// A network as a picture, in the language of Graphviz.
//
// Cores, spines and leaves from top to bottom, and a box for each node: its NICs, its GPUs and the NVSwitches
// that join them. A rail has a colour. What most links of a kind are stands below the picture; links that
// differ are labelled, slow ones orange, failed ones red and dashed. A single node is drawn with all its
// NVLink cables.
#pragma once

#include <string>

#include "models/fabric/network_topology.hpp"

namespace ptxwire::sim {

std::string topology_graph(const std::string& name, const models::NetworkTopology& network);

}  // namespace ptxwire::sim
