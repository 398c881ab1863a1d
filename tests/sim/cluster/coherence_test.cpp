// A thread sees its own accesses to one address in program order (PTX ISA 8.9, coherence), whatever path they
// take: L1, the store path, atomics at L2.
#include <catch2/catch.hpp>

#include "bench.hpp"

using namespace ptxwire::sim;
using namespace ptxwire::sim::test;

namespace {

/// Runs `code` in one warp with a private word per thread at %rd3 (zero at first), on the own GPU's memory or
/// the peer's; checks that %r1 is 5 in every thread.
void check_sees_five(const std::string& code) {
  for (const uint32_t home : {0U, 1U}) {
    INFO("memory of GPU " << home << ": " << code);
    const std::string body =
        "mul.wide.u32 %rd2, %r0, 4; add.u64 %rd3, %rd0, %rd2; mul.wide.u32 %rd6, %r0, 16;\n"
        "add.u64 %rd4, %rd0, %rd6; mov.u32 %r9, 0;\n" +
        code + "add.u64 %rd5, %rd1, %rd2; st.global.u32 [%rd5], %r1;\n";
    Bench bench(entry("k", 2, body), 2);
    const auto cell = bench.allocate(1 << 17, home);
    const auto out = bench.allocate(128);
    bench.launch("k", {cell, out});
    bench.run();
    CHECK(bench.read<uint32_t>(out, 32) == std::vector<uint32_t>(32, 5));
  }
}

}  // namespace

TEST_CASE("coherence: a load that follows a store, with a load of the line in flight", "[sim]") {
  const std::string store =
      GENERATE("st.global.u32 [%rd3], 5;", "red.global.add.u32 [%rd3], 5;",
               "atom.global.add.u32 %r8, [%rd3], 5;", "atom.global.exch.b32 %r8, [%rd3], 5;");
  const std::string load = GENERATE("ld.global.u32", "ld.volatile.global.u32", "ld.relaxed.gpu.global.u32");
  check_sees_five("ld.global.u32 %r2, [%rd3];\n" + store + "\n" + load + " %r1, [%rd3];\n");
  check_sees_five("ld.global.u32 %r2, [%rd3];\n" + store + "\nadd.u32 %r3, %r2, 1;\nadd.u32 %r4, %r3, 1;\n" +
                  load + " %r1, [%rd3];\n");
  check_sees_five("ld.global.u32 %r2, [%rd3];\nadd.u32 %r3, %r2, 1;\nadd.u32 %r4, %r3, 1;\n" + store + "\n" +
                  load + " %r1, [%rd3];\n");
  check_sees_five("ld.global.u32 %r2, [%rd3];\n" + store + "\nnanosleep.u32 9000;\n" + load +
                  " %r1, [%rd3];\n");
}

TEST_CASE("coherence: a load does not pass a store that waits behind many others", "[sim]") {
  std::string burst;
  for (int i = 1; i < 100; ++i)
    burst += "st.global.v4.u32 [%rd4+" + std::to_string(i * 512) + "], {%r0, %r0, %r0, %r0};\n";
  const std::string load =
      GENERATE("ld.global.u32 %r1, [%rd3];", "ld.volatile.global.u32 %r1, [%rd3];",
               "ld.relaxed.sys.global.u32 %r1, [%rd3];", "ld.acquire.sys.global.u32 %r1, [%rd3];",
               "atom.global.add.u32 %r1, [%rd3], 1;", "atom.global.cas.b32 %r1, [%rd3], 5, 6;");
  check_sees_five(burst + "st.global.u32 [%rd3], 5;\n" + load + "\n");
}

TEST_CASE("coherence: stores and reductions of one thread to one address arrive in order", "[sim]") {
  std::string code;
  for (int i = 0; i < 30; ++i) {
    code += "st.global.v4.u32 [%rd4+" + std::to_string(1024 + i * 512) + "], {%r0, %r0, %r0, %r0};\n";
    code += "st.global.u32 [%rd3], " + std::to_string(i) + ";\nred.global.add.u32 [%rd3], 1000;\n";
  }
  check_sees_five(
      code + "st.global.u32 [%rd3], 3; red.global.add.u32 [%rd3], 2;\nld.volatile.global.u32 %r1, [%rd3];\n");
}

TEST_CASE("coherence: a bulk copy reads what the thread stored before, after a fence", "[sim]") {
  const std::string body = R"(
  .shared .align 16 .b8 box[16]; .shared .align 8 .b64 bar;
  mbarrier.init.shared::cta.b64 [bar], 1;
  st.global.u32 [%rd0], 5;
  fence.proxy.async;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 16;
  mov.u32 %r2, box; mov.u32 %r3, bar;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd0], 16, [%r3];
WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0; @!%p1 bra WAIT;
  ld.shared.u32 %r1, [box];
  st.global.u32 [%rd0+64], %r1;
)";
  CHECK(words_of(entry("k", 1, body), 32, {.block = {1, 1, 1}})[16] == 5);
}

TEST_CASE("coherence: after its group is done a thread sees what its bulk copy wrote", "[sim]") {
  const std::string body = R"(
  .shared .align 16 .b8 box[16];
  ld.global.u32 %r1, [%rd0+64]; setp.ne.u32 %p1, %r1, 0; @%p1 trap;
  st.shared.u32 [box], 5;
  fence.proxy.async;
  mov.u32 %r2, box; add.u64 %rd1, %rd0, 64;
  cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], 16;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
  ld.global.u32 %r1, [%rd1];
  st.global.u32 [%rd0], %r1;
)";
  CHECK(words_of(entry("k", 1, body), 32, {.block = {1, 1, 1}})[0] == 5);
}

