#include "models/fabric/network_bound.hpp"

#include <chrono>

#include "models/fabric/flow_network.hpp"
#include "models/fabric/network_summary.hpp"
#include "tests/models/fabric/network.hpp"

namespace ptxwire::models::test {
namespace {

TrafficMatrix all_to_all(uint32_t gpus, uint64_t bytes) {
  TrafficMatrix traffic(gpus);
  for (uint32_t from = 0; from < gpus; ++from)
    for (uint32_t to = 0; to < gpus; ++to) traffic.at(GpuId{from}, GpuId{to}) = bytes;
  return traffic;
}

TrafficMatrix one(uint32_t gpus, uint32_t from, uint32_t to, uint64_t bytes) {
  TrafficMatrix traffic(gpus);
  traffic.at(GpuId{from}, GpuId{to}) = bytes;
  return traffic;
}

constexpr uint64_t kGigabyte = 1'000'000'000;

}  // namespace

TEST_CASE("network bound: all to all is bound by what a node sends through its NICs", "[analytic]") {
  const NetworkTopology network = shipped_network("h800-4-nodes");
  for (const Relays relays : {Relays::any, Relays::same_rail, Relays::none}) {
    // A node sends 8 x 24 MB over 8 x 50 GB/s.
    const NetworkBound bound = network_bound(network, all_to_all(32, 1'000'000), relays);
    CHECK(bound.possible);
    CHECK(bound.seconds == Approx(480e-6));
    CHECK(bound.whose == "what node0 sends");
    CHECK(bound.bytes == Approx(192e6));
    REQUIRE(bound.cut.size() == 1);
    CHECK(bound.cut[0].kind == "NIC to leaf");
    CHECK(bound.cut[0].links == 8);
    CHECK(bound.cut[0].bytes_per_second == Approx(400e9));
  }
}

TEST_CASE("network bound: relays over NVLink open the other NICs to one GPU", "[analytic]") {
  const NetworkTopology network = shipped_network("h800-2-nodes");
  const TrafficMatrix pair = one(16, 0, 9, kGigabyte);
  // Its own NIC and 200 GB/s of NVLink to the seven others.
  CHECK(network_bound(network, pair, Relays::any).seconds == Approx(1 / 250.0));
  CHECK(network_bound(network, pair, Relays::same_rail).seconds == Approx(1 / 50.0));
  CHECK(network_bound(network, pair, Relays::none).seconds == Approx(1 / 50.0));
  // Within the node, two hops over NICs add to NVLink; without relays they do not.
  CHECK(network_bound(network, one(16, 0, 1, kGigabyte), Relays::none).seconds == Approx(1 / 200.0));
  CHECK(network_bound(network, TrafficMatrix(16), Relays::any).seconds == 0);
}

TEST_CASE("network bound: what is relayed takes its share of NVLink", "[analytic]") {
  const NetworkTopology network = shipped_network("h800-2-nodes");
  // All GPUs of node 0 send to the eight of node 1, and GPU 8 has 15 GB for its neighbour besides: it
  // forwards 7 GB.
  TrafficMatrix traffic(16);
  for (uint32_t from = 0; from < 8; ++from)
    for (uint32_t to = 8; to < 16; ++to) traffic.at(GpuId{from}, GpuId{to}) = kGigabyte / 10;
  traffic.at(GpuId{8}, GpuId{9}) += 15 * kGigabyte;
  const NetworkBound relayed = network_bound(network, traffic, Relays::same_rail);
  CHECK(relayed.seconds == Approx(15.7 / 200));
  CHECK(relayed.whose == "what gpu8 sends");
  CHECK(relayed.cut[0].kind == "GPU to NVSwitch");
  CHECK(network_bound(network, traffic, Relays::none).seconds == Approx(15.0 / 200));
}

TEST_CASE("network bound: planes are joined by relays only", "[analytic]") {
  const NetworkTopology network = shipped_network("h800-2-nodes-multi-plane");
  const TrafficMatrix pair = one(16, 0, 9, kGigabyte);
  CHECK(network_bound(network, pair, Relays::any).seconds == Approx(1 / 250.0));
  CHECK(network_bound(network, pair, Relays::same_rail).seconds == Approx(1 / 50.0));
  const NetworkBound direct = network_bound(network, pair, Relays::none);
  CHECK_FALSE(direct.possible);
}

TEST_CASE("network bound: an oversubscribed leaf binds", "[analytic]") {
  const NetworkTopology network = shipped_network("h800-8-nodes-oversubscribed");
  TrafficMatrix traffic(64);
  for (uint32_t gpu = 0; gpu < 16; ++gpu) traffic.at(GpuId{gpu}, GpuId{gpu + 16}) = kGigabyte;
  const NetworkBound bound = network_bound(network, traffic, Relays::any);
  CHECK(bound.seconds == Approx(16.0 / 400));
  REQUIRE(bound.cut.size() == 1);
  CHECK(bound.cut[0].kind == "leaf to spine");
  CHECK(bound.cut[0].links == 8);
}

TEST_CASE("network bound: slow and failed NICs", "[analytic]") {
  NetworkTopology network = shipped_network("h800-4-nodes");
  REQUIRE(network.slow("node2.nic5", 0.5));
  CHECK(network_bound(network, all_to_all(32, 1'000'000), Relays::any).seconds == Approx(192e6 / 375e9));
  CHECK(network_bound(network, all_to_all(32, 1'000'000), Relays::same_rail).seconds == Approx(24e6 / 25e9));
  REQUIRE(network.fail("node2.nic5"));
  CHECK(network_bound(network, all_to_all(32, 1'000'000), Relays::any).seconds == Approx(192e6 / 350e9));
  CHECK_FALSE(network_bound(network, all_to_all(32, 1'000'000), Relays::same_rail).possible);
}

TEST_CASE("network bound: a single node is bound by its links", "[analytic]") {
  const NetworkTopology network = shipped_network("h800-node");
  CHECK(network_bound(network, all_to_all(8, 1'000'000), Relays::any).seconds == Approx(35e-6));
  CHECK(bisection_bytes_per_second(network) == Approx(800e9));
}

TEST_CASE("network bound: 256 GPUs take seconds", "[timing]") {
  const uint32_t nodes = small() ? 8 : 32;
  const NetworkTopology network = shipped_network("h800-" + std::to_string(nodes) + "-nodes");
  const auto start = std::chrono::steady_clock::now();
  const NetworkBound bound = network_bound(network, all_to_all(network.gpus(), 10'000), Relays::any);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  CHECK(bound.seconds == Approx(8.0 * (network.gpus() - 8) * 10'000 / 400e9));
  CHECK(took.count() < 60);  // half a second of a free core
}

TEST_CASE("flow network: the least time is that of the worst of all cuts", "[analytic]") {
  // Random small networks against trying every set of vertices.
  uint64_t state = 7;
  const auto random = [&](uint32_t below) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<uint32_t>((state >> 33U) % below);
  };
  for (int round = 0; round < 200; ++round) {
    const uint32_t vertices = 4 + random(5);
    FlowNetwork network(vertices);
    for (uint32_t i = 0; i < vertices * 3; ++i) {
      const uint32_t from = random(vertices), to = random(vertices);
      if (from != to) network.add(from, to, 1 + random(20) * 0.5);
    }
    Commodity commodity{std::vector<uint64_t>(vertices), std::vector<uint64_t>(vertices), 0};
    for (int i = 0; i < 3; ++i) {
      const uint32_t from = random(vertices), to = random(vertices), bytes = 1'000'000 + random(1'000'000);
      commodity.supply[from] += bytes;
      commodity.demand[to] += bytes;
      commodity.total += bytes;
    }
    double worst = 0;
    bool possible = true;
    for (uint32_t set = 1; set < 1U << vertices; ++set) {
      double bytes = 0, rate = 0;
      for (uint32_t v = 0; v < vertices; ++v)
        if ((set >> v & 1U) != 0)
          bytes += static_cast<double>(commodity.supply[v]) - static_cast<double>(commodity.demand[v]);
      for (const FlowEdge& edge : network.edges())
        if ((set >> edge.from & 1U) != 0 && (set >> edge.to & 1U) == 0) rate += edge.bytes_per_second;
      if (bytes > 0 && rate == 0) possible = false;
      if (bytes > 0 && rate > 0) worst = std::max(worst, bytes / rate);
    }
    const FlowBound bound = network.least_time(commodity);
    CHECK(bound.possible == possible);
    if (possible) CHECK(bound.seconds == Approx(worst).epsilon(1e-5));
    double rate = 0;
    for (const uint32_t edge : bound.cut) rate += network.edges()[edge].bytes_per_second;
    if (possible && worst > 0) CHECK(bound.cut_bytes / rate == Approx(worst).epsilon(1e-5));
  }
}

