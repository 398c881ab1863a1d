// The speed of light of a traffic matrix over all GPUs of a network: NVLink, PCIe, NICs and switches
// together.
//
// Exact would be a flow of many commodities. What is computed are bounds of groups: what a GPU, a node, the
// GPUs of a leaf, half of the nodes, or all send to the others (and receive) as one commodity, each by
// maximum flow. No schedule is faster than the slowest of them. All at raw link rate: headers and
// acknowledgements are the caller's to add to the bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/fabric/network_topology.hpp"
#include "models/fabric/topology.hpp"

namespace ptxwire::models {

/// What may happen between source and target.
enum class Relays : uint8_t {
  any,        ///< GPUs pass on what they receive, over NVLink or their NIC
  same_rail,  ///< own NIC, NIC of the same rail in the target's node, NVLink
  none,       ///< own NIC to the target's; NVLink within a node
};

/// Links of one kind and direction that bind.
struct CutPart {
  std::string kind;  ///< "NIC to leaf", "GPU to NVSwitch"
  uint32_t links = 0;
  double bytes_per_second = 0;  ///< together
};

struct NetworkBound {
  double seconds = 0;
  bool possible = true;  ///< false: some bytes have no way; `whose` says whose
  std::string whose;     ///< "what node0 sends"; empty: nothing to move
  double bytes = 0;      ///< must cross `cut`
  std::vector<CutPart> cut;
};

/// `traffic` is over the network's GPUs.
NetworkBound network_bound(const NetworkTopology& network, const TrafficMatrix& traffic, Relays relays);

/// What flows at once between the two halves of the nodes (of the GPUs, in a single node) at best, in one
/// direction.
double bisection_bytes_per_second(const NetworkTopology& network);

}  // namespace ptxwire::models
