// GPU-initiated RDMA end to end: kernels/micro/rdma.ptx posts, NICs and the fabric do the rest.
#include <catch2/catch.hpp>

#include <algorithm>
#include <numeric>

#include "models/fabric/network_topology.hpp"
#include "ptx_frontend/frontend.hpp"
#include "sim/workload/kernel_arguments.hpp"
#include "sim/workload/rdma_heap.hpp"
#include "support/data_path.hpp"

using namespace ptxwire;
using namespace ptxwire::sim;
using Catch::Contains;

namespace {

/// Two ranks of different nodes, or of one, with the kernels on them.
class RdmaBench {
 public:
  explicit RdmaBench(uint32_t ranks = 9, RdmaHeapConfig config = {}) {
    const auto machine = models::load_machine(*find_data_file("models/machines/h800-node.toml"));
    REQUIRE(machine);
    const auto network =
        models::NetworkTopology::load(*find_data_file("models/fabric/topologies/h800-2-nodes.toml"));
    REQUIRE(network);
    auto cluster = Cluster::create(*machine, ranks, &*network);
    REQUIRE(cluster);
    cluster_ = std::move(*cluster);
    auto program = ptx::load_program({*find_data_file("kernels/micro/rdma.ptx")});
    REQUIRE(program);
    module_ = *cluster_->load(std::make_shared<const ptx::Program>(*std::move(program)));
    config.ranks = ranks;
    if (config.heap_bytes == 0) config.heap_bytes = 1 << 20;
    config.queues_per_rank = 4;
    if (!config.connected)
      config.connected = [ranks](uint32_t a, uint32_t b) { return a == 0 && b == ranks - 1; };
    auto heap = RdmaHeap::create(*cluster_, config);
    REQUIRE(heap);
    heap_ = std::move(*heap);
  }

  [[nodiscard]] Cluster& cluster() { return *cluster_; }
  [[nodiscard]] const RdmaHeap& heap() const { return *heap_; }

  template <typename... Values>
  void launch(uint32_t rank, const std::string& kernel, uint32_t ctas, const Values&... values) {
    LaunchConfig config;
    config.module = module_;
    config.kernel = kernel;
    config.grid = {ctas, 1, 1};
    config.block = {32, 1, 1};
    config.parameters = pack_parameters(values...);
    const auto launched = cluster_->launch(cluster_->create_stream(GpuId{rank}), config);
    REQUIRE(launched);
  }
  Expected<RunReport> run(uint32_t threads = 1) {
    RunLimits limits;
    limits.threads = threads;
    limits.max_time = models::microseconds(20000);
    return cluster_->run(limits);
  }
  template <typename T>
  std::vector<T> read(DeviceAddress address, size_t count) {
    std::vector<T> values(count);
    REQUIRE(cluster_->read(address, {reinterpret_cast<uint8_t*>(values.data()), count * sizeof(T)}));
    return values;
  }
  template <typename T>
  void write(DeviceAddress address, const std::vector<T>& values) {
    REQUIRE(cluster_->write(address,
                            {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(T)}));
  }

 private:
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<RdmaHeap> heap_;
  uint32_t module_ = 0;
};

constexpr uint64_t kFlag = 0, kPayload = 4096;

double ping_pong_us(uint32_t ranks, int32_t kind, int32_t bytes, uint32_t threads = 1) {
  RdmaBench bench(ranks);
  const uint32_t last = ranks - 1;
  const int32_t rounds = 10;
  std::vector<DeviceAddress> results;
  for (const uint32_t rank : {0U, last}) {
    results.push_back(*bench.cluster().allocate(GpuId{rank}, 256, "result"));
    const DeviceAddress heap = bench.heap().heap(rank);
    bench.launch(rank, "rdma_ping_pong", 1, bench.heap().state(rank),
                 static_cast<int32_t>(rank == 0 ? last : 0), static_cast<int32_t>(rank == 0), kind,
                 heap + kFlag, heap + kPayload, bytes, rounds, results.back());
  }
  const auto report = bench.run(threads);
  if (!report) FAIL(report.error().message);
  REQUIRE(report);
  for (const uint32_t rank : {0U, last})
    CHECK(bench.read<int32_t>(bench.heap().heap(rank) + kFlag, 1) == std::vector<int32_t>{rounds});
  const auto cycles = bench.read<int64_t>(results[0], 1);
  return static_cast<double>(cycles[0]) / rounds / 1980.0;
}

}  // namespace

