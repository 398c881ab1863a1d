#include "models/fabric/network_bound.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "models/fabric/flow_network.hpp"

namespace ptxwire::models {
namespace {

/// Which parts of a network a flow may use.
struct Parts {
  bool nvlink = true, network = true;
  bool relays = false;  ///< a GPU sends what it received
};

/// A network as a FlowNetwork. A GPU is two vertices, one that sends and one that receives: what it receives
/// counts as sent only where relays are allowed.
class JoinedNetwork {
 public:
  JoinedNetwork(const NetworkTopology& network, const Parts& parts)
      : network_(network),
        gpus_(network.gpus()),
        switches_(2 * gpus_),
        vertices_(switches_ + network.nodes() * network.node().switches()),
        flow_(vertices_ + network.vertices()) {
    if (parts.nvlink) add_nvlink();
    if (parts.network) add_network();
    if (parts.relays) add_relays();
  }

  [[nodiscard]] const FlowNetwork& flow() const { return flow_; }
  [[nodiscard]] static uint32_t sender(uint32_t gpu) { return gpu; }
  [[nodiscard]] uint32_t receiver(uint32_t gpu) const { return gpus_ + gpu; }

  [[nodiscard]] std::vector<CutPart> describe(const std::vector<uint32_t>& cut) const {
    std::vector<CutPart> parts;
    for (const uint32_t edge : cut) {
      const FlowEdge& its_edge = flow_.edges()[edge];
      const std::string kind = kind_of(its_edge.from) + " to " + kind_of(its_edge.to);
      auto part = std::find_if(parts.begin(), parts.end(), [&](const CutPart& p) { return p.kind == kind; });
      if (part == parts.end()) part = parts.insert(part, {kind, 0, 0});
      part->links += counts_[edge];
      part->bytes_per_second += its_edge.bytes_per_second;
    }
    return parts;
  }

 private:
  void add(uint32_t from, uint32_t to, double bytes_per_second, uint32_t count) {
    flow_.add(from, to, bytes_per_second);
    counts_.push_back(count);
  }

  void add_nvlink() {
    const Topology& node = network_.node();
    for (uint32_t n = 0; n < network_.nodes(); ++n) {
      const auto vertex = [&](uint32_t v, bool sends) {
        if (v >= node.gpus()) return switches_ + n * node.switches() + v - node.gpus();
        const uint32_t gpu = n * node.gpus() + v;
        return sends ? sender(gpu) : receiver(gpu);
      };
      for (const TopologyEdge& edge : node.edges()) {
        const double rate = edge.count * edge.bytes_per_second;
        add(vertex(edge.a, true), vertex(edge.b, false), rate, edge.count);
        add(vertex(edge.b, true), vertex(edge.a, false), rate, edge.count);
      }
    }
  }

  void add_network() {
    for (uint32_t nic = 0; nic < network_.nics(); ++nic) {
      add(sender(nic), vertices_ + nic, network_.pcie_bytes_per_second(), 1);
      add(vertices_ + nic, receiver(nic), network_.pcie_bytes_per_second(), 1);
    }
    std::map<std::pair<uint32_t, uint32_t>, std::pair<uint32_t, double>> bundles;
    for (const NetworkLink& link : network_.links()) {
      if (!link.up) continue;
      auto& [count, rate] = bundles[{link.a, link.b}];
      ++count;
      rate += link.bytes_per_second;
    }
    for (const auto& [ends, bundle] : bundles) {
      add(vertices_ + ends.first, vertices_ + ends.second, bundle.second, bundle.first);
      add(vertices_ + ends.second, vertices_ + ends.first, bundle.second, bundle.first);
    }
  }

  void add_relays() {
    // Never what binds: as wide as all links together.
    double all = 0;
    for (const FlowEdge& edge : flow_.edges()) all += edge.bytes_per_second;
    for (uint32_t gpu = 0; gpu < gpus_; ++gpu) add(receiver(gpu), sender(gpu), all, 0);
  }

  [[nodiscard]] std::string kind_of(uint32_t vertex) const {
    if (vertex < switches_) return "GPU";
    if (vertex < vertices_) return "NVSwitch";
    const uint32_t its_vertex = vertex - vertices_;
    return network_.is_switch(its_vertex) ? std::string(level_name(network_.level(its_vertex))) : "NIC";
  }

