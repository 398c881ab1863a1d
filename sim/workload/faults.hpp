// What is wrong with the machine in a what-if: links that are slow or down, ranks whose hosts are late. A
// scenario names them, separated by semicolons:
//
//   faults = "nic3=0.5; node1.nic2=25 %; leaf0-spine1=down; rail3=down; rank5=200us; rank6=never"
//
// Links, NICs, rails and switches are named as in models/fabric/network_topology.hpp. They are slow or down
// in every call of the scenario; what is down fails after the queues were connected, so messages to it end
// with an error at the sender. A late rank's host makes its first launch of the timed run that much later
// than the others; earlier calls are not disturbed, and end before.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/fabric/network_topology.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/workload/scenario.hpp"

namespace ptxwire::sim {

struct LinkFault {
  std::string link;
  std::optional<double> factor;  ///< of its rate, above 0 and at most 1; none: it is down
};

struct LateRank {
  uint32_t rank = 0;
  std::optional<models::Picoseconds> by;  ///< none: it never starts
};

struct Faults {
  std::vector<LinkFault> links;
  std::vector<LateRank> ranks;
};

/// Errors, which quote the part: not of the form NAME=VALUE, a value that is none of those above, a rank that
/// the scenario has not or that is named twice. Whether there are such links only the network knows.
Expected<Faults> parse_faults(const Scenario& scenario);

/// Settings of `faults` that the scenario cannot have: as parse_faults, and links where it uses no network.
Expected<void> validate_faults(const Scenario& scenario, bool uses_network);

/// Errors: names that the network does not know, ways that can lock without a link.
Expected<void> apply_link_faults(const Scenario& scenario, models::NetworkTopology& network);

/// Whether the timed call has a run of its own: L2 is flushed before it, or some host is late in it.
bool times_last_call_alone(const Scenario& scenario);
/// Of the next run of the cluster.
Expected<void> delay_late_ranks(const Scenario& scenario, Cluster& cluster);

/// Simulated time that a run may take: `asked`, or less where a peer is lost: a rank never starts, or a fault
/// leaves no way between two NICs. Who waits for it waits for ever, and loops that wait are executed.
models::Picoseconds time_budget(const Scenario& scenario, const models::NetworkTopology* network,
                                models::Picoseconds asked);

/// What was done, in words for reports: "nic3 at 50 %", "rank 5 starts 200 us late". `network` may be null.
std::vector<std::string> fault_words(const Scenario& scenario, const models::NetworkTopology* network);

}  // namespace ptxwire::sim
