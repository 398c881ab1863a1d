// Barriers of CTAs and clusters, distributed shared memory (PTX ISA 9.7.13.1 to 9.7.13.4).
#include <catch2/catch.hpp>

#include "bench.hpp"

using namespace ptxwire::sim;
using namespace ptxwire::sim::test;

namespace {

constexpr const char* kStoreR1 = "mad.wide.u32 %rd1, %r0, 4, %rd0; st.global.u32 [%rd1], %r1;\n";

}  // namespace

TEST_CASE("barrier: producers arrive, consumers wait, with thread counts", "[sim]") {
  // warps 0 and 1 produce and only arrive; warps 2 and 3 consume. Barrier 3 counts all 128 threads.
  const std::string body = R"(
  .shared .align 4 .u32 slot[64];
  mov.u32 %r2, slot;
  and.b32 %r3, %r0, 63;
  mad.lo.u32 %r2, %r3, 4, %r2;
  mov.u32 %r1, 1;
  setp.ge.u32 %p1, %r0, 64;
  @%p1 bra CONSUME;
  nanosleep.u32 1000;
  add.u32 %r4, %r0, 500;
  st.shared.u32 [%r2], %r4;
  barrier.cta.arrive 3, 128;
  bra DONE;
CONSUME:
  barrier.cta.sync 3, 128;
  ld.shared.u32 %r1, [%r2];
DONE:
)";
  const auto out = words_of(entry("k", 1, body + std::string(kStoreR1)), 128, {.block = {128, 1, 1}});
  for (uint32_t tid = 0; tid < 128; ++tid) CHECK(out[tid] == (tid < 64 ? 1 : tid - 64 + 500));
}

TEST_CASE("barrier: reductions over the CTA, several rounds", "[sim]") {
  const std::string body = R"(
  setp.lt.u32 %p1, %r0, 37;
  barrier.red.popc.u32 %r2, 0, %p1;
  setp.lt.u32 %p1, %r0, 96;
  barrier.red.and.pred %p2, 0, %p1;
  setp.eq.u32 %p1, %r0, 95;
  barrier.red.or.pred %p3, 0, %p1;
  setp.lt.u32 %p1, %r0, 95;
  barrier.red.and.pred %p4, 0, !%p1;
  selp.b32 %r3, 1000, 0, %p2;
  selp.b32 %r4, 2000, 0, %p3;
  selp.b32 %r5, 4000, 0, %p4;
  add.u32 %r1, %r2, %r3;
  add.u32 %r1, %r1, %r4;
  add.u32 %r1, %r1, %r5;
)";
  const auto out = words_of(entry("k", 1, body + std::string(kStoreR1)), 96, {.block = {96, 1, 1}});
  for (uint32_t tid = 0; tid < 96; ++tid) CHECK(out[tid] == 3037);
}

TEST_CASE("barrier: threads that exited do not hold up the others", "[sim]") {
  const std::string body = R"(
  .shared .align 4 .u32 count;
  st.shared.u32 [count], 0;
  bar.sync 0;
  setp.ge.u32 %p1, %r0, 70;
  @%p1 exit;
  atom.shared.add.u32 %r2, [count], 1;
  bar.sync 0;
  ld.shared.u32 %r1, [count];
)";
  const auto out = words_of(entry("k", 1, body + std::string(kStoreR1)), 128, {.block = {128, 1, 1}});
  for (uint32_t tid = 0; tid < 128; ++tid) CHECK(out[tid] == (tid < 70 ? 70 : 0));
}

TEST_CASE("barrier: lanes that a guard excludes do not wait, threads are counted one by one", "[sim]") {
  const std::string body = R"(
  .shared .align 4 .u32 value;
  setp.lt.u32 %p1, %r0, 20;
  setp.eq.u32 %p2, %r0, 3;
  @%p2 st.shared.u32 [value], 8;
  @%p1 barrier.cta.sync 0;
  @!%p1 barrier.cta.sync 0;
  ld.shared.u32 %r1, [value];
)";
  const auto out = words_of(entry("k", 1, body + std::string(kStoreR1)), 32);
  for (uint32_t tid = 0; tid < 32; ++tid) CHECK(out[tid] == 8);
}

