// Waits that give up by themselves: loops with a clock, tries that are counted.
#include <catch2/catch.hpp>

#include "bench.hpp"

using namespace ptxwire::sim;
using namespace ptxwire::sim::test;
using Catch::Contains;

namespace {

constexpr double kClockHz = 1.98e9;  // h800-node

/// k(out): waits by `wait` (a loop that leaves to OUT with the start in %rd1), then writes the clocks waited.
std::string timed(const std::string& wait) {
  return entry("k", 1, R"(
  .shared .align 8 .b64 bar; .shared .align 4 .u32 word;
  mbarrier.init.shared::cta.b64 [bar], 1;
  st.shared.u32 [word], 0;
  mov.u64 %rd1, %clock64;
)" + wait + R"(
OUT:
  mov.u64 %rd2, %clock64; sub.u64 %rd2, %rd2, %rd1;
  st.global.u64 [%rd0], %rd2;
)");
}

/// Leaves when more than 100,000 clocks have gone by.
const std::string kLate =
    "mov.u64 %rd3, %clock64; sub.u64 %rd3, %rd3, %rd1; setp.gt.u64 %p2, %rd3, 100000;\n";

uint64_t waited(const std::string& wait, bool park) {
  Bench bench(timed(wait));
  const auto out = bench.allocate(8);
  bench.launch("k", {out}, {.block = {1, 1, 1}});
  RunLimits limits = Bench::default_limits();
  limits.park_polls = park;
  bench.run(limits);
  return bench.read<uint64_t>(out, 1)[0];
}

}  // namespace

TEST_CASE("time-out: a loop with a clock ends soon after its time, however it waits", "[sim]") {
  const std::string wait = GENERATE(
      std::string("L: mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0; @%p1 bra OUT;"),
      std::string("L: mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0, 20000; @%p1 bra OUT;"),
      std::string("L: mbarrier.test_wait.parity.shared::cta.b64 %p1, [bar], 0; @%p1 bra OUT;"),
      std::string("L: ld.volatile.shared.u32 %r1, [word]; setp.ne.u32 %p1, %r1, 0; @%p1 bra OUT;"),
      std::string("L: ld.acquire.sys.global.u32 %r1, [%rd0]; setp.ne.u32 %p1, %r1, 0; @%p1 bra OUT;"),
      std::string(
          "L: nanosleep.u32 500; ld.volatile.global.u32 %r1, [%rd0]; setp.ne.u32 %p1, %r1, 0; @%p1 bra "
          "OUT;"));
  INFO(wait);
  for (const bool park : {false, true}) {
    const uint64_t clocks = waited(wait + kLate + "@!%p2 bra L;", park);
    CHECK(clocks > 100000);
    CHECK(clocks < 145000);  // the suspend time named above is 39,600 clocks
  }
}

TEST_CASE("time-out: tries of an mbarrier are counted", "[sim]") {
  // 4.3 us each (default suspend time), or what the instruction names
  const uint64_t clocks = waited(
      "mov.u32 %r2, 0; L: mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0; @%p1 bra OUT; add.u32 %r2, "
      "%r2, "
      "1; setp.lt.u32 %p2, %r2, 5; @%p2 bra L;",
      true);
  CHECK(static_cast<double>(clocks) == Approx(5 * 4.3e-6 * kClockHz).epsilon(0.02));
  const uint64_t named = waited(
      "mov.u32 %r2, 1; L: mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0, 1000; @%p1 bra OUT; "
      "shl.b32 %r2, "
      "%r2, 1; setp.lt.u32 %p2, %r2, 32; @%p2 bra L;",
      true);
  CHECK(static_cast<double>(named) == Approx(5 * 1e-6 * kClockHz).epsilon(0.2));
}

TEST_CASE("time-out: it is noticed although another GPU goes on", "[sim]") {
  const std::string poll =
      "mov.u64 %rd1, %clock64; L: ld.acquire.sys.global.u32 %r1, [%rd0]; setp.ne.u32 %p1, %r1, 0; @%p1 bra "
      "OUT;" +
      kLate + "@!%p2 bra L; trap; OUT:";
  Bench bench(entry("waiter", 1, poll) + entry("busy", 1, "L: add.u32 %r1, %r1, 1; bra L;"), 2);
  bench.launch("waiter", {bench.allocate(8)}, {.block = {1, 1, 1}});
  bench.launch("busy", {0}, {.block = {1, 1, 1}, .gpu = 1});
  RunLimits limits = Bench::default_limits();
  limits.max_time = ptxwire::models::microseconds(4000);
  CHECK_THAT(bench.run_error(limits), Contains("trap") && Contains("'waiter'"));
}

TEST_CASE("time-out: one of seconds ends with the budget and names who waits", "[sim]") {
  const std::string wait =
      "L: mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0; @%p1 bra OUT;"
      "mov.u64 %rd3, %clock64; sub.u64 %rd3, %rd3, %rd1; setp.gt.u64 %p2, %rd3, 200000000000;"
      "@!%p2 bra L; trap;";
  Bench bench(timed(wait));
  bench.launch("k", {bench.allocate(8)}, {.grid = {20, 1, 1}, .block = {256, 1, 1}});
  RunLimits limits = Bench::default_limits();
  limits.max_time = ptxwire::models::microseconds(200000);
  CHECK_THAT(bench.run_error(limits), Contains("200000 us") && Contains("mbarrier"));
}

TEST_CASE("nanosleep: the lanes of a warp wake together, none after twice its time", "[sim]") {
  const std::string body = R"(
  mul.lo.u32 %r2, %r0, 100; add.u32 %r2, %r2, 1000;       // 1000 to 4100 ns
  xor.b32 %r3, %r0, 31; mul.lo.u32 %r3, %r3, 100; add.u32 %r3, %r3, 1000;
  mov.u64 %rd1, %globaltimer;
  nanosleep.u32 %r2;
  mov.u64 %rd2, %globaltimer;
  nanosleep.u32 %r3;
  mov.u64 %rd3, %globaltimer;
  nanosleep.u32 0x7FFFFFFF;
  mov.u64 %rd4, %globaltimer;
  sub.u64 %rd5, %rd2, %rd1; sub.u64 %rd6, %rd3, %rd2; sub.u64 %rd7, %rd4, %rd3;
  cvt.u32.u64 %r5, %rd5; cvt.u32.u64 %r6, %rd6; cvt.u32.u64 %r7, %rd7;
  mad.wide.u32 %rd8, %r0, 12, %rd0;
  st.global.u32 [%rd8], %r5; st.global.u32 [%rd8+4], %r6; st.global.u32 [%rd8+8], %r7;
)";
  const auto out = words_of(entry("k", 1, body), 96);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    CHECK(out[3 * lane] <= 2 * (1000 + 100 * lane));
    CHECK(out[3 * lane + 1] <= 2 * (1000 + 100 * (31 - lane)));
    CHECK(out[3 * lane] >= 1000);
    CHECK(out[3 * lane + 2] == Approx(1e6).epsilon(0.01));  // "the maximum sleep duration is 1 millisecond"
  }
}