TEST_CASE("rdma: flags and payload pass between nodes", "[workload]") {
  const double inline_us = ping_pong_us(9, 0, 0), put_us = ping_pong_us(9, 1, 8192);
  INFO("inline " << inline_us << " us, 8 KiB and flag " << put_us << " us per round trip");
  // A round trip is at least four hops of cable and two switches: 4 x 200 + 2 x 250 ns.
  CHECK(inline_us > 1.3);
  CHECK(inline_us < put_us);
}

TEST_CASE("rdma: payload arrives whole and a stream fills the link", "[workload]") {
  RdmaBench bench;
  const int32_t bytes = 65536, count = 64;
  const DeviceAddress from = bench.heap().heap(0), to = bench.heap().heap(8);
  std::vector<uint32_t> data(4 * bytes / 4);
  std::iota(data.begin(), data.end(), 1U);
  bench.write(from + kPayload, data);
  const DeviceAddress result = *bench.cluster().allocate(GpuId{0}, 256, "result");
  const auto state = bench.heap().state(0);
  // Addresses of the own heap stand for the same places in the peer's.
  bench.launch(0, "rdma_stream", 4, state, int32_t{8}, from + kPayload + (1 << 19), from + kPayload, bytes,
               count, int32_t{4}, from + kFlag, result);
  const auto report = bench.run();
  if (!report) FAIL(report.error().message);
  REQUIRE(report);
  CHECK(bench.read<uint32_t>(to + kPayload + (1 << 19), data.size()) == data);
  CHECK(bench.read<int32_t>(to + kFlag, 4) == std::vector<int32_t>{1, 1, 1, 1});
  int64_t slowest = 0;  // of the records, 32 bytes each, whose first word are the clocks
  for (uint64_t cta = 0; cta < 4; ++cta)
    slowest = std::max(slowest, bench.read<int64_t>(result + cta * 32, 1)[0]);
  const double us = static_cast<double>(slowest) / 1980.0;
  const double gb_per_s = 4.0 * bytes * count / us * 1e-3;
  INFO(gb_per_s << " GB/s one way");
  CHECK(gb_per_s < 50.0);  // 400 Gb/s
  CHECK(gb_per_s > 44.0);
}

TEST_CASE("rdma: the same bits and times for any number of threads", "[workload]") {
  CHECK(ping_pong_us(9, 1, 4096, 1) == ping_pong_us(9, 1, 4096, 2));
}

namespace {

/// A stream of one message whose remote key table rank 0 sees through `spoil`.
std::vector<std::string> errors_of_stream(RdmaBench& bench, int32_t bytes, int64_t to_offset) {
  const DeviceAddress heap = bench.heap().heap(0);
  const DeviceAddress result = *bench.cluster().allocate(GpuId{0}, 256, "result");
  bench.launch(0, "rdma_stream", 1, bench.heap().state(0), int32_t{8},
               heap + static_cast<uint64_t>(to_offset), heap + kPayload, bytes, int32_t{1}, int32_t{1},
               heap + kFlag, result);
  const auto report = bench.run();
  if (!report) FAIL(report.error().message);
  return report->rdma_errors;
}

}  // namespace

