#include "models/fabric/network_routes.hpp"

#include <algorithm>
#include <limits>
#include <utility>

// As in topology.cpp: a warning of GCC inside Boost.Graph at -O2 and above.
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/depth_first_search.hpp>

namespace ptxwire::models {
namespace {

using SwitchGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS>;
constexpr uint32_t kFar = std::numeric_limits<uint32_t>::max();

/// Hops from `start` to each switch.
std::vector<uint32_t> distances(const SwitchGraph& switches, uint32_t start) {
  std::vector<uint32_t> hops(boost::num_vertices(switches), kFar);
  hops[start] = 0;
  const auto recorder = boost::record_distances(hops.data(), boost::on_tree_edge());
  boost::breadth_first_search(switches, start, boost::visitor(boost::make_bfs_visitor(recorder)));
  return hops;
}

/// Cables of each vertex that are up, ascending.
std::vector<std::vector<uint32_t>> links_of_vertices(std::span<const NetworkLink> links, uint32_t vertices) {
  std::vector<std::vector<uint32_t>> result(vertices);
  for (uint32_t i = 0; i < links.size(); ++i) {
    if (!links[i].up) continue;
    result[links[i].a].push_back(i);
    result[links[i].b].push_back(i);
  }
  return result;
}

using WaitGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;

/// Notes the edge that closes a circle and the way of the search up to it.
class CircleFinder : public boost::default_dfs_visitor {
 public:
  CircleFinder(std::vector<uint32_t>& parents, std::optional<std::pair<uint32_t, uint32_t>>& closing)
      : parents_(parents), closing_(closing) {}
  template <typename Edge, typename Graph>
  void tree_edge(Edge edge, const Graph& graph) {
    parents_[boost::target(edge, graph)] = static_cast<uint32_t>(boost::source(edge, graph));
  }
  template <typename Edge, typename Graph>
  void back_edge(Edge edge, const Graph& graph) {
    if (!closing_) closing_ = {boost::source(edge, graph), boost::target(edge, graph)};
  }

 private:
  std::vector<uint32_t>& parents_;
  std::optional<std::pair<uint32_t, uint32_t>>& closing_;
};

}  // namespace

NetworkRoutes::NetworkRoutes(std::span<const NetworkLink> links, uint32_t nics, uint32_t vertices)
    : nics_(nics), vertices_(vertices) {
  const auto at_vertex = links_of_vertices(links, vertices);
  // NICs are left out of the graph that is searched, so that no way leads through one.
  SwitchGraph switches(vertices - nics);
  for (const NetworkLink& link : links)
    if (link.up && link.a >= nics && link.b >= nics) boost::add_edge(link.a - nics, link.b - nics, switches);
  first_.reserve(size_t{nics} * vertices + 1);
  first_.push_back(0);
  for (uint32_t to = 0; to < nics; ++to) {
    // A NIC has one cable; its switch is where the search starts.
    const uint32_t home = at_vertex[to].empty() ? kFar : links[at_vertex[to].front()].other_end(to);
    const std::vector<uint32_t> hops =
        home == kFar ? std::vector<uint32_t>(vertices - nics, kFar) : distances(switches, home - nics);
    for (uint32_t vertex = 0; vertex < vertices; ++vertex) {
      for (const uint32_t link : at_vertex[vertex]) {
        if (vertex == to) continue;
        const uint32_t other = links[link].other_end(vertex);
        const bool into_it = other == to && vertex == home;
        // From a NIC to its switch, or from a switch to one that is a hop nearer.
        const bool nearer = other >= nics && hops[other - nics] != kFar &&
                            (vertex < nics || hops[other - nics] < hops[vertex - nics]);
        if (into_it || nearer) ways_.push_back(link);
      }
      first_.push_back(static_cast<uint32_t>(ways_.size()));
    }
  }
}

std::vector<uint32_t> NetworkRoutes::passed(std::span<const NetworkLink> links, NicId to) const {
  std::vector<bool> seen(vertices_);
  std::vector<uint32_t> found;
  const auto follow = [&](uint32_t vertex) {
    for (const uint32_t link : ways(vertex, to)) {
      const uint32_t next = links[link].other_end(vertex);
      if (next < nics_ || seen[next]) continue;
      seen[next] = true;
      found.push_back(next);
    }
  };
  for (uint32_t from = 0; from < nics_; ++from) follow(from);
  for (size_t i = 0; i < found.size(); ++i) follow(found[i]);
  return found;
}

std::optional<std::vector<uint32_t>> NetworkRoutes::circle(std::span<const NetworkLink> links) const {
  // Vertex 2 l is cable l from a to b, 2 l + 1 from b to a. The cables of NICs end every way and are left
  // out.
  const auto directed = [&](uint32_t link, uint32_t from) {
    return 2 * link + (links[link].a == from ? 0 : 1);
  };
  std::vector<std::pair<uint32_t, uint32_t>> waits;
  for (uint32_t to = 0; to < nics_; ++to) {
    for (const uint32_t vertex : passed(links, NicId{to})) {
      for (const uint32_t in : ways(vertex, NicId{to})) {
        const uint32_t next = links[in].other_end(vertex);
        if (next < nics_) continue;
        for (const uint32_t out : ways(next, NicId{to}))
          if (links[out].other_end(next) >= nics_)
            waits.emplace_back(directed(in, vertex), directed(out, next));
      }
    }
  }
  std::sort(waits.begin(), waits.end());
  waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
  WaitGraph graph(2 * links.size());
  for (const auto& [in, out] : waits) boost::add_edge(in, out, graph);
  std::vector<uint32_t> parents(2 * links.size(), kFar);
  std::optional<std::pair<uint32_t, uint32_t>> closing;
  boost::depth_first_search(graph, boost::visitor(CircleFinder(parents, closing)));
  if (!closing) return std::nullopt;
  std::vector<uint32_t> switches;
  for (uint32_t place = closing->first;; place = parents[place]) {
    const NetworkLink& link = links[place / 2];
    switches.push_back(place % 2 == 0 ? link.a : link.b);
    if (place == closing->second) break;
  }
  std::reverse(switches.begin(), switches.end());
  return switches;
}

}  // namespace ptxwire::models
