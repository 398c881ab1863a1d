// Dominators against their definition: d dominates v if every path from the root to v passes through d.
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/dominator_tree.hpp>
#include <catch2/catch.hpp>
#include <set>

#include "ptx_frontend/lower/dominators.hpp"
#include "tests/ptx_frontend/lower/virtual_programs.hpp"

namespace ptxwire::ptx {
namespace {

/// Vertices reachable from `start` along `edges` without entering `removed`.
std::vector<bool> reachable(const VertexList& edges, uint32_t start, uint32_t removed) {
  std::vector<bool> seen(edges.size(), false);
  if (start == removed) return seen;
  std::vector<uint32_t> work = {start};
  seen[start] = true;
  while (!work.empty()) {
    const uint32_t v = work.back();
    work.pop_back();
    for (const uint32_t to : edges.of(v)) {
      if (to == removed || seen[to]) continue;
      seen[to] = true;
      work.push_back(to);
    }
  }
  return seen;
}

/// Proper dominators of every vertex by removing one vertex at a time.
std::vector<std::set<uint32_t>> dominators_by_definition(const VertexList& edges, uint32_t root) {
  std::vector<std::set<uint32_t>> result(edges.size());
  const std::vector<bool> all = reachable(edges, root, kNoVertex);
  for (uint32_t d = 0; d < edges.size(); ++d) {
    const std::vector<bool> without = reachable(edges, root, d);
    for (uint32_t v = 0; v < edges.size(); ++v)
      if (v != d && all[d] && all[v] && !without[v]) result[v].insert(d);
  }
  return result;
}

VertexList graph_of(uint32_t vertices, const std::vector<VertexList::Record>& edges) {
  return {vertices, edges};
}

}  // namespace

TEST_CASE("dominators: a diamond inside a loop", "[contract]") {
  // 0 -> 1 -> {2, 3} -> 4 -> {1, 5}
  const VertexList edges = graph_of(6, {{0, 1}, {1, 2}, {1, 3}, {2, 4}, {3, 4}, {4, 1}, {4, 5}});
  CHECK(immediate_dominators(edges, 0) == std::vector<uint32_t>{kNoVertex, 0, 1, 1, 1, 4});
}

TEST_CASE("dominators: unreachable vertices have none", "[contract]") {
  const VertexList edges = graph_of(4, {{0, 1}, {2, 1}, {2, 3}});
  const std::vector<uint32_t> tree = immediate_dominators(edges, 0);
  CHECK(tree == std::vector<uint32_t>{kNoVertex, 0, kNoVertex, kNoVertex});
  const DominatorOrder order(tree, 0);
  CHECK(order.is_reachable(0));
  CHECK_FALSE(order.is_reachable(3));
  CHECK_FALSE(order.dominates(2, 3));
}

TEST_CASE("dominators: random graphs agree with the definition", "[contract]") {
  std::mt19937 random(20240601);
  for (int round = 0; round < 300; ++round) {
    const uint32_t vertices = 2 + random() % 14;
    std::vector<VertexList::Record> records;
    for (uint32_t e = 0, count = random() % (3 * vertices); e < count; ++e)
      records.emplace_back(random() % vertices, static_cast<uint32_t>(random() % vertices));
    const VertexList edges(vertices, records);
    const auto expected = dominators_by_definition(edges, 0);
    const std::vector<uint32_t> tree = immediate_dominators(edges, 0);
    const DominatorOrder order(tree, 0);
    CAPTURE(round);
    for (uint32_t v = 0; v < vertices; ++v) {
      std::set<uint32_t> above;
      for (uint32_t d = tree[v]; d != kNoVertex; d = tree[d]) above.insert(d);
      REQUIRE(above == expected[v]);
      for (uint32_t d = 0; d < vertices; ++d)
        if (d != v) REQUIRE(order.dominates(d, v) == (expected[v].count(d) != 0));
    }
  }
}

TEST_CASE("dominators: larger random graphs agree with Boost.Graph", "[contract]") {
  using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS>;
  std::mt19937 random(99);
  for (int round = 0; round < 40; ++round) {
    const uint32_t vertices = 50 + random() % 1000;
    std::vector<VertexList::Record> records;
    // A path reaches every vertex: Boost 1.74 mistakes unreachable predecessors for the root.
    for (uint32_t v = 1; v < vertices; ++v) records.emplace_back(v - 1 - random() % std::min(v, 3U), v);
    for (uint32_t e = 0; e < vertices / 2; ++e)
      records.emplace_back(random() % vertices, static_cast<uint32_t>(random() % vertices));
    const Graph graph(records.begin(), records.end(), vertices);
    std::vector<size_t> expected(vertices, Graph::null_vertex());
    boost::lengauer_tarjan_dominator_tree(
        graph, 0,
        boost::make_iterator_property_map(expected.begin(), boost::get(boost::vertex_index, graph)));
    const std::vector<uint32_t> tree = immediate_dominators(VertexList(vertices, records), 0);
    CAPTURE(round);
    for (uint32_t v = 1; v < vertices; ++v) REQUIRE(tree[v] == expected[v]);
    CHECK(tree[0] == kNoVertex);
  }
}

TEST_CASE("post-dominators: random functions agree with the definition", "[contract]") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const VirtualCode code = test::random_code(random, 5 + random() % 40, 6, false);
    const ControlFlowGraph graph = build_control_flow(code);
    // Only functions from whose every block the exit can be reached: the definition says nothing about
    // others.
    const std::vector<bool> reaches = reachable(graph.predecessors, graph.exit(), kNoVertex);
    if (std::find(reaches.begin(), reaches.end(), false) != reaches.end()) continue;
    const auto expected = dominators_by_definition(graph.predecessors, graph.exit());
    const std::vector<uint32_t> tree = immediate_post_dominators(graph);
    CAPTURE(round);
    for (uint32_t v = 0; v < graph.exit(); ++v) {
      std::set<uint32_t> below;
      for (uint32_t d = tree[v]; d != kNoVertex; d = tree[d]) below.insert(d);
      REQUIRE(below == expected[v]);
    }
  }
}

TEST_CASE("post-dominators: a loop that is never left still joins its branches", "[contract]") {
  VirtualCode code;
  const VirtualRegister p = code.new_register(RegisterClass::predicate);
  test::add_branch(code, 2, p);     // 0: B0, to B2 or B1
  test::add_op(code, Opcode::add);  // 1: B1
  test::add_op(code, Opcode::add);  // 2: B2
  test::add_branch(code, 0);        // 3: B2, back
  const ControlFlowGraph graph = build_control_flow(code);
  REQUIRE(graph.blocks.size() == 3);
  CHECK(immediate_post_dominators(graph)[0] == 2);
}

TEST_CASE("post-dominators: a trapping side path does not move the join to the end", "[contract]") {
  VirtualCode code;
  const VirtualRegister p = code.new_register(RegisterClass::predicate);
  test::add_branch(code, 2, p);      // 0: B0
  test::add_op(code, Opcode::trap);  // 1: B1
  test::add_op(code, Opcode::add);   // 2: B2
  test::add_op(code, Opcode::ret);   // 3: B2
  const ControlFlowGraph graph = build_control_flow(code);
  REQUIRE(graph.blocks.size() == 3);
  CHECK(graph.successors.of(1).empty());
  CHECK(immediate_post_dominators(graph)[0] == 2);
}

}  // namespace ptxwire::ptx
