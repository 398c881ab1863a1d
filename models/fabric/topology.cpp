#include "models/fabric/topology.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

// As in flow_network.cpp: a warning of GCC inside Boost.Graph at -O2 and above.
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/breadth_first_search.hpp>

#include "models/fabric/flow_network.hpp"

namespace ptxwire::models {
namespace {

using RoutingGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS>;

/// Links with a GPU as two vertices, one that sends and one (behind all others) that receives: what it
/// receives may not be counted as sent.
FlowNetwork flow_network(const Topology& topology) {
  const uint32_t gpus = topology.gpus(), receivers = gpus + topology.switches();
  FlowNetwork network(receivers + gpus);
  const auto receiving = [&](uint32_t vertex) { return vertex < gpus ? receivers + vertex : vertex; };
  for (const TopologyEdge& edge : topology.edges()) {
    network.add(edge.a, receiving(edge.b), edge.count * edge.bytes_per_second);
    network.add(edge.b, receiving(edge.a), edge.count * edge.bytes_per_second);
  }
  return network;
}

std::vector<Commodity> commodities(const TrafficMatrix& traffic, uint32_t receivers) {
  const uint32_t gpus = traffic.gpus();
  const std::vector<uint64_t> nothing(size_t{receivers} + gpus);
  // [0]: all traffic as one; then each source alone; then each destination alone.
  std::vector<Commodity> list(1 + 2 * size_t{gpus}, Commodity{nothing, nothing, 0});
  for (uint32_t from = 0; from < gpus; ++from) {
    for (uint32_t to = 0; to < gpus; ++to) {
      if (from == to) continue;
      const uint64_t bytes = traffic.at(GpuId{from}, GpuId{to});
      for (const size_t index : {size_t{0}, size_t{1} + from, size_t{1} + gpus + to}) {
        list[index].supply[from] += bytes;
        list[index].demand[receivers + to] += bytes;
        list[index].total += bytes;
      }
    }
  }
  return list;
}

}  // namespace

std::string Topology::vertex_name(uint32_t vertex) const {
  return vertex < gpus_ ? "gpu" + std::to_string(vertex) : "switch" + std::to_string(vertex - gpus_);
}

std::vector<uint32_t> Topology::link_switches(GpuId gpu) const {
  std::vector<uint32_t> result;
  for (const TopologyEdge& edge : edges_) {
    const bool is_end = edge.a == gpu.value || edge.b == gpu.value;
    const uint32_t other = edge.a == gpu.value ? edge.b : edge.a;
    if (is_end && other >= gpus_) result.insert(result.end(), edge.count, other - gpus_);
  }
  return result;
}

std::vector<uint32_t> Topology::route(GpuId from, GpuId to) const {
  RoutingGraph graph(gpus_ + switches_);
  // Sorted, so that the breadth-first search finds the lowest numbers first.
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  for (const TopologyEdge& edge : edges_)
    pairs.emplace_back(std::min(edge.a, edge.b), std::max(edge.a, edge.b));
  std::sort(pairs.begin(), pairs.end());
  for (const auto& [a, b] : pairs) boost::add_edge(a, b, graph);
  constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  std::vector<uint32_t> before(boost::num_vertices(graph), kNone);
  const auto recorder = boost::record_predecessors(before.data(), boost::on_tree_edge());
  boost::breadth_first_search(graph, from.value, boost::visitor(boost::make_bfs_visitor(recorder)));
  std::vector<uint32_t> path{to.value};
  while (path.back() != from.value) {
    if (before[path.back()] == kNone) return {};
    path.push_back(before[path.back()]);
  }
  std::reverse(path.begin(), path.end());
  return path;
}

Picoseconds Topology::speed_of_light(const TrafficMatrix& traffic) const {
  const FlowNetwork network = flow_network(*this);
  FlowBound bound;
  for (const Commodity& commodity : commodities(traffic, gpus_ + switches_))
    bound = network.least_time(commodity, bound);
  return {static_cast<int64_t>(std::ceil(bound.seconds * 1e12))};
}

}  // namespace ptxwire::models