TEST_CASE("coherence: loads of other warps do not bring old lines back behind an acquire", "[sim]") {
  // GPU 1 writes payload and flag; on GPU 0 warp 0 waits for the flag and then reads the payload, while the
  // other warps of its CTA keep reading the payload with plain loads.
  const std::string reader = R"(
  .shared .align 4 .u32 done;
  st.shared.u32 [done], 0;
  bar.sync 0;
  mov.u32 %r2, 1;
  setp.ge.u32 %p1, %r0, 32;
  @%p1 bra NOISE;
LOOP:
  ld.acquire.sys.global.u32 %r3, [%rd1];
  setp.lt.u32 %p2, %r3, %r2;
  @%p2 bra LOOP;
  ld.global.u32 %r4, [%rd0];
  setp.lt.u32 %p2, %r4, %r2;
  @%p2 trap;
  add.u32 %r2, %r2, 1;
  setp.le.u32 %p3, %r2, 100;
  @%p3 bra LOOP;
  st.volatile.shared.u32 [done], 1;
  bra END;
NOISE:
  ld.global.u32 %r5, [%rd0];
  add.u32 %r6, %r6, %r5;
  ld.volatile.shared.u32 %r7, [done];
  setp.eq.u32 %p2, %r7, 0;
  @%p2 bra NOISE;
END:
)";
  const std::string writer = R"(
  mov.u32 %r2, 1;
LOOP:
  st.global.u32 [%rd0], %r2;
  st.release.sys.global.u32 [%rd1], %r2;
  add.u32 %r2, %r2, 1;
  setp.le.u32 %p3, %r2, 100;
  @%p3 bra LOOP;
)";
  Bench bench(entry("reader", 2, reader) + entry("writer", 2, writer), 2);
  const auto payload = bench.allocate(128, GENERATE(0U, 1U));
  const auto flag = bench.allocate(128);
  bench.launch("reader", {payload, flag}, {.block = {256, 1, 1}});
  bench.launch("writer", {payload, flag}, {.block = {1, 1, 1}, .gpu = 1});
  bench.run();
}

TEST_CASE("coherence: a cluster barrier orders global memory between CTAs", "[sim]") {
  // CTA 1 has the old lines in L1. CTA 0 writes them behind a long queue of stores; both pass the barrier.
  const std::string form = GENERATE("", ".aligned");
  const std::string body = R"(
  mov.u32 %r2, %cluster_ctarank;
  mul.wide.u32 %rd2, %r0, 4; add.u64 %rd3, %rd0, %rd2;
  ld.global.u32 %r3, [%rd3];
  setp.ne.u32 %p1, %r3, 0; @%p1 trap;
  barrier.cluster.arrive; barrier.cluster.wait;
  setp.ne.u32 %p2, %r2, 0;
  @%p2 bra MEET;
  mul.wide.u32 %rd4, %r0, 16; add.u64 %rd4, %rd4, %rd1;
  mov.u32 %r4, 0;
FILL:
  st.global.v4.u32 [%rd4], {%r4, %r4, %r4, %r4};
  add.u64 %rd4, %rd4, 512; add.u32 %r4, %r4, 1; setp.lt.u32 %p3, %r4, 100; @%p3 bra FILL;
  st.global.u32 [%rd3], 5;
MEET:
  barrier.cluster.arrive)" +
                           form + "; barrier.cluster.wait" + form + R"(;
  ld.global.u32 %r5, [%rd3];
  setp.ne.u32 %p1, %r5, 5; @%p1 trap;
)";
  Bench bench(entry("k", 2, body), 2);
  const auto cell = bench.allocate(128, GENERATE(0U, 1U));
  const auto noise = bench.allocate(51200, 1);
  bench.launch("k", {cell, noise}, {.grid = {2, 1, 1}, .cluster = 2});
  bench.run();
}

TEST_CASE("coherence: an mbarrier in another CTA orders global memory at cluster scope", "[sim]") {
  const std::string body = R"(
  .shared .align 8 .b64 bar;
  mov.u32 %r2, %cluster_ctarank;
  ld.global.u32 %r3, [%rd0];
  setp.ne.u32 %p1, %r3, 0; @%p1 trap;
  mbarrier.init.shared::cta.b64 [bar], 1;
  barrier.cluster.arrive; barrier.cluster.wait;
  setp.ne.u32 %p2, %r2, 0;
  @%p2 bra WAIT;
  mov.u32 %r4, 0; mov.u64 %rd4, %rd1;
FILL:
  st.global.v4.u32 [%rd4], {%r4, %r4, %r4, %r4};
  add.u64 %rd4, %rd4, 512; add.u32 %r4, %r4, 1; setp.lt.u32 %p3, %r4, 100; @%p3 bra FILL;
  st.global.u32 [%rd0], 5;
  mov.u32 %r5, bar; mapa.shared::cluster.u32 %r6, %r5, 1;
  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r6];
  bra DONE;
WAIT:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3, [bar], 0; @!%p3 bra WAIT;
  ld.global.u32 %r7, [%rd0];
  setp.ne.u32 %p1, %r7, 5; @%p1 trap;
DONE:
)";
  Bench bench(entry("k", 2, body), 2);
  const auto cell = bench.allocate(128, GENERATE(0U, 1U));
  const auto noise = bench.allocate(51200, 1);
  bench.launch("k", {cell, noise}, {.grid = {2, 1, 1}, .block = {1, 1, 1}, .cluster = 2});
  bench.run();
}
