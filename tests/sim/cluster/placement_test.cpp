// The grid scheduler: waves, several kernels at once, priorities, and grids that start whole or wait. Times
// follow from how long a CTA sleeps: overheads of less than 2 us are allowed for.
#include <catch2/catch.hpp>
#include <cstring>

#include "bench.hpp"

using namespace ptxwire::sim;
using namespace ptxwire::sim::test;
using Catch::Contains;

namespace {

// k(ns): sleeps so long. nanosleep is exact in the model.
constexpr const char* kSleep = "cvt.u32.u64 %r1, %rd0; nanosleep.u32 %r1;\n";

struct Kernel {
  uint32_t ctas = 1, threads = 32, registers = 32, ns = 10000;
  uint32_t cluster = 1;
  bool cooperative = false;
};

constexpr uint32_t kWholeSm = 255;  ///< registers per thread that leave nothing with 256 threads

class Streams {
 public:
  Streams() : bench_(entry("k", 1, kSleep)) {}

  LaunchId add(const Kernel& kernel, int priority = 0) {
    LaunchConfig config;
    config.kernel = "k";
    config.grid.x = kernel.ctas;
    config.block.x = kernel.threads;
    config.cluster = kernel.cluster;
    config.cooperative = kernel.cooperative;
    config.registers_per_thread = kernel.registers;
    config.parameters.resize(8);
    std::memcpy(config.parameters.data(), &kernel.ns, sizeof(kernel.ns));
    const auto launched =
        bench_.cluster().launch(bench_.cluster().create_stream(GpuId{0}, priority), std::move(config));
    REQUIRE(launched);
    return *launched;
  }
  void run() { report_ = bench_.run(); }
  [[nodiscard]] double us(LaunchId id) const {
    return (report_.launches[id].finished - report_.launches[id].started).us();
  }
  [[nodiscard]] double started(LaunchId id) const { return report_.launches[id].started.us(); }
  [[nodiscard]] double finished(LaunchId id) const { return report_.launches[id].finished.us(); }

 private:
  Bench bench_;
  RunReport report_;
};

auto about(double us) { return Approx(us).margin(2.0); }

}  // namespace

TEST_CASE("placement: waves follow from registers and from SMs that are held", "[sim][analytic]") {
  struct Case {
    Kernel held;
    double layer_norm_us;
  };
  const Case c =
      GENERATE(Case{{}, 10.0},                                                           // one wave of 396
               Case{{.ctas = 20, .threads = 512, .registers = 120, .ns = 60000}, 20.0},  // 336, then 60
               Case{{.ctas = 20, .threads = 320, .registers = 56, .ns = 60000}, 20.0},   // 376, then 20
               Case{{.ctas = 20, .threads = 128, .registers = 16, .ns = 60000}, 20.0},
               Case{{.ctas = 20, .threads = 32, .registers = 8, .ns = 60000}, 10.0});
  Streams streams;
  const bool holds = c.held.ns == 60000;
  if (holds) streams.add(c.held, -1);
  const LaunchId layer_norm = streams.add({.ctas = 396, .threads = 128, .registers = 168});
  streams.run();
  // Three layer norms leave 256 of 16,384 registers per scheduler: one warp of 8 registers per thread.
  CHECK(streams.us(layer_norm) == about(c.layer_norm_us));
}

TEST_CASE("placement: a kernel runs beside another where there is room, and waits where there is none",
          "[sim][analytic]") {
  Streams streams;
  const LaunchId first = streams.add({.ctas = 112, .threads = 256, .registers = kWholeSm, .ns = 40000});
  const LaunchId beside = streams.add({.ctas = 20, .threads = 256, .registers = kWholeSm});
  const LaunchId after = streams.add({.ctas = 21, .threads = 256, .registers = kWholeSm});
  streams.run();
  CHECK(streams.us(first) == about(40));
  CHECK(streams.us(beside) == about(10));
  CHECK(streams.started(after) == about(streams.finished(beside)));
  CHECK(streams.us(after) == about(20));  // 20 SMs, then one more
}

TEST_CASE("placement: a waiting kernel of higher priority gets freed places first", "[sim][analytic]") {
  Streams streams;
  const LaunchId low = streams.add({.ctas = 4 * 132, .threads = 256, .registers = kWholeSm}, 0);
  const LaunchId also_low = streams.add({.ctas = 132, .threads = 256, .registers = kWholeSm}, 0);
  const LaunchId high = streams.add({.ctas = 2 * 132, .threads = 256, .registers = kWholeSm}, -1);
  streams.run();
  // The first wave of `low` runs when `high` arrives: two waves of `high`, then three of `low`.
  CHECK(streams.started(high) == about(streams.started(low) + 10));
  CHECK(streams.us(high) == about(20));
  CHECK(streams.us(low) == about(60));
  CHECK(streams.started(also_low) == about(streams.finished(low)));
}

TEST_CASE("placement: a cooperative grid starts whole, and nothing overtakes it", "[sim][analytic]") {
  Streams streams;
  streams.add({.ctas = 120, .threads = 256, .registers = kWholeSm, .ns = 30000});
  const LaunchId whole =
      streams.add({.ctas = 20, .threads = 256, .registers = kWholeSm, .cooperative = true}, -1);
  const LaunchId small = streams.add({.ctas = 1});
  streams.run();
  CHECK(streams.us(whole) == about(10));  // all CTAs at once
  CHECK(streams.started(whole) > 30);
  CHECK(streams.started(small) >= streams.started(whole));
}

TEST_CASE("placement: clusters start one by one, each whole in a GPC", "[sim][analytic]") {
  // 120 SMs held: clusters of 8 need a GPC with eight SMs free, and there is none.
  Streams streams;
  streams.add({.ctas = 120, .threads = 256, .registers = kWholeSm, .ns = 30000});
  const LaunchId clusters = streams.add({.ctas = 16, .threads = 256, .registers = kWholeSm, .cluster = 8});
  streams.run();
  CHECK(streams.started(clusters) > 30);
  CHECK(streams.us(clusters) == about(10));
}

TEST_CASE("placement: registers beyond those of a thread are refused", "[sim][contract]") {
  Bench bench(entry("k", 1, kSleep));
  LaunchConfig config;
  config.kernel = "k";
  config.registers_per_thread = 256;
  config.parameters.resize(8);
  const auto launched = bench.cluster().launch(bench.cluster().create_stream(GpuId{0}), config);
  REQUIRE_FALSE(launched);
  CHECK_THAT(launched.error().message, Contains("256 registers per thread, at most 255"));
}
