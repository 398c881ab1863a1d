#include "models/fabric/flow_network.hpp"

#include <algorithm>
#include <cmath>

// Boost.Graph's flow headers set off this warning of GCC at -O2 and above even as system headers.
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>

namespace ptxwire::models {
namespace {

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
struct Arc {
  int64_t capacity = 0, residual = 0;
  Traits::edge_descriptor reverse;
};
using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, Arc>;

/// A network with one source and one sink, in integers of bytes.
class FlowProblem {
 public:
  explicit FlowProblem(uint32_t vertices) : source_(vertices), sink_(vertices + 1), graph_(vertices + 2) {}

  void add(uint32_t from, uint32_t to, int64_t capacity) {
    const auto forward = boost::add_edge(from, to, Arc{capacity, 0, {}}, graph_).first;
    const auto backward = boost::add_edge(to, from, Arc{}, graph_).first;
    graph_[forward].reverse = backward;
    graph_[backward].reverse = forward;
  }
  void add_supply(uint32_t vertex, int64_t bytes) { add(source_, vertex, bytes); }
  void add_demand(uint32_t vertex, int64_t bytes) { add(vertex, sink_, bytes); }

  [[nodiscard]] int64_t max_flow() {
    return boost::push_relabel_max_flow(graph_, source_, sink_,
                                        boost::capacity_map(boost::get(&Arc::capacity, graph_))
                                            .residual_capacity_map(boost::get(&Arc::residual, graph_))
                                            .reverse_edge_map(boost::get(&Arc::reverse, graph_)));
  }

  /// After max_flow(): the source's side of a minimum cut.
  [[nodiscard]] std::vector<bool> source_side() const {
    std::vector<bool> side(boost::num_vertices(graph_));
    std::vector<uint32_t> reached{source_};
    side[source_] = true;
    for (size_t i = 0; i < reached.size(); ++i) {
      for (const auto arc : boost::make_iterator_range(boost::out_edges(reached[i], graph_))) {
        const auto target = static_cast<uint32_t>(boost::target(arc, graph_));
        if (graph_[arc].residual == 0 || side[target]) continue;
        side[target] = true;
        reached.push_back(target);
      }
    }
    return side;
  }

 private:
  uint32_t source_, sink_;
  Graph graph_;
};

}  // namespace

FlowBound FlowNetwork::least_time(const Commodity& commodity, const FlowBound& floor) const {
  FlowBound bound = floor;
  for (;;) {
    FlowProblem problem(vertices_);
    for (const FlowEdge& edge : edges_) {
      // No edge needs more than all there is, which also keeps the sums of the algorithm from overflowing.
      const double bytes = std::ceil(edge.bytes_per_second * bound.seconds);
      problem.add(edge.from, edge.to,
                  static_cast<int64_t>(std::min(bytes, static_cast<double>(commodity.total))));
    }
    for (uint32_t vertex = 0; vertex < vertices_; ++vertex) {
      if (commodity.supply[vertex] != 0)
        problem.add_supply(vertex, static_cast<int64_t>(commodity.supply[vertex]));
      if (commodity.demand[vertex] != 0)
        problem.add_demand(vertex, static_cast<int64_t>(commodity.demand[vertex]));
    }
    if (static_cast<uint64_t>(problem.max_flow()) == commodity.total) return bound;
    // What starts on the source's side and does not end there must cross.
    const std::vector<bool> side = problem.source_side();
    double bytes = 0, rate = 0;
    for (uint32_t vertex = 0; vertex < vertices_; ++vertex)
      if (side[vertex])
        bytes +=
            static_cast<double>(commodity.supply[vertex]) - static_cast<double>(commodity.demand[vertex]);
    std::vector<uint32_t> cut;
    for (uint32_t i = 0; i < edges_.size(); ++i) {
      if (!side[edges_[i].from] || side[edges_[i].to]) continue;
      cut.push_back(i);
      rate += edges_[i].bytes_per_second;
    }
    if (cut.empty()) {
      bound.possible = false;
      return bound;
    }
    // Capacities are rounded up to whole bytes, so the last step may be too small to count.
    if (bytes / rate <= bound.seconds * (1 + 1e-12)) return bound;
    bound = {bytes / rate, std::move(cut), bytes, true};
  }
}

double FlowNetwork::rate_between(const std::vector<uint32_t>& from, const std::vector<uint32_t>& to) const {
  FlowProblem problem(vertices_);
  // In bytes per second, or coarser where their sum would not fit.
  constexpr double kMostInAll = 1e18;
  double total = 0;
  for (const FlowEdge& edge : edges_) total += edge.bytes_per_second;
  const double unit = std::max(1.0, total / kMostInAll);
  // What leaves a source and reaches a sink is limited by their own edges alone.
  std::vector<int64_t> out(vertices_), in(vertices_);
  for (const FlowEdge& edge : edges_) {
    const auto rate = static_cast<int64_t>(edge.bytes_per_second / unit);
    problem.add(edge.from, edge.to, rate);
    out[edge.from] += rate;
    in[edge.to] += rate;
  }
  for (const uint32_t vertex : from) problem.add_supply(vertex, out[vertex]);
  for (const uint32_t vertex : to) problem.add_demand(vertex, in[vertex]);
  return static_cast<double>(problem.max_flow()) * unit;
}

}  // namespace ptxwire::models
