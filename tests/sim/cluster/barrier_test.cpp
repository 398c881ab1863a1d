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
