// Events between streams of one GPU and of several (cudaEventRecord, cudaStreamWaitEvent).
#include <catch2/catch.hpp>
#include <cstring>

#include "bench.hpp"

using namespace ptxwire::sim;
using namespace ptxwire::sim::test;
using Catch::Contains;
using ptxwire::models::Picoseconds;

namespace {

// k(out, ns): sleeps, then adds 1 to out[0] and notes what it found there in out[1].
constexpr const char* kCount = R"(
  cvt.u32.u64 %r1, %rd1;
  nanosleep.u32 %r1;
  atom.sys.global.add.u32 %r2, [%rd0], 1;
  st.volatile.global.u32 [%rd0+4], %r2;
)";

LaunchConfig config(std::vector<uint64_t> parameters) {
  LaunchConfig launch;
  launch.kernel = "k";
  launch.block = {1, 1, 1};
  launch.parameters.resize(parameters.size() * 8);
  std::memcpy(launch.parameters.data(), parameters.data(), launch.parameters.size());
  return launch;
}

struct Times {
  Picoseconds producer_end, consumer_start;
  std::vector<uint32_t> words;
};

/// A slow kernel on one GPU, its event, and a kernel on another that waits for it.
Times chain(uint32_t consumer_gpu, uint32_t threads) {
  Bench bench(entry("k", 2, kCount), 3);
  Cluster& cluster = bench.cluster();
  const auto out = bench.allocate(8);
  const StreamId producer = cluster.create_stream(GpuId{0});
  const StreamId consumer = cluster.create_stream(GpuId{consumer_gpu});
  REQUIRE(cluster.launch(producer, config({out, 50000})));
  const EventId done = cluster.record(producer);
  cluster.wait(consumer, done);
  REQUIRE(cluster.launch(consumer, config({out, 0})));
  RunLimits limits = Bench::default_limits();
  limits.threads = threads;
  const RunReport report = bench.run(limits);
  CHECK(cluster.event_time(done) == report.launches[0].finished);
  return {report.launches[0].finished, report.launches[1].started, bench.read<uint32_t>(out, 2)};
}

}  // namespace

TEST_CASE("event: a stream of any GPU waits for it", "[sim]") {
  const uint32_t gpu = GENERATE(0U, 1U, 2U);
  const Times times = chain(gpu, 1);
  CHECK(times.words == std::vector<uint32_t>{2, 1});
  // h800-node: 0.6 us from the event to the work that waits for it
  CHECK(times.consumer_start >= times.producer_end + ptxwire::models::microseconds(0.6));
  CHECK(times.consumer_start <= times.producer_end + ptxwire::models::microseconds(0.7));
}

TEST_CASE("event: waits across GPUs do not depend on the number of threads", "[sim]") {
  const Times one = chain(2, 1);
  const Times two = chain(2, 2);
  CHECK(one.producer_end == two.producer_end);
  CHECK(one.consumer_start == two.consumer_start);
}

TEST_CASE("event: rings of GPUs wait for each other, the host waits for streams", "[sim]") {
  constexpr uint32_t kGpus = 4;
  constexpr uint32_t kRounds = 3;
  Bench bench(entry("k", 2, kCount), kGpus);
  Cluster& cluster = bench.cluster();
  const auto out = bench.allocate(8);
  std::vector<StreamId> streams;
  for (uint32_t gpu = 0; gpu < kGpus; ++gpu) streams.push_back(cluster.create_stream(GpuId{gpu}));
  EventId last = cluster.record(streams[0]);
  for (uint32_t round = 0; round < kRounds; ++round) {
    for (const StreamId stream : streams) {
      cluster.wait(stream, last);
      REQUIRE(cluster.launch(stream, config({out, 3000})));
      last = cluster.record(stream);
      cluster.synchronize(stream);
    }
  }
  const RunReport report = bench.run();
  REQUIRE(report.launches.size() == kGpus * kRounds);
  for (size_t i = 1; i < report.launches.size(); ++i)
    CHECK(report.launches[i].started > report.launches[i - 1].finished);
  CHECK(bench.read<uint32_t>(out, 2) == std::vector<uint32_t>{kGpus * kRounds, kGpus * kRounds - 1});
}

TEST_CASE("event: a wait that nothing follows ends, and a host behind it goes on", "[sim]") {
  Bench bench(entry("k", 2, kCount), 2);
  Cluster& cluster = bench.cluster();
  const auto out = bench.allocate(8);
  const StreamId producer = cluster.create_stream(GpuId{0});
  const StreamId consumer = cluster.create_stream(GpuId{1});
  REQUIRE(cluster.launch(producer, config({out, 20000})));
  cluster.wait(consumer, cluster.record(producer));
  cluster.synchronize(consumer);
  REQUIRE(cluster.launch(consumer, config({out, 0})));
  const RunReport report = bench.run();
  CHECK(report.launches[1].started > report.launches[0].finished);
  CHECK(bench.read<uint32_t>(out, 2) == std::vector<uint32_t>{2, 1});
}

TEST_CASE("event: one of an earlier run is over", "[sim]") {
  Bench bench(entry("k", 2, kCount), 2);
  Cluster& cluster = bench.cluster();
  const auto out = bench.allocate(8);
  const StreamId producer = cluster.create_stream(GpuId{0});
  const StreamId consumer = cluster.create_stream(GpuId{1});
  REQUIRE(cluster.launch(producer, config({out, 1000})));
  const EventId done = cluster.record(producer);
  bench.run();
  cluster.wait(consumer, done);
  REQUIRE(cluster.launch(consumer, config({out, 0})));
  bench.run();
  CHECK(bench.read<uint32_t>(out, 2) == std::vector<uint32_t>{2, 1});
}

TEST_CASE("event: streams, events and GPUs that do not exist are refused", "[sim]") {
  Bench bench(entry("k", 2, kCount), 2);
  Cluster& cluster = bench.cluster();
  const StreamId stream = cluster.create_stream(GpuId{1});
  const EventId event = cluster.record(stream);
  CHECK_FALSE(cluster.launch(stream + 100, config({0, 0})));
  cluster.wait(stream, event + 7);
  CHECK_THAT(bench.run_error(), Contains("no such event"));
  cluster.wait(0x7FFFFFFF, event);
  CHECK_THAT(bench.run_error(), Contains("no such stream"));
  cluster.synchronize(0x7FFFFFFF);
  CHECK_THAT(bench.run_error(), Contains("does not exist"));
  cluster.record(0x7FFFFFFF);
  CHECK_THAT(bench.run_error(), Contains("does not exist"));
  cluster.create_stream(GpuId{2});
  CHECK_THAT(bench.run_error(), Contains("GPU 2 does not exist"));
  bench.run();
}
