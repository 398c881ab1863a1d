// What a thread sees of other threads' stores (PTX ISA 8): stale lines in L1, release and acquire, and what a
// release waits for.
#include <catch2/catch.hpp>
#include <cstring>

#include "bench.hpp"

using namespace ptxwire::sim;
using namespace ptxwire::sim::test;

TEST_CASE("memory model: a plain load may see the line of L1, others go past it", "[sim]") {
  struct Row {
    const char* load;
    uint32_t expected;
  };
  // GPU 0 has the line in L1 before GPU 1 writes 2 over 1
  const Row row = GENERATE(Row{"ld.global.u32", 1}, Row{"ld.weak.global.u32", 1}, Row{"ld.global.ca.u32", 1},
                           Row{"ld.global.cg.u32", 2}, Row{"ld.volatile.global.u32", 2},
                           Row{"ld.relaxed.gpu.global.u32", 2}, Row{"ld.acquire.sys.global.u32", 2},
                           Row{"fence.acq_rel.gpu; ld.global.u32", 2});
  INFO(row.load);
  const std::string reader = std::string(R"(
  ld.global.u32 %r1, [%rd0];
  st.global.u32 [%rd1], %r1;
  nanosleep.u32 20000;
)") + row.load + " %r2, [%rd0];\nst.global.u32 [%rd1+4], %r2;\n";
  const std::string writer = "nanosleep.u32 8000; st.global.u32 [%rd0], 2;\n";
  Bench bench(entry("reader", 2, reader) + entry("writer", 1, writer), 2);
  const auto cell = bench.allocate(128);
  const auto out = bench.allocate(8);
  bench.write<uint32_t>(cell, {1});
  bench.launch("reader", {cell, out}, {.block = {1, 1, 1}});
  bench.launch("writer", {cell}, {.block = {1, 1, 1}, .gpu = 1});
  bench.run();
  CHECK(bench.read<uint32_t>(out, 2) == std::vector<uint32_t>{1, row.expected});
}

TEST_CASE("memory model: a store updates the line of its own SM", "[sim]") {
  const auto out = words_of(entry("k", 1, R"(
  ld.global.u32 %r1, [%rd0+256]; setp.ne.u32 %p1, %r1, 0; @%p1 trap;
  st.global.u32 [%rd0+256], 5;
  ld.global.u32 %r2, [%rd0+256];
  st.global.u32 [%rd0], %r2;
)"),
                            128, {.block = {1, 1, 1}});
  CHECK(out[0] == 5);
}

TEST_CASE("memory model: release and acquire never show an old payload", "[sim]") {
  // A payload of 32 x 16 bytes and a flag to and fro; payload and flags lie on GPU `home`.
  const bool two_gpus = GENERATE(false, true);
  const uint32_t home = GENERATE(0U, 1U);
  const std::string publish = GENERATE("st.release.sys.global.u32 [%rd2], %r2;",
                                       "fence.acq_rel.sys; st.relaxed.sys.global.u32 [%rd2], %r2;",
                                       "red.release.sys.global.add.u32 [%rd2], 1;");
  INFO(publish << " on " << (two_gpus ? "two GPUs" : "one GPU") << ", memory on " << home);
  const std::string head = R"(
  mov.u32 %r2, 1;
  mad.wide.u32 %rd3, %r0, 16, %rd0;
)";
  const std::string writer = head + R"(
LOOP:
  st.global.v4.u32 [%rd3], {%r2, %r2, %r2, %r2};
  bar.warp.sync -1;
  setp.ne.u32 %p1, %r0, 0;
  @%p1 bra WAIT;
)" + publish + R"(
WAIT:
  ld.acquire.sys.global.u32 %r3, [%rd1];
  setp.lt.u32 %p2, %r3, %r2;
  @%p2 bra WAIT;
  add.u32 %r2, %r2, 1;
  setp.le.u32 %p3, %r2, 60;
  @%p3 bra LOOP;
)";
  const std::string reader = head + R"(
