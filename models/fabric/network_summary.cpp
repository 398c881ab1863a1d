#include "models/fabric/network_summary.hpp"

#include <algorithm>
#include <map>

// As in flow_network.cpp: a warning of GCC inside Boost.Graph at -O2 and above.
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/connected_components.hpp>

#include "models/fabric/network_bound.hpp"

namespace ptxwire::models {
namespace {

uint32_t count_planes(const NetworkTopology& network) {
  boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS> graph(network.vertices());
  for (const NetworkLink& link : network.links())
    if (link.up) boost::add_edge(link.a, link.b, graph);
  std::vector<uint32_t> component(network.vertices());
  boost::connected_components(graph, component.data());
  std::vector<uint32_t> with_nics;
  for (uint32_t nic = 0; nic < network.nics(); ++nic)
    if (network.links()[network.nic_link(NicId{nic})].up) with_nics.push_back(component[nic]);
  std::sort(with_nics.begin(), with_nics.end());
  return static_cast<uint32_t>(std::unique(with_nics.begin(), with_nics.end()) - with_nics.begin());
}

uint32_t count_rails(const NetworkTopology& network) {
  std::map<uint32_t, uint32_t> rail_of_leaf;
  for (uint32_t nic = 0; nic < network.nics(); ++nic) {
    const uint32_t leaf = network.links()[network.nic_link(NicId{nic})].other_end(nic);
    const auto [place, is_new] = rail_of_leaf.try_emplace(leaf, network.rail_of(NicId{nic}));
    if (!is_new && place->second != network.rail_of(NicId{nic})) return 0;
  }
  return network.nics() == 0 ? 0 : network.node().gpus();
}

double highest_oversubscription(const NetworkTopology& network) {
  std::map<uint32_t, std::pair<double, double>> down_and_up;
  for (const NetworkLink& link : network.links()) {
    if (!link.up) continue;
    for (const uint32_t leaf : {link.a, link.b}) {
      if (!network.is_switch(leaf) || network.level(leaf) != SwitchLevel::leaf) continue;
      auto& [down, up] = down_and_up[leaf];
      (network.is_switch(link.other_end(leaf)) ? up : down) += link.bytes_per_second;
    }
  }
  double highest = 0;
  for (const auto& [leaf, rates] : down_and_up)
    if (rates.second > 0) highest = std::max(highest, rates.first / rates.second);
  return highest;
}

/// Number of ways from `vertex` on; `known` remembers.
double count_ways(const NetworkTopology& network, uint32_t vertex, NicId to,
                  std::map<uint32_t, double>& known) {
  if (vertex == to.value) return 1;
  if (const auto found = known.find(vertex); found != known.end()) return found->second;
  double count = 0;
  for (const uint32_t link : network.routes().ways(vertex, to))
    count += count_ways(network, network.links()[link].other_end(vertex), to, known);
  return known[vertex] = count;
}

NetworkWays find_ways(const NetworkTopology& network, NicId from, NicId to) {
  NetworkWays ways{from, to, {}, 0};
  const Expected<std::vector<uint32_t>> path = network.route(from, to);
  if (!path) return ways;
  ways.path = *path;
  std::map<uint32_t, double> known;
  ways.count = count_ways(network, from.value, to, known);
  return ways;
}

}  // namespace

NetworkSummary summarize(const NetworkTopology& network) {
  NetworkSummary summary;
  for (const TopologyEdge& edge : network.node().edges()) summary.nvlinks += edge.count * network.nodes();
  for (const NetworkLink& link : network.links()) summary.links_down += link.up ? 0 : 1;
  summary.rails = count_rails(network);
  summary.planes = count_planes(network);
  summary.oversubscription = highest_oversubscription(network);
  summary.bisection_bytes_per_second = bisection_bytes_per_second(network);
  if (network.nodes() > 1) {
    const uint32_t last_node = (network.nodes() - 1) * network.node().gpus();
    summary.ways.push_back(find_ways(network, NicId{0}, NicId{network.nics() - 1}));
    if (network.node().gpus() > 1) summary.ways.push_back(find_ways(network, NicId{0}, NicId{last_node}));
  }
  return summary;
}

}  // namespace ptxwire::models
