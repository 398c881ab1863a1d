#include "ptx_frontend/lower/dominators.hpp"

#include <algorithm>
#include <utility>

namespace ptxwire::ptx {
namespace {

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

/// All arrays are indexed by the number of a vertex in a depth-first walk; the root is 0.
class SemiNca {
 public:
  SemiNca(const VertexList& successors, uint32_t root) : number_(successors.size(), kNoVertex) {
    walk(successors, root);
    std::vector<VertexList::Record> reversed;
    for (uint32_t v = 0; v < vertex_.size(); ++v)
      for (const uint32_t to : successors.of(vertex_[v])) reversed.emplace_back(number_[to], v);
    predecessors_ = VertexList(static_cast<uint32_t>(vertex_.size()), reversed);
  }

  std::vector<uint32_t> run() {
    const auto count = static_cast<uint32_t>(vertex_.size());
    std::vector<uint32_t> dominator = parent_;
    ancestor_ = parent_;
    semi_.resize(count);
    label_.resize(count);
    for (uint32_t v = 0; v < count; ++v) semi_[v] = label_[v] = v;
    for (uint32_t v = count; v-- > 1;) {
      semi_[v] = parent_[v];
      for (const uint32_t from : predecessors_.of(v))
        semi_[v] = std::min(semi_[v], semi_[lowest_above(from, v + 1)]);
    }
    for (uint32_t v = 1; v < count; ++v)
      while (dominator[v] > semi_[v]) dominator[v] = dominator[dominator[v]];
    std::vector<uint32_t> tree(number_.size(), kNoVertex);
    for (uint32_t v = 1; v < count; ++v) tree[vertex_[v]] = vertex_[dominator[v]];
    return tree;
  }

 private:
  void walk(const VertexList& successors, uint32_t root) {
    std::vector<std::pair<uint32_t, size_t>> path;  // vertex, next successor
    const auto enter = [&](uint32_t vertex, uint32_t parent) {
      number_[vertex] = static_cast<uint32_t>(vertex_.size());
      vertex_.push_back(vertex);
      parent_.push_back(parent);
      path.emplace_back(vertex, 0);
    };
    enter(root, 0);
    while (!path.empty()) {
      auto& [vertex, next] = path.back();
      const auto ahead = successors.of(vertex);
      if (next == ahead.size()) {
        path.pop_back();
      } else if (const uint32_t to = ahead[next++]; number_[to] == kNoVertex) {
        enter(to, number_[vertex]);
      }
    }
  }

  /// Among v and its ancestors numbered `linked` or above, the one with the lowest semi-dominator; shortens
  /// the path.
  uint32_t lowest_above(uint32_t v, uint32_t linked) {
    if (ancestor_[v] < linked) return label_[v];
    path_.clear();
    for (; ancestor_[v] >= linked; v = ancestor_[v]) path_.push_back(v);
    for (uint32_t above = v; !path_.empty(); above = v) {
      v = path_.back();
      path_.pop_back();
      ancestor_[v] = ancestor_[above];
      if (semi_[label_[above]] < semi_[label_[v]]) label_[v] = label_[above];
    }
    return label_[v];
  }

  std::vector<uint32_t> number_;  // per vertex
  std::vector<uint32_t> vertex_, parent_, ancestor_, semi_, label_;
  std::vector<uint32_t> path_;
  VertexList predecessors_;
};

}  // namespace

std::vector<uint32_t> immediate_dominators(const VertexList& successors, uint32_t root) {
  return SemiNca(successors, root).run();
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