  const NetworkTopology& network_;
  uint32_t gpus_;
  uint32_t switches_;  ///< first NVSwitch
  uint32_t vertices_;  ///< first vertex of the network
  FlowNetwork flow_;
  std::vector<uint32_t> counts_;  ///< [edge] parallel links
};

struct Group {
  std::string name;
  std::vector<bool> members;  ///< [GPU]
};

/// Of several with the same bound the first is named: nodes before their GPUs, those before wider groups.
std::vector<Group> groups(const NetworkTopology& network) {
  const uint32_t gpus = network.gpus();
  std::vector<Group> list;
  const auto add = [&](std::string name, auto is_member) {
    Group group{std::move(name), std::vector<bool>(gpus)};
    for (uint32_t gpu = 0; gpu < gpus; ++gpu) group.members[gpu] = is_member(gpu);
    list.push_back(std::move(group));
  };
  const uint32_t per_node = network.node().gpus();
  if (network.nodes() > 1) {
    for (uint32_t n = 0; n < network.nodes(); ++n)
      add("node" + std::to_string(n), [&](uint32_t gpu) { return gpu / per_node == n; });
  }
  for (uint32_t g = 0; g < gpus; ++g) add("gpu" + std::to_string(g), [&](uint32_t gpu) { return gpu == g; });
  for (uint32_t v = network.nics(); v < network.vertices(); ++v) {
    if (network.level(v) != SwitchLevel::leaf) continue;
    add("the GPUs of " + network.vertex_name(v),
        [&](uint32_t gpu) { return network.links()[network.nic_link(NicId{gpu})].other_end(gpu) == v; });
  }
  if (network.nodes() > 3) {
    const uint32_t half = network.nodes() / 2 * per_node;
    add("the lower half of the nodes", [&](uint32_t gpu) { return gpu < half; });
  }
  return list;
}

/// Commodities of a matrix, one after the other, against a network; the bound only grows.
class BoundSearch {
 public:
  BoundSearch(const JoinedNetwork& network, const TrafficMatrix& traffic, NetworkBound start)
      : network_(network), traffic_(traffic), bound_(std::move(start)) {
    floor_.seconds = bound_.seconds;
  }

  NetworkBound run(const std::vector<Group>& list) {
    for (const Group& group : list) {
      add(group, true);
      add(group, false);
    }
    const Group all{"all GPUs", {}};
    add(all, true);
    return std::move(bound_);
  }

 private:
  /// What the members send to the others, or receive from them; of a group without members, all to all.
  void add(const Group& group, bool sends) {
    const uint32_t gpus = traffic_.gpus();
    Commodity commodity{std::vector<uint64_t>(network_.flow().vertices()),
                        std::vector<uint64_t>(network_.flow().vertices()), 0};
    for (uint32_t from = 0; from < gpus; ++from) {
      if (!group.members.empty() && group.members[from] != sends) continue;
      for (uint32_t to = 0; to < gpus; ++to) {
        if (from == to || (!group.members.empty() && group.members[to] == sends)) continue;
        const uint64_t bytes = traffic_.at(GpuId{from}, GpuId{to});
        commodity.supply[JoinedNetwork::sender(from)] += bytes;
        commodity.demand[network_.receiver(to)] += bytes;
        commodity.total += bytes;
      }
    }
    if (commodity.total == 0 || !bound_.possible) return;
    const FlowBound found = network_.flow().least_time(commodity, floor_);
    if (found.possible && found.seconds <= floor_.seconds) return;
    bound_ = {found.seconds, found.possible, "what " + group.name + (sends ? " send" : " receive"),
              found.cut_bytes, network_.describe(found.cut)};
    // One GPU or node sends; several send.
    if (!group.members.empty() && !group.name.starts_with("the ")) bound_.whose += "s";
    floor_.seconds = found.seconds;
  }

  const JoinedNetwork& network_;
  const TrafficMatrix& traffic_;
  NetworkBound bound_;
  FlowBound floor_;
};

/// What goes over NVLink, and what from NIC to NIC, when relays are fixed.
std::pair<TrafficMatrix, TrafficMatrix> split(const NetworkTopology& network, const TrafficMatrix& traffic,
                                              Relays relays) {
  const uint32_t gpus = network.gpus(), per_node = network.node().gpus();
  std::pair<TrafficMatrix, TrafficMatrix> result{TrafficMatrix(gpus), TrafficMatrix(gpus)};
  auto& [nvlink, nics] = result;
  for (uint32_t from = 0; from < gpus; ++from) {
    for (uint32_t to = 0; to < gpus; ++to) {
      const uint64_t bytes = traffic.at(GpuId{from}, GpuId{to});
      if (from / per_node == to / per_node) {
        nvlink.at(GpuId{from}, GpuId{to}) += bytes;
        continue;
      }
      const GpuId landing{relays == Relays::same_rail ? to / per_node * per_node + from % per_node : to};
      nics.at(GpuId{from}, landing) += bytes;
      if (landing.value != to) nvlink.at(landing, GpuId{to}) += bytes;
    }
  }
  return result;
}

}  // namespace

NetworkBound network_bound(const NetworkTopology& network, const TrafficMatrix& traffic, Relays relays) {
  const std::vector<Group> list = groups(network);
  if (relays == Relays::any) {
    const JoinedNetwork joined(network, {.relays = true});
    return BoundSearch(joined, traffic, {}).run(list);
  }
  const auto [nvlink, nics] = split(network, traffic, relays);
  const JoinedNetwork between(network, {.nvlink = false}), within(network, {.network = false});
  NetworkBound bound = BoundSearch(between, nics, {}).run(list);
  if (!bound.possible) return bound;
  return BoundSearch(within, nvlink, std::move(bound)).run(list);
}

double bisection_bytes_per_second(const NetworkTopology& network) {
  const uint32_t gpus = network.gpus();
  const uint32_t half = network.nodes() > 1 ? network.nodes() / 2 * network.node().gpus() : gpus / 2;
  const JoinedNetwork joined(network, {.relays = true});
  std::vector<uint32_t> from, to;
  for (uint32_t gpu = 0; gpu < gpus; ++gpu)
    (gpu < half ? from : to).push_back(gpu < half ? JoinedNetwork::sender(gpu) : joined.receiver(gpu));
  return joined.flow().rate_between(from, to);
}

}  // namespace ptxwire::models
