#include "ptx_frontend/lower/dominators.hpp"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/dominator_tree.hpp>

namespace ptxwire::ptx {
namespace {

using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS>;

/// Marks everything that `edges` lead to from `start`, itself included.
void mark_reachable(const VertexList& edges, uint32_t start, std::vector<bool>& marked) {
  std::vector<uint32_t> work = {start};
  marked[start] = true;
  while (!work.empty()) {
    const uint32_t vertex = work.back();
    work.pop_back();
    for (const uint32_t to : edges.of(vertex)) {
      if (marked[to]) continue;
      marked[to] = true;
      work.push_back(to);
    }
  }
}

VertexList with_edges(const VertexList& list, const std::vector<VertexList::Record>& extra) {
  std::vector<VertexList::Record> records;
  records.reserve(list.item_count() + extra.size());
  for (uint32_t vertex = 0; vertex < list.size(); ++vertex)
    for (const uint32_t neighbour : list.of(vertex)) records.emplace_back(vertex, neighbour);
  records.insert(records.end(), extra.begin(), extra.end());
  return {list.size(), records};
}

}  // namespace

std::vector<uint32_t> immediate_dominators(const VertexList& successors, uint32_t root) {
  // Boost 1.74 takes an unreachable predecessor for the root, so edges from such vertices are left out.
  std::vector<bool> reachable(successors.size(), false);
  mark_reachable(successors, root, reachable);
  std::vector<std::pair<uint32_t, uint32_t>> edges;
  edges.reserve(successors.item_count());
  for (uint32_t vertex = 0; vertex < successors.size(); ++vertex)
    for (const uint32_t to : successors.of(vertex))
      if (reachable[vertex]) edges.emplace_back(vertex, to);
  const Graph graph(edges.begin(), edges.end(), successors.size());
  std::vector<size_t> parents(successors.size(), Graph::null_vertex());
  boost::lengauer_tarjan_dominator_tree(
      graph, root,
      boost::make_iterator_property_map(parents.begin(), boost::get(boost::vertex_index, graph)));
  std::vector<uint32_t> tree(successors.size(), kNoVertex);
  for (uint32_t vertex = 0; vertex < tree.size(); ++vertex)
    if (parents[vertex] != Graph::null_vertex()) tree[vertex] = static_cast<uint32_t>(parents[vertex]);
  return tree;
}

std::vector<uint32_t> immediate_post_dominators(const ControlFlowGraph& graph) {
  std::vector<VertexList::Record> virtual_edges;  // reversed: (to, from)
  for (const uint32_t block : graph.stopping_blocks)
    virtual_edges.emplace_back(block + 1, block);  // the exit vertex follows the last block
  VertexList reversed = with_edges(graph.predecessors, virtual_edges);

  std::vector<bool> reaches_exit(graph.vertex_count(), false);
  mark_reachable(reversed, graph.exit(), reaches_exit);
  std::vector<VertexList::Record> loop_edges;
  for (uint32_t block = graph.exit(); block-- > 0;) {
    if (reaches_exit[block]) continue;
    loop_edges.emplace_back(graph.exit(), block);
    mark_reachable(reversed, block, reaches_exit);
  }
  if (!loop_edges.empty()) reversed = with_edges(reversed, loop_edges);
  return immediate_dominators(reversed, graph.exit());
}

DominatorOrder::DominatorOrder(const std::vector<uint32_t>& tree, uint32_t root)
    : enter_(tree.size(), 0), leave_(tree.size(), 0) {
  std::vector<VertexList::Record> edges;
  for (uint32_t vertex = 0; vertex < tree.size(); ++vertex)
    if (tree[vertex] != kNoVertex) edges.emplace_back(tree[vertex], vertex);
  const VertexList children(static_cast<uint32_t>(tree.size()), edges);
  std::vector<std::pair<uint32_t, size_t>> path = {{root, 0}};  // vertex, next child
  uint32_t time = 0;
  enter_[root] = ++time;
  while (!path.empty()) {
    auto& [vertex, next] = path.back();
    const auto below = children.of(vertex);
    if (next == below.size()) {
      leave_[vertex] = ++time;
      path.pop_back();
      continue;
    }
    const uint32_t child = below[next++];
    enter_[child] = ++time;
    path.emplace_back(child, 0);
  }
}

}  // namespace ptxwire::ptx
