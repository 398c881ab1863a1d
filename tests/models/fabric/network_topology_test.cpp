#include "models/fabric/network_topology.hpp"

#include <set>

#include "tests/models/fabric/network.hpp"

namespace ptxwire::models::test {
namespace {

std::vector<std::string> names(const NetworkTopology& network, const std::vector<uint32_t>& vertices) {
  std::vector<std::string> result;
  for (const uint32_t vertex : vertices) result.push_back(network.vertex_name(vertex));
  return result;
}

}  // namespace

TEST_CASE("network: shipped multi-rail networks", "[contract]") {
  const uint32_t nodes = GENERATE(2, 4, 8, 16, 32);
  const NetworkTopology network = shipped_network("h800-" + std::to_string(nodes) + "-nodes");
  CHECK(network.nodes() == nodes);
  CHECK(network.gpus() == nodes * 8);
  CHECK(network.nics() == network.gpus());
  CHECK(network.node().switches() == 4);
  const uint32_t last = network.nics() - 1;
  // A rail is a leaf; other rails are two hops further.
  for (uint32_t rail = 0; rail < 8; ++rail) {
    const auto path = network.route(NicId{rail}, NicId{last - 7 + rail});
    REQUIRE(path);
    CHECK(names(network, *path) ==
          std::vector<std::string>{"node0.nic" + std::to_string(rail), "leaf" + std::to_string(rail),
                                   "node" + std::to_string(nodes - 1) + ".nic" + std::to_string(rail)});
  }
  CHECK(names(network, *network.route(NicId{0}, NicId{last})) ==
        std::vector<std::string>{"node0.nic0", "leaf0", "spine0", "leaf7",
                                 "node" + std::to_string(nodes - 1) + ".nic7"});
  // As many links up as down.
  uint32_t up = 0;
  for (const NetworkLink& link : network.links())
    up += network.is_switch(link.a) && network.is_switch(link.b);
  CHECK(up == network.nics());
  CHECK(network.links().front().bytes_per_second == 50e9);
  CHECK(network.routes().ways(network.nics(), NicId{last}).size() == nodes);
}

TEST_CASE("network: shipped multi-plane networks join no rails", "[contract]") {
  const uint32_t nodes = GENERATE(2, 4, 8, 16, 32);
  const NetworkTopology network = shipped_network("h800-" + std::to_string(nodes) + "-nodes-multi-plane");
  for (uint32_t to = 0; to < network.nics(); ++to)
    CHECK(network.routes().reachable(NicId{3}, NicId{to}) == (to % 8 == 3));
  const auto path = network.route(NicId{0}, NicId{9});
  REQUIRE_FALSE(path);
  CHECK_THAT(path.error().message, Catch::Contains("no way from node0.nic0 to node1.nic1"));
}

TEST_CASE("network: a file of one node is a network without NICs", "[contract]") {
  const NetworkTopology network = shipped_network("h800-node");
  CHECK(network.nodes() == 1);
  CHECK(network.gpus() == 8);
  CHECK(network.nics() == 0);
  CHECK(network.links().empty());
}

TEST_CASE("network: ways lead round what has failed", "[contract]") {
  NetworkTopology network = shipped_network("h800-4-nodes");
  const NicId from{0}, to{9};  // node1.nic1, on leaf1
  REQUIRE(network.fail("spine0"));
  CHECK(names(network, *network.route(from, to))[2] == "spine1");
  REQUIRE(network.fail("leaf0-spine1"));
  CHECK(names(network, *network.route(from, to))[2] == "spine2");
  REQUIRE(network.fail("spine2-leaf1.0"));
  CHECK(names(network, *network.route(from, to))[2] == "spine3");
  // From leaf 0 spines 2 and 3 would be left, from leaf 1 only spine 1. Packets between them would have to go
  // up again at a third leaf, and those could wait for each other.
  const auto refused = network.fail("leaf1-spine3");
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().message, Catch::Contains("without leaf1-spine3") && Catch::Contains("circle") &&
                                          Catch::Contains(" -> spine"));
  CHECK(names(network, *network.route(from, to))[2] == "spine3");
  CHECK(network.faults() ==
        std::vector<std::string>{"spine0 down", "leaf0-spine1 down", "spine2-leaf1.0 down"});
  REQUIRE(network.fail("leaf1"));
  const auto none = network.route(from, to);
  REQUIRE_FALSE(none);
  CHECK_THAT(none.error().message,
             Catch::Contains("node0.nic0") && Catch::Contains("node1.nic1") && Catch::Contains("leaf1 down"));
}

TEST_CASE("network: names of what may fail or be slow", "[contract]") {
  struct Case {
    std::string name;
    size_t links;
  };
  const Case c = GENERATE(Case{"nic9", 1}, Case{"node1.nic1", 1}, Case{"rail2", 4}, Case{"leaf3", 8},
                          Case{"spine3", 8}, Case{"leaf0-spine3", 1}, Case{"spine3-leaf0", 1},
                          Case{"leaf1-node1.nic1", 1}, Case{"nic9-leaf1.0", 1}, Case{"leaf7-spine2.0", 1});
  NetworkTopology network = shipped_network("h800-4-nodes");
  REQUIRE(network.slow(c.name, 0.25));
  size_t slow = 0;
  for (const NetworkLink& link : network.links()) slow += link.bytes_per_second == 12.5e9;
  CHECK(slow == c.links);
  CHECK(network.faults() == std::vector<std::string>{c.name + " at 25 %"});
}