TEST_CASE("rdma: a wrong key or range ends in an error completion that says why", "[workload]") {
  RdmaBench bench;
  const RdmaState& state = bench.heap().state(0);
  std::string expected;
  int32_t bytes = 256;
  int64_t to = kPayload;
  SECTION("remote key of another kind") {
    auto keys = bench.read<uint32_t>(state.remote_keys, 9 * 4);
    keys[8 * 4] = __builtin_bswap32(0x1234);
    bench.write(state.remote_keys, keys);
    expected = "0x1234 is no remote key of NIC 8";
  }
  SECTION("remote key in host order") {
    auto keys = bench.read<uint32_t>(state.remote_keys, 9 * 4);
    keys[8 * 4] = __builtin_bswap32(keys[8 * 4]);
    bench.write(state.remote_keys, keys);
    expected = "in the wrong byte order";
  }
  SECTION("local key") {
    bench.write(state.local_keys, std::vector<uint32_t>{0});
    expected = "0x0 is no local key of NIC 0";
  }
  SECTION("behind the end of the heap") {
    auto keys = bench.read<uint64_t>(state.remote_keys, 9 * 2);
    keys[8 * 2 + 1] = 1U << 22U;  // the kernel believes in a longer heap
    bench.write(state.remote_keys, keys);
    to = (1 << 20) - 128;
    expected = "are not inside the";
  }
  const auto errors = errors_of_stream(bench, bytes, to);
  REQUIRE_FALSE(errors.empty());
  CHECK_THAT(errors.front(), Contains(expected));
  // What the kernel sees: an error completion, and the word behind the failed write unchanged.
  CHECK(bench.read<int32_t>(bench.heap().heap(8) + kFlag, 1) == std::vector<int32_t>{0});
}

TEST_CASE("rdma: a queue that is posted over its end says so", "[workload]") {
  constexpr int32_t kBytes = 1 << 19;  // 10 us each on the cable, far longer than a post takes
  RdmaBench bench(9, {.heap_bytes = 4ULL << 20U, .queue_entries = 16});
  const DeviceAddress heap = bench.heap().heap(0),
                      result = *bench.cluster().allocate(GpuId{0}, 256, "result");
  bench.launch(0, "rdma_stream", 1, bench.heap().state(0), int32_t{8}, heap + kPayload + (2U << 20U),
               heap + kPayload, kBytes, int32_t{40}, int32_t{1}, heap + kFlag,
               result);  // it does not look for room
  const auto report = bench.run();
  const std::string words = !report                       ? report.error().message
                            : report->rdma_errors.empty() ? std::string("no error")
                                                          : report->rdma_errors.front();
  CHECK_THAT(words, Contains("overflow") && Contains("the ring has 16"));
}

TEST_CASE("rdma: without a network there are no NICs", "[workload]") {
  const auto machine = models::load_machine(*find_data_file("models/machines/h800-node.toml"));
  REQUIRE(machine);
  auto cluster = Cluster::create(*machine, 2);
  REQUIRE(cluster);
  const auto heap = RdmaHeap::create(**cluster, {.ranks = 2, .heap_bytes = 4096});
  REQUIRE_FALSE(heap);
  CHECK_THAT(heap.error().message, Contains("no network"));
  CHECK_FALSE(Cluster::create(*machine, 9));
}

TEST_CASE("rdma: loads and stores do not reach another node", "[workload]") {
  RdmaBench bench;
  const DeviceAddress far = bench.heap().heap(8), result = *bench.cluster().allocate(GpuId{0}, 256, "result");
  // The kernel waits for its flag with loads; here the flag is said to lie in the other node.
  bench.launch(0, "rdma_ping_pong", 1, bench.heap().state(0), int32_t{8}, int32_t{0}, int32_t{0}, far,
               bench.heap().heap(0) + kPayload, int32_t{0}, int32_t{1}, result);
  const auto report = bench.run();
  REQUIRE_FALSE(report);
  CHECK_THAT(report.error().message + report.error().hint, Contains("in another node"));
}
