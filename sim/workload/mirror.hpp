// One node of several: only the first is simulated, and what its GPU g sends to node m comes back to it as
// what node m's GPU g sends here (`mirror = true`). NICs, PCIe, NVLink and kernels work as with all nodes; of
// the network there is each NIC's cable and its switch. A cheap surrogate where all nodes do the same: not
// for incast, skew or faults, which come from nodes that do not.
//
// For that every node must send here what we send to it. So the rank (m, g) has the routing and the rows of
// the rank (0, g) with nodes 0 and m changed for each other: the routing of a whole run in which only node 0
// is told the truth, and against which its ranks are checked in full.
#pragma once

#include <string>
#include <vector>

#include "sim/nic/queue_pair.hpp"
#include "sim/workload/routing.hpp"
#include "sim/workload/scenario.hpp"

namespace ptxwire::sim {

struct InternodeLayout;

/// Ranks that run on the cluster: all, or those of one node.
inline uint32_t simulated_ranks(const Scenario& s) { return s.mirror ? kGpusPerNode : s.ranks; }
/// The rank whose rows `rank` sends.
inline uint32_t rows_of(const Scenario& s, uint32_t rank) { return s.mirror ? rank % kGpusPerNode : rank; }

/// The routing above, from that of all ranks.
Routing mirrored_routing(const RoutingShape& shape, const Routing& all);

/// A row that rank `holder` has made of a token of rank `source`.
struct SummandOf {
  uint32_t holder = 0, source = 0;
};
/// Which row of a simulated holder comes back in its place.
SummandOf simulated_summand(const Scenario& s, SummandOf row);

/// What requests to rank `rank`, which is not simulated, reach instead in the heap at `heap` of the rank of
/// its index.
std::vector<MirrorArea> mirror_areas(const Scenario& s, const InternodeLayout& layout, DeviceAddress heap,
                                     uint32_t rank);

/// Settings that a mirror does not take.
Expected<void> validate_mirror(const Scenario& s);
/// "mirror of one node for 4: ..."; empty without.
std::string mirror_words(const Scenario& s);

}  // namespace ptxwire::sim
