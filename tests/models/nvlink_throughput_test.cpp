// Steady rates of the fabric against closed forms of packet sizes.
#include <random>

#include "tests/models/driver.hpp"

namespace ptxwire::models::test {
namespace {

constexpr uint64_t kBytesPerGpu = 8 << 20;
constexpr unsigned kWarpBytes = 512;  // 32 lanes of 16 bytes
constexpr unsigned kWindow = 2048;    // 1 MiB in flight: more than any round trip needs

struct Rates {
  double slowest, total_time_us;
  bool idle;
};

/// Every GPU stores kBytesPerGpu in chunks of one warp store; `home(gpu, n)` is where the n-th of them goes.
Rates store_pattern(const Machine& m, const std::function<uint32_t(uint32_t, uint64_t)>& home,
                    uint64_t run_bytes) {
  Node node(m, m.gpus);
  std::vector<std::unique_ptr<Stream>> streams;
  for (uint32_t gpu = 0; gpu < m.gpus; ++gpu) {
    streams.push_back(
        std::make_unique<Stream>(node.memory(gpu), kWindow, [&, gpu](Transaction& t, uint64_t n) {
          if (n * kWarpBytes >= kBytesPerGpu) return false;
          const uint32_t target = home(gpu, n * kWarpBytes / run_bytes);
          fill(t, AccessKind::store, gpu, target,
               device_base(target) + (uint64_t{gpu} << 30U) + n * kWarpBytes, kWarpBytes / kLineBytes,
               SmId{static_cast<uint32_t>(n % 132)});
          return true;
        }));
  }
  for (auto& stream : streams) stream->start({});
  node.run();
  Rates rates{1e30, 0, node.fabric().idle()};
  for (auto& stream : streams) {
    CHECK(stream->completed_bytes == kBytesPerGpu);
    CHECK(stream->performed_bytes == kBytesPerGpu);
    rates.slowest = std::min(rates.slowest, gb_per_s(kBytesPerGpu, stream->last));
    rates.total_time_us = std::max(rates.total_time_us, stream->last.us());
  }
  return rates;
}

double ring_limit(const Machine& m) {
  const double wire = 128.0 + m.nvlink.header_bytes + m.nvlink.ack_bytes;
  return m.nvlink.links_per_gpu * m.nvlink.link_bytes_per_second * 1e-9 * 128.0 / wire;
}

}  // namespace

TEST_CASE("fabric: a ring of stores runs at link rate less header and acknowledgement",
          "[timing][analytic]") {
  const std::string name = GENERATE("h800-node", "h100-node");
  const Machine m = machine(name);
  const auto next = [&](uint32_t gpu, uint64_t) { return (gpu + 1) % m.gpus; };
  const Rates rates = store_pattern(m, next, kWarpBytes);
  INFO(name << ": " << rates.slowest << " of " << ring_limit(m) << " GB/s");
  CHECK(rates.slowest == Approx(ring_limit(m)).epsilon(0.02));
  CHECK(rates.idle);
}

TEST_CASE("fabric: random all-to-all loses to the ring by head-of-line blocking", "[timing]") {
  const std::string name = GENERATE("h800-node", "h100-node");
  const Machine m = machine(name);
  const uint64_t run_bytes = GENERATE(512, 7168, 57344);
  std::vector<std::mt19937> random;
  for (uint32_t gpu = 0; gpu < m.gpus; ++gpu) random.emplace_back(gpu + 1);
  uint64_t last_run[64] = {};
  uint32_t target[64] = {};
  const auto draw = [&](uint32_t gpu, uint64_t run) {
    if (run != last_run[gpu] || run == 0) target[gpu] = (gpu + 1 + random[gpu]() % (m.gpus - 1)) % m.gpus;
    last_run[gpu] = run;
    return target[gpu];
  };
  const Rates rates = store_pattern(m, draw, run_bytes);
  WARN(name << ", runs of " << run_bytes << " B: " << kBytesPerGpu * 1e-3 / rates.total_time_us
            << " GB/s against a ring of " << ring_limit(m));
  CHECK(kBytesPerGpu * 1e-3 / rates.total_time_us < 0.98 * ring_limit(m));
  CHECK(rates.idle);
}

}  // namespace ptxwire::models::test