TEST_CASE("network: wrong names of faults", "[contract]") {
  NetworkTopology network = shipped_network("h800-2-nodes");
  for (const std::string name : {"nic16", "node2.nic0", "rail8", "leaf8", "leaf0-leaf1", "leaf0-spine1.1",
                                 "leaf", "", "-", "leaf0-", "gpu0", "leaf0-spine1.x"}) {
    INFO(name);
    CHECK_FALSE(network.fail(name));
    CHECK_FALSE(network.slow(name, 0.5));
  }
  CHECK_THAT(network.fail("leef0").error().hint, Catch::Contains("leaf0"));
  for (const double factor : {0.0, -1.0, 1.5}) CHECK_FALSE(network.slow("nic0", factor));
  CHECK(network.faults().empty());
}

TEST_CASE("network: parallel links are ways of their own", "[contract]") {
  const NetworkTopology network = shipped_network("h800-32-nodes");
  const auto ways = network.routes().ways(256, NicId{255});  // leaf0, eight links to each of four spines
  CHECK(ways.size() == 32);
  std::set<uint32_t> numbers;
  for (const uint32_t link : ways) numbers.insert(network.links()[link].number);
  CHECK(numbers.size() == 8);
}

TEST_CASE("network: ways that can lock are refused", "[contract]") {
  // A ring of switches: ways of two hops in one direction all round wait for each other. Three have none.
  const auto ring = [](uint32_t size) {
    std::string text = single_nics(size, "leaf = " + std::to_string(size));
    for (uint32_t i = 0; i < size; ++i) {
      const std::string leaf = "leaf" + std::to_string(i);
      text += cable("node" + std::to_string(i) + ".nic0", leaf) +
              cable(leaf, "leaf" + std::to_string((i + 1) % size));
    }
    return network_from_text(text);
  };
  CHECK(ring(3));
  for (const uint32_t size : {4U, 5U, 8U}) {
    const auto network = ring(size);
    REQUIRE_FALSE(network);
    CHECK_THAT(network.error().message, Catch::Contains("wait for each other in a circle: leaf"));
  }
}

TEST_CASE("network: errors name the line", "[contract]") {
  const std::string head = single_nics(2, "leaf = 1\nspine = 1");  // lines 1 to 7
  const std::string good = cable("node[0-1].nic0", "leaf0");       // lines 8 to 12
  const std::string up = cable("leaf0", "spine0");
  struct Case {
    std::string text;
    uint32_t line;
    std::string message;
  };
  const std::vector<Case> cases{
      {head + cable("node[0-2].nic0", "leaf0"), 9, "the file has 2 nodes"},
      {head + cable("node0.nic1", "leaf0"), 9, "the file has 1 NICs in a node"},
      {head + cable("node0.nic0", "leaf1"), 10, "the file has 1 switches"},
      {head + cable("node0.nic0", "core0"), 10, "the file has 0 switches"},
      {head + cable("node0", "leaf0"), 9, "expected vertices such as"},
      {head + cable("node0.nic", "leaf0"), 9, "expected vertices such as"},
      {head + cable("gpu0", "leaf0"), 9, "expected vertices such as"},
      {head + cable("leaf[1-0]", "leaf0"), 9, "expected vertices such as"},
      {head + cable("node0.nic0", "leaf0", 0), 11, "whole number from 1"},
      {head + cable("node0.nic0", "leaf0", 1, "400 Gbit/s"), 12, "wrong unit 'Gbit/s'"},
      {head + cable("node0.nic0", "leaf0", 1, "-1 Gb/s"), 12, "above zero"},
      {head + cable("leaf0", "leaf0"), 8, "leaf0 with itself"},
      {head + cable("node0.nic0", "node1.nic0"), 8, "not to another NIC"},
      {head + cable("node0.nic0", "leaf0") + up, 1, "node1.nic0 has no link"},
      {head + good, 1, "spine0 has no link"},
      {head + cable("node[0-1].nic0", "leaf0", 2) + up, 1, "node0.nic0 has 2 links, expected one"},
      {head + cable("node0.nic0", "leaf0") + cable("node1.nic0", "spine0"), 1, "no way from node0 to node1"},
      {head + good + up + "length = 3\n", 18, "unknown key 'length'"},
      {head, 1, "at least one [[link]]"},
      {single_nics(2, "leaf = 1\nleave = 2") + good, 7, "unknown key 'leave'"},
      {single_nics(2, "leaf = 1") + cable("node[0-1].nic0", "leaf0", 1024) + cable("leaf0", "leaf0"), 12,
       "leaf0 with itself"},
      {"[nodes]\ncount = 2\ntopology = \"no-such.toml\"\npcie = \"63 GB/s\"\n", 3, "no file"},
      {"[nodes]\ncount = 2\n", 1, "missing key 'topology'"},
      {"[nodes]\ncount = 0\n", 2, "whole number from 1"},
      {"[switches]\nleaf = 1\n", 1, "expected a table [nodes]"},
  };
  for (const Case& c : cases) {
    const auto network = network_from_text(c.text);
    INFO(c.text);
    REQUIRE_FALSE(network);
    INFO(network.error().to_string());
    CHECK(network.error().line == c.line);
    CHECK_THAT(network.error().message, Catch::Contains(c.message));
  }
  CHECK(network_from_text(head + good + up));
}

}  // namespace ptxwire::models::test
