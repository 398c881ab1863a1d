#include "models/fabric/topology.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

// Boost.Graph's flow headers set off this warning of GCC at -O2 and above even as system headers.
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>

namespace ptxwire::models {
namespace {

using RoutingGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS>;

using FlowTraits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
struct FlowEdge {
  int64_t capacity = 0, residual = 0;
  FlowTraits::edge_descriptor reverse;
};
using FlowGraph =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, FlowEdge>;

/// Links of a topology with their capacity in a given time, and demands as edges of a source and a sink. A
/// GPU is two vertices, one that sends and one that receives: what it receives may not be counted as sent.
class FlowProblem {
 public:
  FlowProblem(const Topology& topology, double seconds)
      : gpus_(topology.gpus()),
        receivers_(gpus_ + topology.switches()),
        source_(receivers_ + gpus_),
        sink_(source_ + 1),
        graph_(sink_ + 1) {
    for (const TopologyEdge& edge : topology.edges()) {
      const double bytes = edge.count * edge.bytes_per_second * seconds;
      const auto capacity = static_cast<int64_t>(std::ceil(bytes));
      add(edge.a, receiving(edge.b), capacity);
      add(edge.b, receiving(edge.a), capacity);
    }
  }

  void add_supply(uint32_t gpu, uint64_t bytes) { add(source_, gpu, static_cast<int64_t>(bytes)); }
  void add_demand(uint32_t gpu, uint64_t bytes) { add(receivers_ + gpu, sink_, static_cast<int64_t>(bytes)); }

  [[nodiscard]] uint64_t max_flow() {
    return static_cast<uint64_t>(
        boost::push_relabel_max_flow(graph_, source_, sink_,
                                     boost::capacity_map(boost::get(&FlowEdge::capacity, graph_))
                                         .residual_capacity_map(boost::get(&FlowEdge::residual, graph_))
                                         .reverse_edge_map(boost::get(&FlowEdge::reverse, graph_))));
  }

 private:
  [[nodiscard]] uint32_t receiving(uint32_t vertex) const {
    return vertex < gpus_ ? receivers_ + vertex : vertex;
  }

  void add(uint32_t from, uint32_t to, int64_t capacity) {
    const auto forward = boost::add_edge(from, to, FlowEdge{capacity, 0, {}}, graph_).first;
    const auto backward = boost::add_edge(to, from, FlowEdge{}, graph_).first;
    graph_[forward].reverse = backward;
    graph_[backward].reverse = forward;
  }

  uint32_t gpus_, receivers_, source_, sink_;
  FlowGraph graph_;
};

/// Demands of one commodity: what each GPU puts in and takes out.
struct Commodity {
  std::vector<uint64_t> supply, demand;
  uint64_t total = 0;
};

bool fits(const Topology& topology, const Commodity& commodity, double seconds) {
  FlowProblem problem(topology, seconds);
  for (uint32_t gpu = 0; gpu < topology.gpus(); ++gpu) {
    if (commodity.supply[gpu] != 0) problem.add_supply(gpu, commodity.supply[gpu]);
    if (commodity.demand[gpu] != 0) problem.add_demand(gpu, commodity.demand[gpu]);
  }
  return problem.max_flow() == commodity.total;
}

/// Least time from `known_bound` on in which the commodity fits, to a part in a million.
double flow_bound(const Topology& topology, const Commodity& commodity, double known_bound) {
  if (commodity.total == 0 || fits(topology, commodity, known_bound)) return known_bound;
  double low = known_bound, high = known_bound * 2;
  while (!fits(topology, commodity, high)) low = high, high *= 2;
  while (high - low > high * 1e-6) {
    const double middle = (low + high) / 2;
    (fits(topology, commodity, middle) ? high : low) = middle;
  }
  return high;
}

std::vector<Commodity> commodities(const TrafficMatrix& traffic) {
  const uint32_t gpus = traffic.gpus();
  const Commodity none{std::vector<uint64_t>(gpus), std::vector<uint64_t>(gpus), 0};
  // [0]: all traffic as one; then each source alone; then each destination alone.
  std::vector<Commodity> list(1 + 2 * size_t{gpus}, none);
  for (uint32_t from = 0; from < gpus; ++from) {
    for (uint32_t to = 0; to < gpus; ++to) {
      if (from == to) continue;
      const uint64_t bytes = traffic.at(GpuId{from}, GpuId{to});
      for (const size_t index : {size_t{0}, size_t{1} + from, size_t{1} + gpus + to}) {
        list[index].supply[from] += bytes;
        list[index].demand[to] += bytes;
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
  std::vector<double> rate(gpus_);
  for (const TopologyEdge& edge : edges_) {
    if (edge.a < gpus_) rate[edge.a] += edge.count * edge.bytes_per_second;
    if (edge.b < gpus_) rate[edge.b] += edge.count * edge.bytes_per_second;
  }
  const std::vector<Commodity> all = commodities(traffic);
  double seconds = 0;
  for (uint32_t gpu = 0; gpu < gpus_; ++gpu) {
    const uint64_t busiest = std::max(all[0].supply[gpu], all[0].demand[gpu]);
    seconds = std::max(seconds, static_cast<double>(busiest) / rate[gpu]);
  }
  for (const Commodity& commodity : all) seconds = flow_bound(*this, commodity, seconds);
  return {static_cast<int64_t>(std::ceil(seconds * 1e12))};
}

}  // namespace ptxwire::models
