// st.async and red.async: stores and reductions in the shared memory of another CTA whose bytes a barrier
// there counts (PTX ISA 9.7.9.12, 9.7.13.7).
#include <catch2/catch.hpp>

#include "bench.hpp"

using namespace ptxwire::sim;
using namespace ptxwire::sim::test;

TEST_CASE("st.async, red.async: the other CTA waits for the bytes and finds them", "[sim]") {
  // Each CTA writes rank * 100 + tid as a pair of words for each thread of the other, and adds 1 to a sum
  // there.
  const std::string body = R"(
  .shared .align 16 .b32 inbox[64];
  .shared .align 8 .b64 bar;
  .shared .align 4 .u32 sum;
  mov.u32 %r2, %cluster_ctarank;
  xor.b32 %r3, %r2, 1;
  mov.u32 %r4, bar;
  setp.eq.u32 %p1, %r0, 0;
  @%p1 mbarrier.init.shared.b64 [%r4], 1;
  @%p1 st.shared.u32 [sum], 7;
  @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r4], 384;
  fence.mbarrier_init.release.cluster;
  barrier.cluster.arrive; barrier.cluster.wait;
  mov.u32 %r5, inbox;
  mad.lo.u32 %r5, %r0, 8, %r5;
  mapa.shared::cluster.u32 %r6, %r5, %r3;
  mapa.shared::cluster.u32 %r7, %r4, %r3;
  mov.u32 %r8, sum;
  mapa.shared::cluster.u32 %r8, %r8, %r3;
  mad.lo.u32 %r9, %r2, 100, %r0;
  add.u32 %r10, %r9, 1000;
  mov.u32 %r11, 1;
  st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%r6], {%r9, %r10}, [%r7];
  red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r8], %r11, [%r7];
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p2, [%r4], 0;
  @!%p2 bra WAIT;
  ld.shared.v2.u32 {%r12, %r13}, [%r5];
  ld.shared.u32 %r14, [sum];
  mov.u32 %r15, %ctaid.x;
  mad.lo.u32 %r15, %r15, 32, %r0;
  mad.wide.u32 %rd1, %r15, 12, %rd0;
  st.global.u32 [%rd1], %r12;
  st.global.u32 [%rd1+4], %r13;
  st.global.u32 [%rd1+8], %r14;
  barrier.cluster.arrive; barrier.cluster.wait;
)";
  // 32 threads tell 8 and 4 bytes each: 384.
  Bench bench(entry("k", 1, body));
  const DeviceAddress out = bench.allocate(2 * 32 * 12);
  bench.launch("k", {out}, {.grid = {2, 1, 1}, .cluster = 2});
  bench.run();
  const auto words = bench.read<uint32_t>(out, 2 * 32 * 3);
  for (uint32_t cta = 0; cta < 2; ++cta) {
    for (uint32_t tid = 0; tid < 32; ++tid) {
      const uint32_t* found = &words[(cta * 32 + tid) * 3];
      CHECK(found[0] == (1 - cta) * 100 + tid);
      CHECK(found[1] == (1 - cta) * 100 + tid + 1000);
      CHECK(found[2] == 7 + 32);
    }
  }
}