// "causes executing thread to wait for all non-exited threads from its warp and marks warps' arrival at
// barrier" (PTX ISA, barrier): with a thread count warps are counted.
TEST_CASE("barrier: counted, by warps that are diverged and partly exited", "[sim]") {
  // Warp 0: lanes 0-7 exit, 8-15 arrive early, 16-31 late. Warp 1 waits for it.
  const std::string body = R"(
  .shared .align 4 .u32 value;
  mov.u32 %r1, 1;
  setp.ge.u32 %p1, %r0, 32;
  @%p1 bra WAIT;
  setp.lt.u32 %p2, %r0, 8;
  @%p2 exit;
  setp.lt.u32 %p3, %r0, 16;
  @%p3 bra EARLY;
  nanosleep.u32 5000;
  mov.u32 %r2, 77;
  st.shared.u32 [value], %r2;
EARLY:
  barrier.cta.arrive 2, 64;
  bra DONE;
WAIT:
  barrier.cta.sync 2, 64;
  ld.shared.u32 %r1, [value];
DONE:
)";
  const auto out = words_of(entry("k", 1, body + std::string(kStoreR1)), 64, {.block = {64, 1, 1}});
  for (uint32_t tid = 0; tid < 64; ++tid) CHECK(out[tid] == (tid < 8 ? 0 : tid < 32 ? 1 : 77));
}

TEST_CASE("barrier: counted, lanes of a warp arrive at different instructions or leave instead", "[sim]") {
  // Three rounds of barrier 1 with 96 threads. In warp 0 odd lanes use another instruction than even ones and
  // lanes from 24 on exit after the first round; the last warp has 8 threads.
  const std::string body = R"(
  .shared .align 4 .u32 count;
  setp.eq.u32 %p1, %r0, 0;
  @%p1 st.shared.u32 [count], 0;
  bar.sync 0;
  mov.u32 %r2, 0;
  mov.u32 %r1, 0;
  and.b32 %r3, %r0, 1; setp.eq.u32 %p2, %r3, 1;
LOOP:
  atom.shared.add.u32 %r4, [count], 1;
  @%p2 bra ODD;
  barrier.cta.sync 1, 96;
  bra MET;
ODD:
  nanosleep.u32 700;
  barrier.cta.sync 1, 96;
MET:
  ld.shared.u32 %r5, [count];
  mad.lo.u32 %r1, %r1, 1000, %r5;
  barrier.cta.sync 1, 96;
  setp.lt.u32 %p3, %r0, 32; setp.ge.and.u32 %p3, %r0, 24, %p3;
  @%p3 exit;
  add.u32 %r2, %r2, 1; setp.lt.u32 %p4, %r2, 3; @%p4 bra LOOP;
)";
  const auto out = words_of(entry("k", 1, body + std::string(kStoreR1)), 72, {.block = {72, 1, 1}});
  for (uint32_t tid = 0; tid < 72; ++tid)
    CHECK(out[tid] == (tid >= 24 && tid < 32 ? 0 : 72 * 1000000 + 136 * 1000 + 200));
}

TEST_CASE("barrier: counted reductions gather over diverged lanes", "[sim]") {
  const std::string body = R"(
  and.b32 %r3, %r0, 3; setp.eq.u32 %p2, %r3, 0;
  setp.lt.u32 %p1, %r0, 40;
  @%p2 bra OTHER;
  barrier.cta.red.popc.u32 %r1, 3, 64, %p1;
  bra DONE;
OTHER:
  barrier.cta.red.popc.u32 %r1, 3, 64, %p1;
DONE:
)";
  const auto out = words_of(entry("k", 1, body + std::string(kStoreR1)), 64, {.block = {64, 1, 1}});
  for (uint32_t tid = 0; tid < 64; ++tid) CHECK(out[tid] == 40);
}

TEST_CASE("barrier: two named barriers at the same time do not mix", "[sim]") {
  // warps 0,1 use barrier 1; warps 2,3 barrier 2, chosen by register; the second pair is much later
  const std::string body = R"(
  .shared .align 4 .u32 value[2];
  shr.u32 %r2, %r0, 6;
  add.u32 %r3, %r2, 1;
  setp.eq.u32 %p1, %r2, 1;
  @!%p1 bra READY;
  nanosleep.u32 3000;
READY:
  mov.u32 %r4, value;
  mad.lo.u32 %r4, %r2, 4, %r4;
  and.b32 %r5, %r0, 63;
  setp.ne.u32 %p2, %r5, 40;
  @%p2 bra WAIT;
  st.shared.u32 [%r4], %r3;
WAIT:
  bar.sync %r3, 64;
  ld.shared.u32 %r1, [%r4];
)";
  const auto out = words_of(entry("k", 1, body + std::string(kStoreR1)), 128, {.block = {128, 1, 1}});
  for (uint32_t tid = 0; tid < 128; ++tid) CHECK(out[tid] == tid / 64 + 1);
}

