// Unloaded latencies against sums of the machine's parameters, and those sums against measurements.
#include "models/gpu/address_map.hpp"
#include "tests/models/driver.hpp"

namespace ptxwire::models::test {
namespace {

/// Each latency is converted to picoseconds on its own, so a sum may be off by one for each.
constexpr double kRounding = 8;

double clk(const Machine& m, double cycles) { return cycles * 1e12 / m.sm.clock_hz; }
double wire(const Machine& m, double bytes) { return bytes * 1e12 / m.nvlink.link_bytes_per_second; }

/// An address of GPU `gpu` in the given partition.
uint64_t address_in(const Machine& m, uint32_t gpu, uint32_t partition) {
  const L2AddressMap map(m.l2);
  uint64_t address = device_base(gpu);
  while (map.partition(address) != partition) address += 4096;
  return address;
}

struct Times {
  Picoseconds performed, completed;
};

/// One access at a time on an idle node, on SM 0 of GPU 0.
class Probe {
 public:
  explicit Probe(const Machine& machine) : node_(machine, 2) {}
  Times access(AccessKind kind, uint32_t home, uint64_t address, unsigned lines, bool host = false) {
    Transaction transaction;
    Recorder recorder;
    fill(transaction, kind, 0, home, address, lines);
    transaction.host_memory = host;
    transaction.client = &recorder;
    const Picoseconds start = node_.process(0).now() + microseconds(10);  // after everything before
    node_.memory(0).submit(transaction, start);
    node_.run();
    CHECK(recorder.completions == 1);
    CHECK(recorder.parts == lines);
    return {recorder.performed - start, recorder.completed - start};
  }
  Node& node() { return node_; }

