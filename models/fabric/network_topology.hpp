// How the nodes of a cluster are cabled to InfiniBand switches, from a file
// (models/fabric/topologies/h800-4-nodes.toml):
//
//   [nodes]
//   count = 4                    # node0 .. node3
//   topology = "h800-node.toml"  # the GPUs and the NVLink of each; a NIC for each GPU
//   pcie = "63 GB/s"             # between a NIC and its GPU, in each direction
//   [switches]
//   leaf = 8                     # leaf0 .. leaf7; also spine, core
//   spine = 4
//   [[link]]
//   from = "node[0-3].nic0"      # a vertex or a range
//   to = "leaf0"                 # each of `from` is cabled to each of `to`
//   count = 1                    # parallel links
//   rate = "400 Gb/s"            # of one link in one direction
//
// GPUs and NICs are numbered through all nodes, and NIC i is that of GPU i. A file of one node (topology.hpp)
// is read as a network of that node without NICs.
//
// A packet takes a way of fewest hops. Where such ways could make packets wait for each other in a circle,
// the file (or the fault that causes it) is refused, so buffers that fill up never lock the network.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/units.hpp"
#include "models/fabric/network_routes.hpp"
#include "models/fabric/topology.hpp"
#include "support/error.hpp"

namespace ptxwire::models {

enum class SwitchLevel : uint8_t { leaf, spine, core };
inline constexpr uint32_t kSwitchLevels = 3;
std::string_view level_name(SwitchLevel level);

class NetworkTopology {
 public:
  /// Errors, with path and line: as for Topology; also a NIC that has no link or several, a switch without
  /// links, GPUs between which there is no way even over NVLink, ways that can lock.
  static Expected<NetworkTopology> load(const std::string& path);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] uint32_t nodes() const { return nodes_; }
  /// GPUs and NVLink of one node; all are alike.
  [[nodiscard]] const Topology& node() const { return node_; }
  [[nodiscard]] uint32_t gpus() const { return nodes_ * node_.gpus(); }
  [[nodiscard]] uint32_t nics() const { return nics_; }
  [[nodiscard]] uint32_t switches() const { return static_cast<uint32_t>(levels_.size()); }
  [[nodiscard]] double pcie_bytes_per_second() const { return pcie_bytes_per_second_; }

  /// NICs are vertices [0, nics), switches follow: leaves, spines, cores.
  [[nodiscard]] uint32_t vertices() const { return nics_ + switches(); }
  [[nodiscard]] bool is_switch(uint32_t vertex) const { return vertex >= nics_; }
  /// Of a switch.
  [[nodiscard]] SwitchLevel level(uint32_t vertex) const { return levels_[vertex - nics_]; }
  /// "node2.nic3" or "leaf0".
  [[nodiscard]] std::string vertex_name(uint32_t vertex) const;
  [[nodiscard]] uint32_t node_of(NicId nic) const { return nic.value / node_.gpus(); }
  /// Number of a NIC in its node: its rail.
  [[nodiscard]] uint32_t rail_of(NicId nic) const { return nic.value % node_.gpus(); }
  /// Single cables, also those that are down.
  [[nodiscard]] const std::vector<NetworkLink>& links() const { return links_; }
  /// The cable of a NIC, index in links().
  [[nodiscard]] uint32_t nic_link(NicId nic) const { return nic_links_[nic.value]; }

  /// A cable, all of a pair or all of a vertex carry nothing. Ways lead round them; `routes()` knows what is
  /// no longer reached. Names: "node2.nic3" or "nic19" (the cable of a NIC), "rail3" (the NICs of that number
  /// in all nodes), "leaf0", "leaf0-spine1" (all cables between the two), "leaf0-spine1.0" (one). Errors:
  /// unknown name; ways that can lock. Nothing has changed then.
  Expected<void> fail(std::string_view name);
  /// The same names; they run at `factor` of their present rate, above 0 and at most 1.
  Expected<void> slow(std::string_view name, double factor);
  /// What was failed and slowed, for reports: "leaf0-spine1 down", "nic19 at 50 %".
  [[nodiscard]] const std::vector<std::string>& faults() const { return faults_; }

  [[nodiscard]] const NetworkRoutes& routes() const { return routes_; }
  /// Vertices of a way, both ends included; of several the one through the lowest numbers. Error: there is
  /// none; it names the two NICs and why.
  [[nodiscard]] Expected<std::vector<uint32_t>> route(NicId from, NicId to) const;

 private:
  friend class NetworkTopologyReader;
  /// Links that a name stands for, indices in links().
  [[nodiscard]] Expected<std::vector<uint32_t>> find_links(std::string_view name) const;
  [[nodiscard]] std::vector<uint32_t> find_vertices(std::string_view name) const;
  [[nodiscard]] Error unknown_name(std::string_view name) const;
  Expected<void> find_routes();

  std::string path_;
  uint32_t nodes_ = 1, nics_ = 0;
  Topology node_;
  double pcie_bytes_per_second_ = 0;
  std::vector<SwitchLevel> levels_;
  std::vector<NetworkLink> links_;
  std::vector<uint32_t> nic_links_;
  std::vector<std::string> faults_;
  NetworkRoutes routes_;
};

}  // namespace ptxwire::models