TEST_CASE("cluster: CTAs exchange through distributed shared memory", "[sim]") {
  const std::string body = R"(
  .shared .align 8 .u32 box[2];
  mov.u32 %r2, %cluster_ctarank;
  xor.b32 %r3, %r2, 1;
  mov.u32 %r4, box;
  mapa.shared::cluster.u32 %r5, %r4, %r3;
  barrier.cluster.arrive; barrier.cluster.wait;
  mov.u32 %r6, %ctaid.x;
  add.u32 %r7, %r6, 100;
  setp.ne.u32 %p1, %r0, 0;
  @%p1 bra SKIP;
  st.shared::cluster.u32 [%r5], %r7;
  atom.shared::cluster.add.u32 %r8, [%r5+4], %r7;
SKIP:
  barrier.cluster.arrive.release; barrier.cluster.wait.acquire;
  ld.shared.u32 %r8, [box];
  ld.shared.u32 %r9, [box+4];
  getctarank.shared::cluster.u32 %r10, %r5;
  mad.wide.u32 %rd1, %r6, 12, %rd0;
  @%p1 bra DONE;
  st.global.u32 [%rd1], %r8; st.global.u32 [%rd1+4], %r9; st.global.u32 [%rd1+8], %r10;
DONE:
)";
  Bench bench(entry("k", 1, body));
  const auto out = bench.allocate(4 * 12);
  bench.launch("k", {out}, {.grid = {4, 1, 1}, .cluster = 2});
  bench.run();
  CHECK(bench.read<uint32_t>(out, 12) ==
        std::vector<uint32_t>{101, 101, 1, 100, 100, 0, 103, 103, 1, 102, 102, 0});
}

TEST_CASE("cluster: a thread that arrives and exits is counted once", "[sim]") {
  // CTA 0 arrives and exits at once; CTA 1 must still wait for its own late thread
  const std::string body = R"(
  mov.u32 %r2, %cluster_ctarank;
  mov.u32 %r1, 0;
  setp.eq.u32 %p1, %r2, 0;
  @!%p1 bra OTHER;
  nanosleep.u32 1000;
  barrier.cluster.arrive;
  exit;
OTHER:
  setp.ge.u32 %p2, %r0, 32;
  @!%p2 bra FIRST;
  nanosleep.u32 5000;
  st.volatile.global.u32 [%rd0+1024], 77;
  barrier.cluster.arrive; barrier.cluster.wait;
  exit;
FIRST:
  barrier.cluster.arrive; barrier.cluster.wait;
  ld.volatile.global.u32 %r1, [%rd0+1024];
)";
  const auto out = words_of(entry("k", 1, body + std::string(kStoreR1)), 300,
                            {.grid = {2, 1, 1}, .block = {64, 1, 1}, .cluster = 2});
  for (uint32_t tid = 0; tid < 32; ++tid) CHECK(out[tid] == 77);
}

TEST_CASE("cluster: lanes of one warp may be a round apart", "[sim]") {
  // The low half arrives for round 1 before the high half waits for round 0.
  const std::string body = R"(
  mov.u32 %r1, 0;
  setp.lt.u32 %p1, %r0, 16;
  barrier.cluster.arrive;
  @%p1 bra LOW;
  nanosleep.u32 20000;
  barrier.cluster.wait;
  barrier.cluster.arrive;
  nanosleep.u32 20000;
  st.volatile.global.u32 [%rd0+1024], 5;
  barrier.cluster.wait;
  barrier.cluster.arrive; barrier.cluster.wait;
  bra DONE;
LOW:
  barrier.cluster.wait;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  barrier.cluster.arrive; barrier.cluster.wait;
  ld.volatile.global.u32 %r1, [%rd0+1024];
DONE:
)";
  const auto out = words_of(entry("k", 1, body + std::string(kStoreR1)), 300,
                            {.grid = {2, 1, 1}, .block = {32, 1, 1}, .cluster = 2});
  for (uint32_t tid = 0; tid < 32; ++tid) CHECK(out[tid] == (tid < 16 ? 5 : 0));
}

TEST_CASE("cluster: lanes that a guard excludes do not wait", "[sim]") {
  const std::string body = R"(
  setp.lt.u32 %p1, %r0, 16;
  barrier.cluster.arrive;
  @%p1 barrier.cluster.wait;
  @!%p1 barrier.cluster.wait;
  mov.u32 %r1, 3;
)";
  const auto out =
      words_of(entry("k", 1, body + std::string(kStoreR1)), 32, {.grid = {2, 1, 1}, .cluster = 2});
  for (uint32_t tid = 0; tid < 32; ++tid) CHECK(out[tid] == 3);
}