TEST_CASE("network summary: rails, planes, oversubscription, bisection and ways", "[analytic]") {
  const NetworkSummary rails = summarize(shipped_network("h800-16-nodes"));
  CHECK(rails.rails == 8);
  CHECK(rails.planes == 1);
  CHECK(rails.oversubscription == Approx(1));
  CHECK(rails.bisection_bytes_per_second == Approx(64 * 50e9));
  CHECK(rails.nvlinks == 16 * 64);
  CHECK(rails.ways[0].count == 16 * 4);  // four links to each of four spines, four links on
  CHECK(rails.ways[1].count == 1);
  const NetworkSummary planes = summarize(shipped_network("h800-16-nodes-multi-plane"));
  CHECK(planes.rails == 8);
  CHECK(planes.planes == 8);
  CHECK(planes.oversubscription == 0);
  CHECK(planes.bisection_bytes_per_second == Approx(64 * 50e9));
  CHECK(planes.ways[0].path.empty());
  CHECK(planes.ways[1].count == 1);
  const NetworkSummary narrow = summarize(shipped_network("h800-8-nodes-oversubscribed"));
  CHECK(narrow.rails == 0);
  CHECK(narrow.oversubscription == Approx(2));
  CHECK(narrow.bisection_bytes_per_second == Approx(16 * 50e9));  // two leaves with eight links up each
  CHECK(summarize(shipped_network("h800-node")).planes == 0);
}

}  // namespace ptxwire::models::test