 private:
  Node node_;
};

}  // namespace

TEST_CASE("latency: local load, hit and miss, near and far", "[timing][analytic]") {
  Machine m = machine();
  m.hbm.refresh_ns = 0;
  Probe probe(m);
  const uint32_t partition = GENERATE(0U, 1U);  // SM 0 is on side 0
  const uint64_t address = address_in(m, 0, partition);
  const double far = partition == 0 ? 0 : m.l2.far_extra_clk;
  const double hit_clk = m.l2.request_latency_clk + m.l2.access_latency_clk + m.l2.response_latency_clk +
                         128 / m.l2.slice_bytes_per_clk + 128 / m.sm.l1_return_bytes_per_clk + far;
  const double channel = m.hbm.bytes_per_second / m.hbm.channels;
  const double miss =
      clk(m, hit_clk) + 128 / channel * 1e12 +
      (m.hbm.activate_ns + m.hbm.read_latency_ns + m.hbm.latency_ns) * 1e3;  // the bank was closed

  const Times cold = probe.access(AccessKind::load, 0, address, 1);
  CHECK(static_cast<double>(cold.completed.value) == Approx(miss).margin(kRounding));
  const Times warm = probe.access(AccessKind::load, 0, address, 1);
  CHECK(static_cast<double>(warm.completed.value) == Approx(clk(m, hit_clk)).margin(kRounding));
  CHECK(warm.performed < warm.completed);
  probe.node().memory(0).flush_l2();
  const Times again = probe.access(AccessKind::load, 0, address, 1);  // now its row is open
  CHECK((cold.completed - again.completed).ns() == Approx(m.hbm.activate_ns).margin(kRounding * 1e-3));
  // H800 PCIe: near 258, far 414.1, near miss 555.5 clk (the miss at 1.755 GHz).
  CHECK(hit_clk == Approx(partition == 0 ? 258 : 414.1).epsilon(0.03));
  if (partition == 0) CHECK(miss * 1e-3 + m.hbm.precharge_ns == Approx(555.5 / 1.755).epsilon(0.08));
}

TEST_CASE("latency: a store is visible on arrival and acknowledged without data", "[timing][analytic]") {
  const Machine m = machine();
  Probe probe(m);
  const Times times = probe.access(AccessKind::store, 0, address_in(m, 0, 0), 1);
  CHECK(static_cast<double>(times.performed.value) ==
        Approx(clk(m, m.l2.request_latency_clk)).margin(kRounding));
  const double acknowledged = m.l2.request_latency_clk + 128 / m.l2.slice_bytes_per_clk +
                              m.l2.access_latency_clk + m.l2.response_latency_clk;
  CHECK(static_cast<double>(times.completed.value) == Approx(clk(m, acknowledged)).margin(kRounding));
  CHECK(probe.node().memory(0).counters().hbm.read_bytes == 0);  // full sectors are not fetched
}

TEST_CASE("latency: remote store, visible after one way, acknowledged after two", "[timing][analytic]") {
  const Machine m = machine();
  Probe probe(m);
  const unsigned lines = GENERATE(1U, 4U);  // one granule: one piece
  const auto& n = m.nvlink;
  const double packet = 128.0 + n.header_bytes;
  const double way =
      (n.egress_latency_ns + 2 * n.link_latency_ns + n.switch_latency_ns + n.ingress_latency_ns) * 1e3;
  // The switch passes on the first packet while the rest still arrives.
  const double there = way + wire(m, packet) + wire(m, lines * packet);
  const Times times = probe.access(AccessKind::store, 1, device_base(1), lines);
  CHECK(static_cast<double>(times.performed.value) == Approx(there).margin(kRounding));
  const double slice = 128 / m.l2.slice_bytes_per_clk;  // the lines of a granule lie in different slices
  CHECK(static_cast<double>(times.completed.value) ==
        Approx(there + clk(m, slice + m.l2.access_latency_clk) + way).margin(kRounding));
}

TEST_CASE("latency: remote load, and the round trip measured on H100", "[timing][analytic]") {
  const Machine m = machine("h100-node");
  Probe probe(m);
  probe.access(AccessKind::load, 1, device_base(1), 1);
  const Times times = probe.access(AccessKind::load, 1, device_base(1), 1);
  const auto& n = m.nvlink;
  const double way =
      (n.egress_latency_ns + 2 * n.link_latency_ns + n.switch_latency_ns + n.ingress_latency_ns) * 1e3;
  const double l2 = clk(m, 128 / m.l2.slice_bytes_per_clk + m.l2.access_latency_clk);
  const double port = clk(m, 128 / m.sm.l1_return_bytes_per_clk);
  const double expected =
      2 * way + 2 * wire(m, n.read_request_bytes) + l2 + 2 * wire(m, 128.0 + n.header_bytes) + port;
  CHECK(static_cast<double>(times.completed.value) == Approx(expected).margin(kRounding));
  // 826 ns with the target in L2 (8-GPU matrix), of one sector or line; the SM's own share is not in the
  // model here.
  CHECK(times.completed.ns() == Approx(826).epsilon(0.03));
}

TEST_CASE("latency: host memory", "[timing][analytic]") {
  const Machine m = machine();
  Probe probe(m);
  const Times times = probe.access(AccessKind::load, 0, 0x1000, 1, true);
  CHECK(times.performed.ns() == Approx(m.host.pcie_latency_ns).epsilon(0.01));
  CHECK(times.completed.ns() == Approx(2 * m.host.pcie_latency_ns).epsilon(0.01));
  CHECK(times.completed.ns() == Approx(631).epsilon(0.05));  // SM chase to host memory, 613 to 650 ns
}

TEST_CASE("latency: the untimed machine keeps only the hop that the engine needs", "[contract]") {
  Machine m = machine();
  make_untimed(m);
  Probe probe(m);
  CHECK(probe.access(AccessKind::load, 0, device_base(0), 4).completed.value <= 4);
  const Times remote = probe.access(AccessKind::store, 1, device_base(1), 4);
  CHECK(static_cast<double>(remote.completed.value) ==
        Approx(4 * m.nvlink.link_latency_ns * 1e3).margin(kRounding));
}

}  // namespace ptxwire::models::test