LOOP:
  ld.acquire.sys.global.u32 %r3, [%rd2];
  setp.lt.u32 %p2, %r3, %r2;
  @%p2 bra LOOP;
  ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%rd3];
  setp.ne.u32 %p4, %r4, %r2; setp.ne.or.u32 %p4, %r7, %r2, %p4;
  @%p4 trap;
  bar.warp.sync -1;
  setp.ne.u32 %p1, %r0, 0;
  @%p1 bra NEXT;
  st.release.sys.global.u32 [%rd1], %r2;
NEXT:
  add.u32 %r2, %r2, 1;
  setp.le.u32 %p3, %r2, 60;
  @%p3 bra LOOP;
)";
  Bench bench(entry("writer", 3, writer) + entry("reader", 3, reader), 2);
  const auto payload = bench.allocate(512, home);
  const auto flags = bench.allocate(1024, home);
  const uint32_t other = two_gpus ? 1 : 0;
  bench.launch("writer", {payload, flags, flags + 512});
  // on one GPU both must run at once: the second launch is in another stream
  if (other == 0) {
    LaunchConfig config;
    config.kernel = "reader";
    config.block = {32, 1, 1};
    config.parameters.resize(24);
    const uint64_t parameters[] = {payload, flags, flags + 512};
    std::memcpy(config.parameters.data(), parameters, 24);
    REQUIRE(bench.cluster().launch(bench.cluster().create_stream(GpuId{0}), config));
  } else {
    bench.launch("reader", {payload, flags, flags + 512}, {.gpu = other});
  }
  bench.run();
  CHECK(bench.read<uint32_t>(flags + 512, 1)[0] == 60);
}

TEST_CASE("memory model: a release waits for the acknowledgements of earlier remote stores", "[sim]") {
  // time of a st.release.sys behind n remote stores of 16 bytes by every thread of the CTA
  const std::string body = R"(
  mul.wide.u32 %rd5, %r0, 16; add.u64 %rd3, %rd0, %rd5;
  mov.u32 %r2, 0;
  mov.u32 %r4, %ntid.x;
  cvt.u32.u64 %r3, %rd2;
LOOP:
  setp.ge.u32 %p1, %r2, %r3;
  @%p1 bra DONE;
  st.global.v4.u32 [%rd3], {%r2, %r2, %r2, %r2};
  mad.wide.u32 %rd3, %r4, 16, %rd3;
  add.u32 %r2, %r2, 1;
  bra LOOP;
DONE:
  bar.sync 0;
  setp.ne.u32 %p2, %r0, 0;
  @%p2 exit;
  mov.u64 %rd6, %clock64;
  st.release.sys.global.u32 [%rd0+131072], 1;
  mov.u64 %rd7, %clock64;
  sub.u64 %rd8, %rd7, %rd6;
  st.global.u64 [%rd1], %rd8;
)";
  const auto cycles = [&](uint32_t threads, uint64_t stores) {
    Bench bench(entry("k", 3, body), 2);
    const auto target = bench.allocate(1 << 18, 1);
    const auto out = bench.allocate(8);
    bench.launch("k", {target, out, stores}, {.block = {threads, 1, 1}});
    bench.run();
    return bench.read<uint64_t>(out, 1)[0];
  };
  const ptxwire::models::Machine machine = Bench("", 1).cluster().machine();
  const auto& link = machine.nvlink;
  const double one_way_ns =
      link.egress_latency_ns + 2 * link.link_latency_ns + link.switch_latency_ns + link.ingress_latency_ns;
  const double round_trip_clk = 2 * one_way_ns * machine.sm.clock_hz * 1e-9;
  const auto none = static_cast<double>(cycles(32, 0));
  const auto one = static_cast<double>(cycles(32, 1));
  const auto many = static_cast<double>(cycles(512, 8));
  CHECK(none < round_trip_clk);
  CHECK(one > round_trip_clk * 0.9);
  CHECK(many > one + 100);  // up to 44 KiB on the way, the links take 114 bytes a cycle
}
