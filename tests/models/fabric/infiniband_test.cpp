// Packets through the InfiniBand fabric against closed forms.
#include <algorithm>
#include <map>

#include "tests/models/fabric/network.hpp"

namespace ptxwire::models::test {
namespace {

/// Two leaves of `nics` NICs each, joined over `spines` spines by `count` links each.
NetworkTopology two_leaves(uint32_t nics, uint32_t spines, int count = 1) {
  const std::string last = std::to_string(nics - 1), end = std::to_string(2 * nics - 1);
  return must(network_from_text(single_nics(2 * nics, "leaf = 2\nspine = " + std::to_string(spines)) +
                                cable("node[0-" + last + "].nic0", "leaf0") +
                                cable("node[" + std::to_string(nics) + "-" + end + "].nic0", "leaf1") +
                                cable("leaf[0-1]", "spine[0-" + std::to_string(spines - 1) + "]", count)));
}

/// Packets of each sender among the first `count` at a NIC.
std::map<uint32_t, uint32_t> shares(const TestNic& nic, size_t count) {
  std::map<uint32_t, uint32_t> result;
  for (size_t i = 0; i < count; ++i) ++result[nic.arrivals[i]->from.value];
  return result;
}

bool in_order(const TestNic& nic) {
  return std::is_sorted(nic.arrivals.begin(), nic.arrivals.end(),
                        [](const Packet* a, const Packet* b) { return a->number < b->number; });
}

}  // namespace

TEST_CASE("infiniband: a lone packet takes its bytes once, each hop and each switch", "[analytic]") {
  Traffic near(one_leaf(2)), far(two_leaves(1, 1));
  near.send(0, 1, 1, {.wire_bytes = kWire});
  far.send(0, 1, 1, {.wire_bytes = kWire});
  near.run();
  far.run();
  CHECK(near.packets[0]->departed == kSlot);
  CHECK(near.packets[0]->arrived == kSlot + near.hop() * 2 + near.in_switch());
  CHECK(far.packets[0]->arrived == kSlot + far.hop() * 4 + far.in_switch() * 3);
  CHECK(near.fabric().idle());
}

TEST_CASE("infiniband: three levels of switches", "[analytic]") {
  Traffic traffic(
      must(network_from_text(single_nics(4, "leaf = 4\nspine = 4\ncore = 2") + cable("node0.nic0", "leaf0") +
                             cable("node1.nic0", "leaf1") + cable("node2.nic0", "leaf2") +
                             cable("node3.nic0", "leaf3") + cable("leaf[0-1]", "spine[0-1]") +
                             cable("leaf[2-3]", "spine[2-3]") + cable("spine[0-3]", "core[0-1]"))));
  for (const uint32_t to : {1U, 2U, 3U}) traffic.send(0, to, 1, {.wire_bytes = kWire}, microseconds(10 * to));
  traffic.run();
  const auto latency = [&](int64_t switches) {
    return kSlot + traffic.hop() * (switches + 1) + traffic.in_switch() * switches;
  };
  CHECK(traffic.packets[0]->arrived == microseconds(10) + latency(3));
  CHECK(traffic.packets[1]->arrived == microseconds(20) + latency(5));
  CHECK(traffic.packets[2]->arrived == microseconds(30) + latency(5));
}

TEST_CASE("infiniband: what a NIC sends to itself comes back through its switch", "[contract]") {
  Traffic traffic(one_leaf(2));
  traffic.send(0, 0, 3, {.wire_bytes = kWire});
  traffic.run();
  CHECK(traffic.last_arrival() == kSlot * 3 + traffic.hop() * 2 + traffic.in_switch());
  CHECK(traffic.fabric().idle());
}

TEST_CASE("infiniband: two switches more are what a ping through a spine takes longer", "[timing]") {
  // 2.8 us below one leaf, 3.7 us through a spine, measured between hosts.
  const InfinibandParameters p = machine().infiniband;
  CHECK(2 * (p.link_latency_ns + p.switch_latency_ns) == Approx(900));
}

TEST_CASE("infiniband: one flow runs at link rate, near and far", "[analytic]") {
  const bool is_far = GENERATE(false, true);
  Traffic traffic(is_far ? two_leaves(1, 1) : one_leaf(2));
  traffic.send(0, 1, 1000, {.wire_bytes = kWire});
  traffic.run();
  const int64_t hops = is_far ? 4 : 2;
  CHECK(traffic.last_arrival() == kSlot * 1000 + traffic.hop() * hops + traffic.in_switch() * (hops - 1));
  CHECK(in_order(traffic.nics[1]));
  CHECK(traffic.fabric().egress_use(NicId{0}).use.busy == kSlot * 1000);
  CHECK(traffic.fabric().ingress_use(NicId{1}).use.wire_bytes == 1000 * kWire);
  CHECK(traffic.fabric().egress_use(NicId{0}).use.blocked == Picoseconds{});
}

TEST_CASE("infiniband: incast gives each sender an equal share, and nothing is lost", "[analytic]") {
  const uint32_t senders = GENERATE(2, 7, 31);
  constexpr uint32_t kEach = 400;
  Traffic traffic(one_leaf(senders + 1));
  for (uint32_t i = 1; i <= senders; ++i) traffic.send(i, 0, kEach, {.wire_bytes = kWire});
  traffic.run();
  REQUIRE(traffic.nics[0].arrivals.size() == size_t{senders} * kEach);
  CHECK(traffic.last_arrival() == kSlot * senders * kEach + traffic.hop() * 2 + traffic.in_switch());
  for (const auto& [sender, count] : shares(traffic.nics[0], size_t{senders} * kEach / 2))
    CHECK(count == Approx(kEach / 2).margin(2));
  const FabricLinkUse use = traffic.fabric().egress_use(NicId{1});
  CHECK(use.use.peak_buffer_bytes <= traffic.parameters.switch_buffer_bytes);
  CHECK(use.use.peak_buffer_bytes > traffic.parameters.switch_buffer_bytes * 8 / 10);
  CHECK(use.use.blocked > Picoseconds{});
  CHECK(traffic.fabric().idle());
}

TEST_CASE("infiniband: two flows over one link between switches have half each", "[analytic]") {
  Traffic traffic(two_leaves(2, 1));
  traffic.send(0, 2, 500, {.wire_bytes = kWire});
  traffic.send(1, 3, 500, {.wire_bytes = kWire});
  traffic.run();
  CHECK(traffic.last_arrival() == kSlot * 1000 + traffic.hop() * 4 + traffic.in_switch() * 3);
  // Both end together, and half of each is there at half time.
  CHECK(traffic.nics[2].arrivals[250]->arrived.us() ==
        Approx(traffic.nics[3].arrivals[250]->arrived.us()).epsilon(0.01));
  CHECK(traffic.nics[2].arrivals.back()->arrived.us() == Approx(traffic.last_arrival().us()).epsilon(0.01));
}

TEST_CASE("infiniband: lanes of a port share it evenly", "[analytic]") {
  Traffic traffic(one_leaf(2));
  traffic.send(0, 1, 300, {.wire_bytes = kWire, .virtual_lane = 0});
  traffic.send(0, 1, 300, {.wire_bytes = kWire, .virtual_lane = 1});
  traffic.run();
  const std::vector<Packet*>& all = traffic.nics[1].arrivals;
  CHECK(std::count_if(all.begin(), all.begin() + 300, [](const Packet* p) { return p->virtual_lane == 1; }) ==
        Approx(150).margin(1));
  CHECK(traffic.last_arrival() == kSlot * 600 + traffic.hop() * 2 + traffic.in_switch());
}

TEST_CASE("infiniband: credit limits a link to its buffer per round trip", "[analytic]") {
  InfinibandParameters parameters = machine().infiniband;
  parameters.switch_buffer_bytes = 8192;  // two packets
  Traffic traffic(one_leaf(2), parameters);
  traffic.send(0, 1, 2000, {.wire_bytes = 4096});
  traffic.run();
  // Sent, through the switch and out of it, and the credit back.
  const Picoseconds packet = transfer_time(4096, 50e9);
  const Picoseconds round_trip = packet + traffic.hop() * 2 + traffic.in_switch();
  CHECK(traffic.last_arrival().us() == Approx((round_trip * 1000).us()).epsilon(0.001));
  const FabricPortUse use = traffic.fabric().egress_use(NicId{0}).use;
  CHECK((use.busy + use.blocked).us() == Approx(traffic.last_arrival().us()).epsilon(0.005));
}

TEST_CASE("infiniband: a slow receiver holds the sender back", "[analytic]") {
  // It takes 160 ns for a packet that the link brings in 80.
  class SlowNic final : public NicPort {
   public:
    SlowNic(InfinibandFabric& fabric, LogicalProcess& process) : fabric_(fabric), process_(process) {}
    void departed(FabricPacket&, Picoseconds) override {}
    void lost(FabricPacket&, Picoseconds) override {}
    void arrived(FabricPacket& packet, Picoseconds now) override {
      ++arrivals;
      process_.at(server_.claim(now, kSlot * 2), at_taken_, packet.virtual_lane);
    }
    uint32_t arrivals = 0;
    Picoseconds last{};

   private:
    void on_taken(Picoseconds now, uint64_t lane) {
      fabric_.freed(NicId{1}, static_cast<uint8_t>(lane), kWire, now);
      last = now;
    }
    InfinibandFabric& fabric_;
    LogicalProcess& process_;
    Server server_;
    EventMember<SlowNic, &SlowNic::on_taken> at_taken_{*this};
  };
  Traffic traffic(one_leaf(2));
  SlowNic slow(traffic.fabric(), traffic.process(1));
  traffic.fabric().attach(NicId{1}, slow, ReceiveBuffer::freed_by_port);
  traffic.send(0, 1, 2000, {.wire_bytes = kWire});
  traffic.run();
  CHECK(slow.arrivals == 2000);
  CHECK(slow.last == kSlot * (2 * 2000 + 1) + traffic.hop() * 2 + traffic.in_switch());
  // Buffers of NIC and switch are full, then the sender is at half its rate.
  CHECK(traffic.packets.back()->departed.us() > (kSlot * 2 * 2000).us() * 0.9);
  CHECK(traffic.fabric().ingress_use(NicId{1}).use.peak_buffer_bytes <= traffic.parameters.nic_buffer_bytes);
  CHECK(traffic.fabric().idle());
}

TEST_CASE("infiniband: what waits for one output or lane holds up no other", "[contract]") {
  Traffic traffic(one_leaf(3));
  // NIC 1 takes nothing: its buffer of 256 KiB fills up, the rest waits in the switch.
  traffic.fabric().attach(NicId{1}, traffic.nics[1], ReceiveBuffer::freed_by_port);
  traffic.send(0, 1, 100, {.wire_bytes = kWire});
  traffic.send(0, 2, 500, {.wire_bytes = kWire});
  traffic.send(0, 1, 10, {.wire_bytes = kWire, .virtual_lane = 1}, microseconds(100));
  traffic.run();
  CHECK(traffic.nics[1].arrivals.size() == 65 + 10);  // 256 KiB are 65 packets of 63 blocks
  CHECK(traffic.nics[2].arrivals.size() == 500);
  CHECK(traffic.nics[2].arrivals.back()->arrived == kSlot * 600 + traffic.hop() * 2 + traffic.in_switch());
  CHECK_FALSE(traffic.fabric().idle());
}

TEST_CASE("infiniband: static routing keeps the order of a flow, adaptive routing need not", "[contract]") {
  const bool adaptive = GENERATE(false, true);
  // A full flow needs both ways, and one of them is slower further on.
  NetworkTopology network = two_leaves(1, 2);
  REQUIRE(network.slow("leaf0-spine0", 0.5));
  REQUIRE(network.slow("leaf0-spine1", 0.5));
  REQUIRE(network.slow("leaf1-spine0", 0.1));
  Traffic traffic(network);
  traffic.send(0, 1, 200, {.wire_bytes = kWire, .flow = 5, .adaptive = adaptive});
  traffic.run();
  CHECK(traffic.nics[1].arrivals.size() == 200);
  CHECK(in_order(traffic.nics[1]) == !adaptive);
}

TEST_CASE("infiniband: adaptive routing fills all ways where hashed flows collide", "[analytic]") {
  constexpr uint32_t kNics = 8, kEach = 500;
  const auto run = [](bool adaptive) {
    Traffic traffic(two_leaves(kNics, kNics));
    for (uint32_t i = 0; i < kNics; ++i)
      traffic.send(i, kNics + i, kEach, {.wire_bytes = kWire, .flow = 77 * i * i, .adaptive = adaptive});
    traffic.run();
    return (traffic.last_arrival() - traffic.hop() * 4 - traffic.in_switch() * 3).us() / (kSlot * kEach).us();
  };
  CHECK(run(true) == Approx(1).epsilon(0.02));
  // A flow has one way: two on one link take twice the time, and so on.
  const double hashed = run(false);
  CHECK(hashed == Approx(std::round(hashed)).epsilon(0.02));
  CHECK(hashed > 1.5);
}

TEST_CASE("infiniband: oversubscribed spines carry what their links carry", "[analytic]") {
  // Leaf 0 has 16 NICs and 8 links up; all of them send to leaf 1.
  constexpr uint32_t kEach = 200;
  Traffic traffic(shipped_network("h800-8-nodes-oversubscribed"));
  for (uint32_t i = 0; i < 16; ++i) traffic.send(i, 16 + i, kEach, {.wire_bytes = kWire, .adaptive = true});
  traffic.run();
  CHECK(traffic.last_arrival().us() == Approx((kSlot * 2 * kEach).us()).epsilon(0.1));
  CHECK(traffic.last_arrival() >= kSlot * 2 * kEach);
}

TEST_CASE("infiniband: a slow link passes its own rate on, and cut-through waits for the tail",
          "[analytic]") {
  NetworkTopology network = one_leaf(3);
  REQUIRE(network.slow("nic0", 0.5));
  Traffic traffic(network);
  traffic.send(0, 1, 100, {.wire_bytes = kWire});
  traffic.send(2, 0, 100, {.wire_bytes = kWire});
  traffic.run();
  const Picoseconds latency = traffic.hop() * 2 + traffic.in_switch();
  // From the slow link at its rate, the last packet's tail without a gap; to it likewise.
  CHECK(traffic.nics[1].arrivals.front()->arrived == kSlot * 2 + latency);
  CHECK(traffic.nics[1].arrivals.back()->arrived == kSlot * 200 + latency);
  CHECK(traffic.nics[0].arrivals.back()->arrived == kSlot * 200 + latency);
}

TEST_CASE("infiniband: what has no way is the sender's again", "[contract]") {
  NetworkTopology network = shipped_network("h800-2-nodes-multi-plane");
  REQUIRE(network.fail("node1.nic3"));
  Traffic traffic(network);
  traffic.send(3, 11, 2, {.wire_bytes = kWire});  // node1.nic3 is down
  traffic.send(0, 9, 1, {.wire_bytes = kWire});   // another plane
  traffic.send(0, 8, 1, {.wire_bytes = kWire});
  traffic.run();
  CHECK(traffic.nics[3].losses.size() == 2);
  CHECK(traffic.nics[0].losses.size() == 1);
  CHECK(traffic.nics[8].arrivals.size() == 1);
  CHECK(traffic.fabric().idle());
}

TEST_CASE("infiniband: results do not depend on threads", "[contract]") {
  const auto run = [](uint32_t threads) {
    InfinibandParameters parameters = machine().infiniband;
    parameters.switch_buffer_bytes = 16384;  // full most of the time
    NetworkTopology network = shipped_network("h800-4-nodes");
    REQUIRE(network.fail("leaf3-spine1"));
    REQUIRE(network.slow("node2.nic5", 0.5));
    Traffic traffic(network, parameters);
    uint64_t state = 1;
    const auto random = [&](uint32_t below) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      return static_cast<uint32_t>((state >> 33U) % below);
    };
    const uint32_t count = small() ? 2000 : 20000;
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t from = random(32), to = (from + 1 + random(31)) % 32;
      traffic.send(from, to, 1,
                   {.wire_bytes = 64 + random(4000),
                    .flow = random(4),
                    .virtual_lane = static_cast<uint8_t>(random(3)),
                    .adaptive = random(2) == 0},
                   Picoseconds{random(2'000'000)});
    }
    traffic.run(threads);
    std::vector<int64_t> times;
    for (const auto& packet : traffic.packets) times.push_back(packet->arrived.value);
    for (const FabricLinkUse& use : traffic.fabric().link_uses()) {
      times.push_back(use.use.blocked.value);
      times.push_back(static_cast<int64_t>(use.use.peak_buffer_bytes));
    }
    // Buffers of four packets and routes of five hops: all the same everything arrives.
    CHECK(std::count(times.begin(), times.end(), kNever.value) == 0);
    CHECK(traffic.fabric().idle());
    return times;
  };
  const std::vector<int64_t> one = run(1);
  CHECK(run(2) == one);
  CHECK(run(3) == one);
}

}  // namespace ptxwire::models::test
