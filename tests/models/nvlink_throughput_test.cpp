// Steady rates of the fabric against closed forms of packet sizes.
#include <random>

#include "tests/models/driver.hpp"

namespace ptxwire::models::test {
namespace {

constexpr unsigned kWarpBytes = 512;  // 32 lanes of 16 bytes
constexpr unsigned kWindow = 1024;    // 512 KiB in flight: more than any round trip needs

using Target = std::function<uint32_t(uint32_t gpu, uint64_t run)>;

/// Every `stride`-th GPU accesses others in units of a warp; runs of `run_bytes` go to one target. Returns
/// the steady rate of the slowest of them in GB/s.
double steady_rate(const Machine& m, AccessKind kind, const Target& target, uint64_t run_bytes,
                   uint32_t stride = 1) {
  Node node(m, m.gpus);
  bool stop = false;
  std::vector<std::unique_ptr<Stream>> streams;
  for (uint32_t gpu = 0; gpu < m.gpus; gpu += stride) {
    streams.push_back(
        std::make_unique<Stream>(node.memory(gpu), kWindow, [&, gpu](Transaction& t, uint64_t n) {
          const uint32_t home = target(gpu, n * kWarpBytes / run_bytes);
          const uint64_t offset = (n * kWarpBytes) % (8 << 20);  // stays in L2
          fill(t, kind, gpu, home, device_base(home) + (uint64_t{gpu} << 30U) + offset,
               kWarpBytes / kLineBytes, SmId{static_cast<uint32_t>(n % m.sm.count)});
          return !stop;
        }));
  }
  for (auto& stream : streams) stream->start({});
  const Picoseconds warm = microseconds(10), end = microseconds(small() ? 30 : 50);
  node.run(warm);
  std::vector<uint64_t> before;
  for (auto& stream : streams) before.push_back(stream->completed_bytes);
  node.run(end);
  double slowest = 1e30;
  for (size_t i = 0; i < streams.size(); ++i)
    slowest = std::min(slowest, gb_per_s(streams[i]->completed_bytes - before[i], end - warm));
  stop = true;
  node.run();
  CHECK(node.fabric().idle());
  return slowest;
}

double link_limit(const Machine& m, double wire_bytes_per_line) {
  return m.nvlink.links_per_gpu * m.nvlink.link_bytes_per_second * 1e-9 * 128.0 / wire_bytes_per_line;
}

uint32_t neighbour(uint32_t gpu, uint64_t) { return (gpu + 1) % 8; }

}  // namespace

TEST_CASE("fabric: a ring of stores runs at link rate less header and acknowledgement",
          "[timing][analytic]") {
  const std::string name = GENERATE("h800-node", "h100-node");
  const Machine m = machine(name);
  const double limit = link_limit(m, 128.0 + m.nvlink.header_bytes + m.nvlink.ack_bytes);
  CHECK(steady_rate(m, AccessKind::store, neighbour, kWarpBytes) == Approx(limit).epsilon(0.02));
}

TEST_CASE("fabric: the H800 ring reaches what its broadcast was measured at", "[timing]") {
  // 162 to 165 GB/s, 8 GPUs, 2 GiB: NCCL broadcast.
  const double rate = steady_rate(machine("h800-node"), AccessKind::store, neighbour, kWarpBytes);
  CHECK(rate > 160.0);
  CHECK(rate < 165.5);
}

TEST_CASE("fabric: loads one way run at link rate less the header of the data", "[timing][analytic]") {
  // Requests go the other way, where there is nothing else.
  const Machine m = machine("h800-node");
  const double rate = steady_rate(m, AccessKind::load, neighbour, kWarpBytes, 2);
  CHECK(rate == Approx(link_limit(m, 128.0 + m.nvlink.header_bytes)).epsilon(0.02));
  // Reads reach about 91 % of the raw rate on B300, writes about 80 %.
  CHECK(rate / 200 == Approx(0.91).epsilon(0.03));
}

TEST_CASE("fabric: stores one way run at link rate less the header", "[timing][analytic]") {
  const Machine m = machine("h800-node");
  const double rate = steady_rate(m, AccessKind::store, neighbour, kWarpBytes, 2);
  CHECK(rate == Approx(link_limit(m, 128.0 + m.nvlink.header_bytes)).epsilon(0.02));
}

TEST_CASE("fabric: random all-to-all loses to the ring by head-of-line blocking", "[timing]") {
  const std::string name = GENERATE("h800-node", "h100-node");
  const Machine m = machine(name);
  const uint64_t run_bytes = GENERATE(512, 7168);
  std::vector<std::mt19937> random;
  for (uint32_t gpu = 0; gpu < m.gpus; ++gpu) random.emplace_back(gpu + 1);
  std::vector<uint64_t> current(m.gpus, ~uint64_t{0});
  std::vector<uint32_t> home(m.gpus);
  const Target draw = [&](uint32_t gpu, uint64_t run) {
    if (current[gpu] != run) home[gpu] = (gpu + 1 + random[gpu]() % (m.gpus - 1)) % m.gpus;
    current[gpu] = run;
    return home[gpu];
  };
  const double ring = link_limit(m, 128.0 + m.nvlink.header_bytes + m.nvlink.ack_bytes);
  const double rate = steady_rate(m, AccessKind::store, draw, run_bytes);
  WARN(name << ", runs of " << run_bytes << " B to one GPU: " << rate << " GB/s, ring " << ring);
  CHECK(rate < 0.97 * ring);
  CHECK(rate > 0.59 * ring);  // an input-queued switch without any output buffer
  // NCCL's all-to-all of 256 MiB sends 304.5 GB/s per GPU over the links of an H100 or H200
  // (S_AIC_NCCL_H200_2292).
  if (name == "h100-node") CHECK(rate == Approx(304.5).epsilon(0.05));
}

TEST_CASE("fabric: credits limit a link to the input buffer per round trip of a hop", "[timing][analytic]") {
  Machine m = machine("h800-node");
  m.nvlink.switch_input_buffer_bytes = 4096;
  m.nvlink.link_latency_ns = 1000;
  // A piece holds 4 x (128 + 16) B of credit from its start until the switch has forwarded it and said so:
  // link, the first packet's length, switch, link. Credits come back in lots, so up to an eighth of the
  // buffer lies idle.
  const double hold_ns = 2 * m.nvlink.link_latency_ns + m.nvlink.switch_latency_ns + 144 / 25.0;
  const double wire_rate = 4096 / hold_ns * 8;
  const double limit = wire_rate * 128 / 144;
  const double rate = steady_rate(m, AccessKind::store, neighbour, kWarpBytes);
  CHECK(rate <= limit * (small() ? 1.2 : 1.05));  // bursts of 2 us in a span of 20 or 40
  CHECK(rate > limit * 0.8);
}

}  // namespace ptxwire::models::test
