// Grids: indices in three dimensions, more CTAs than fit, clusters that signal each other's mbarriers.
#include <catch2/catch.hpp>

#include "bench.hpp"

using namespace ptxwire::sim;
using namespace ptxwire::sim::test;

TEST_CASE("grid: thread and CTA indices in three dimensions", "[sim]") {
  const std::string body = R"(
  mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z;
  mov.u32 %r4, %ctaid.x; mov.u32 %r5, %ctaid.y; mov.u32 %r6, %ctaid.z;
  mov.u32 %r7, %nctaid.x; mov.u32 %r8, %nctaid.y; mov.u32 %r9, %ntid.x; mov.u32 %r10, %ntid.y;
  mad.lo.u32 %r11, %r6, %r8, %r5; mad.lo.u32 %r11, %r11, %r7, %r4;   // CTA number
  mad.lo.u32 %r12, %r3, %r10, %r2; mad.lo.u32 %r12, %r12, %r9, %r1;  // thread number
  mad.lo.u32 %r13, %r11, 30, %r12;
  mad.lo.u32 %r14, %r1, 100, %r2; mad.lo.u32 %r14, %r14, 100, %r3;
  mad.lo.u32 %r14, %r14, 10, %r4; mad.lo.u32 %r14, %r14, 10, %r5; mad.lo.u32 %r14, %r14, 10, %r6;
  mad.wide.u32 %rd1, %r13, 4, %rd0;
  st.global.u32 [%rd1], %r14;
)";
  const auto out = words_of(entry("k", 1, body), 24 * 30, {.grid = {2, 3, 4}, .block = {5, 3, 2}});
  size_t i = 0;
  for (uint32_t cz = 0; cz < 4; ++cz)
    for (uint32_t cy = 0; cy < 3; ++cy)
      for (uint32_t cx = 0; cx < 2; ++cx)
        for (uint32_t z = 0; z < 2; ++z)
          for (uint32_t y = 0; y < 3; ++y)
            for (uint32_t x = 0; x < 5; ++x)
              REQUIRE(out[i++] == ((((x * 100 + y) * 100 + z) * 10 + cx) * 10 + cy) * 10 + cz);
}

TEST_CASE("grid: CTAs that do not fit at once run later, each once", "[sim]") {
  // 200,000 bytes of shared memory: one CTA per SM, so 300 CTAs take three rounds of 132 SMs
  const std::string body = R"(
  mov.u32 %r1, %ctaid.x; mad.wide.u32 %rd1, %r1, 4, %rd0;
  atom.global.add.u32 %r2, [%rd1], 1;
  nanosleep.u32 10000;
)";
  Bench bench(entry("k", 1, body));
  const auto out = bench.allocate(1200);
  bench.launch("k", {out}, {.grid = {300, 1, 1}, .block = {1, 1, 1}, .dynamic_shared = 200000});
  const auto time = bench.run().launches[0];
  CHECK(bench.read<uint32_t>(out, 300) == std::vector<uint32_t>(300, 1));
  CHECK(time.finished - time.started > ptxwire::models::microseconds(30));
  CHECK(time.finished - time.started < ptxwire::models::microseconds(36));
}

TEST_CASE("cluster: an mbarrier of the other CTA counts remote arrivals and bytes", "[sim]") {
  const std::string body = R"(
  .shared .align 128 .b8 box[256]; .shared .align 8 .b64 bar;
  mov.u32 %r1, %cluster_ctarank; xor.b32 %r2, %r1, 1;
  mov.u32 %r3, bar; mov.u32 %r4, box;
  mbarrier.init.shared::cta.b64 [bar], 2;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 128;
  add.u32 %r5, %r1, 70;
  st.shared.u32 [box], %r5;
  fence.proxy.async;
  barrier.cluster.arrive; barrier.cluster.wait;
  mapa.shared::cluster.u32 %r6, %r3, %r2;
  mapa.shared::cluster.u32 %r7, %r4, %r2; add.u32 %r7, %r7, 128;
  cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r7], [%r4], 128, [%r6];
  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r6];
WAIT:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [bar], 0;
  @!%p1 bra WAIT;
  ld.shared.u32 %r8, [box+128];
  mad.wide.u32 %rd1, %r1, 4, %rd0; st.global.u32 [%rd1], %r8;
  barrier.cluster.arrive; barrier.cluster.wait;
)";
  CHECK(words_of(entry("k", 1, body), 2, {.grid = {2, 1, 1}, .block = {1, 1, 1}, .cluster = 2}) ==
        std::vector<uint32_t>{71, 70});
}

TEST_CASE("call: some lanes return early, some exit inside the callee", "[sim]") {
  const std::string function = R"(
.func (.param .b32 out) f(.param .b32 x) {
  .reg .pred %p<4>; .reg .b32 %r<4>;
  ld.param.u32 %r1, [x];
  st.param.b32 [out], 1;
  setp.lt.u32 %p1, %r1, 8; @%p1 ret;
  setp.gt.u32 %p2, %r1, 23; @%p2 exit;
  shl.b32 %r2, %r1, 1;
  st.param.b32 [out], %r2;
  ret;
}
)";
  const std::string body = R"(
  { .param .b32 a; .param .b32 r; st.param.b32 [a], %r0; call (r), f, (a); ld.param.b32 %r1, [r]; }
  activemask.b32 %r2; add.u32 %r1, %r1, %r2;
  mad.wide.u32 %rd1, %r0, 4, %rd0; st.global.u32 [%rd1], %r1;
)";
  const auto out = words_of(function + entry("k", 1, body), 32);
  for (uint32_t tid = 0; tid < 32; ++tid)
    CHECK(out[tid] == (tid > 23 ? 0 : (tid < 8 ? 1 : 2 * tid) + 0xFFFFFF));
}
