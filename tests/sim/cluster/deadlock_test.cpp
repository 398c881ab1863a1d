// Kernels that wait for what never comes, by every kind of wait, and kernels that never end: one error each.
#include <catch2/catch.hpp>
#include <cstring>

#include "bench.hpp"

using namespace ptxwire::sim;
using namespace ptxwire::sim::test;
using Catch::Contains;

namespace {

constexpr const char* kSetup = R"(
  .shared .align 8 .b64 bar; .shared .align 4 .u32 word;
  st.shared.u32 [word], 0;
  mbarrier.init.shared::cta.b64 [bar], 2;
  bar.sync 0;
)";

struct Row {
  const char* code;
  std::vector<const char*> words;
  Shape shape{};
};

}  // namespace

TEST_CASE("deadlock: every kind of wait is reported with what is missing", "[sim]") {
  const Row row = GENERATE(
      // polls
      Row{"L: ld.volatile.global.u32 %r1, [%rd0]; setp.eq.u32 %p1, %r1, 0; @%p1 bra L;",
          {"polls memory at 0x"}},
      Row{"L: ld.volatile.shared.u32 %r1, [word]; setp.eq.u32 %p1, %r1, 0; @%p1 bra L;",
          {"polls shared memory"}},
      Row{"L: nanosleep.u32 100; ld.acquire.gpu.global.u32 %r1, [%rd0]; setp.eq.u32 %p1, %r1, 0; @%p1 bra L;",
          {"polls memory"}},
      // barriers
      Row{"setp.lt.u32 %p1, %r0, 32; @%p1 bar.sync 0; L: ld.volatile.global.u32 %r1, [%rd0]; setp.eq.u32 "
          "%p2, "
          "%r1, 0; @!%p1 bra L;",
          {"waits at barrier 0", "32 of 64 threads", "polls memory"},
          {.block = {64, 1, 1}}},
      Row{"bar.sync 3, 96;", {"named barrier 3 (64 of 96 threads there)"}, {.block = {64, 1, 1}}},
      Row{"barrier.cta.red.popc.u32 %r1, 5, 64, %p1;", {"named barrier 5 (32 of 64 threads there)"}},
      Row{"setp.lt.u32 %p1, %r0, 16; @%p1 barrier.cta.sync 1, 32; @!%p1 barrier.cta.sync 2, 32;",
          {"named barrier 1 (0 of 32", "named barrier 2 (0 of 32"}},
      Row{"mov.u32 %r1, %cluster_ctarank; setp.eq.u32 %p1, %r1, 0; @%p1 bra L; barrier.cluster.arrive; "
          "barrier.cluster.wait; L: @%p1 bar.sync 1, 64;",
          {"cluster barrier (32 of 64 threads there)", "named barrier 1"},
          {.grid = {2, 1, 1}, .cluster = 2}},
      // mbarriers
      Row{"mbarrier.arrive.shared::cta.b64 _, [bar]; L: mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], "
          "1; "
          "@!%p1 bra L; M: mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0; @!%p1 bra M;",
          {"waits for an mbarrier at shared", "1 arrivals and 0 bytes missing"},
          {.block = {1, 1, 1}}},
      Row{"mbarrier.arrive.shared::cta.b64 _, [bar]; mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 64; "
          "M: mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0, 1000; @!%p1 bra M;",
          {"0 arrivals and 64 bytes missing"},
          {.block = {1, 1, 1}}},
      Row{"M: mbarrier.test_wait.parity.shared::cta.b64 %p1, [bar], 0; @!%p1 bra M;", {"waits", "deadlock"}},
      // lanes of a warp
      Row{"setp.eq.u32 %p1, %r0, 0; @%p1 bra L; shfl.sync.idx.b32 %r1, %r0, 0, 31, -1; bra END; L: "
          "barrier.cta.sync 4, 64; END:",
          {"waits for lanes of its warp", "named barrier 4"}});
  INFO(row.code);
  Bench bench(entry("k", 1, std::string(kSetup) + row.code));
  bench.launch("k", {bench.allocate(64)}, row.shape);
  RunLimits limits = Bench::default_limits();
  limits.max_time = ptxwire::models::microseconds(500);
  const std::string text = bench.run_error(limits);
  INFO(text);
  CHECK_THAT(text, Contains("deadlock") || Contains("500 us"));
  for (const char* word : row.words) CHECK_THAT(text, Contains(word));
  CHECK_THAT(text, Contains("'k'") && Contains("test.ptx:"));
}

TEST_CASE("deadlock: a kernel that waits for a later one of its stream, or for one that finds no room",
          "[sim]") {
  const std::string wait = "L: ld.acquire.sys.global.u32 %r1, [%rd0]; setp.eq.u32 %p1, %r1, 0; @%p1 bra L;";
  const std::string set = "st.release.sys.global.u32 [%rd0], 1;";
  Bench bench(entry("waiter", 1, wait) + entry("setter", 1, set));
  const auto flag = bench.allocate(4);
  SECTION("same stream") {
    bench.launch("waiter", {flag});
    bench.launch("setter", {flag});
    CHECK_THAT(bench.run_error(), Contains("deadlock") && Contains("'waiter'"));
  }
  SECTION("two streams, enough room") {
    bench.launch("waiter", {flag});
    LaunchConfig config;
    config.kernel = "setter";
    config.parameters.resize(8);
    std::memcpy(config.parameters.data(), &flag, 8);
    REQUIRE(bench.cluster().launch(bench.cluster().create_stream(GpuId{0}), config));
    bench.run();
  }
  SECTION("two streams, the first fills the GPU") {
    bench.launch("waiter", {flag}, {.grid = {264, 1, 1}, .block = {1024, 1, 1}});
    LaunchConfig config;
    config.kernel = "setter";
    config.parameters.resize(8);
    std::memcpy(config.parameters.data(), &flag, 8);
    REQUIRE(bench.cluster().launch(bench.cluster().create_stream(GpuId{0}), config));
    CHECK_THAT(bench.run_error(), Contains("'setter' has 0 of 1 CTAs placed"));
  }
}

TEST_CASE("budget: whatever a kernel does for ever, the run ends in time", "[sim]") {
  const char* code = GENERATE(
      "L: bra L;", "L: add.u32 %r1, %r1, 1; bra L;", "L: st.global.u32 [%rd0], %r1; bra L;",
      "L: ld.volatile.global.u32 %r1, [%rd0]; bra L;", "L: nanosleep.u32 1000000; bra L;",
      "L: mov.u64 %rd1, %clock64; setp.ne.u64 %p1, %rd1, 0; @%p1 bra L;",
      "L: mov.u64 %rd1, %globaltimer; bra L;", "L: bar.sync 0; bra L;",
      "L: atom.global.cas.b32 %r1, [%rd0], 5, 6; setp.ne.u32 %p1, %r1, 5; @%p1 bra L;",
      "L: shfl.sync.idx.b32 %r1, %r1, 0, 31, -1; bra L;", "L: membar.sys; bra L;",
      "L: setp.lt.u32 %p1, %r0, 7; @%p1 bra L; M: bra M;",
      "L: ld.volatile.global.u32 %r1, [%rd0]; xor.b32 %r2, %r2, 1; setp.eq.u32 %p1, %r1, 0; @%p1 bra L;");
  INFO(code);
  Bench bench(entry("k", 1, code));
  bench.launch("k", {bench.allocate(64)});
  RunLimits limits = Bench::default_limits();
  limits.max_time = ptxwire::models::microseconds(200);
  CHECK_THAT(bench.run_error(limits), Contains("200 us") || Contains("deadlock"));
}
