// Payload whose bytes are not stored: its marks follow it, and nothing may depend on it.
#include <catch2/catch.hpp>

#include "bench.hpp"

using namespace ptxwire::sim;
using namespace ptxwire::sim::test;
using Catch::Contains;

namespace {

/// k(payload, kept, more_payload) on one warp: %rd3 is the lane's 16 bytes of payload, %rd4 of kept memory,
/// %rd5 of further payload. The two payload buffers are 512 bytes and elided.
struct Run {
  explicit Run(const std::string& body)
      : bench("  .shared .align 16 .b8 room[1024];\n" + entry("k", 3, R"(
  mul.wide.u32 %rd9, %r0, 16;
  add.s64 %rd3, %rd0, %rd9;
  add.s64 %rd4, %rd1, %rd9;
  add.s64 %rd5, %rd2, %rd9;
  cvt.u32.u64 %r30, %rd9;
  mov.u32 %r31, room;
  add.u32 %r31, %r31, %r30;
)" + body)) {
    for (DeviceAddress* buffer : {&payload, &kept, &more}) *buffer = bench.allocate(512);
    for (const DeviceAddress buffer : {payload, more})
      REQUIRE(bench.cluster().elide({.address = buffer, .bytes = 512, .stride = 512, .count = 1}));
    bench.launch("k", {payload, kept, more});
  }
  Bench bench;
  DeviceAddress payload = 0, kept = 0, more = 0;
};

const std::string kLoad = "  ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd3];\n";

}  // namespace

TEST_CASE("elided payload: moves through registers, lanes and shared memory to where it is elided", "[sim]") {
  const std::string way = GENERATE(
      "", "  add.u32 %r1, %r1, 5;\n", "  shfl.sync.bfly.b32 %r1, %r1, 1, 31, -1;\n",
      "  st.shared.v4.u32 [%r31], {%r1, %r2, %r3, %r4};\n  ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [%r31];\n");
  Run run(kLoad + way + "  st.global.v4.u32 [%rd5], {%r1, %r2, %r3, %r4};\n");
  run.bench.run();
  CHECK(run.bench.read<uint32_t>(run.more, 128) == std::vector<uint32_t>(128, 0));
}

TEST_CASE("elided payload: what depends on it stops the run", "[sim]") {
  struct Case {
    const char* body;
    const char* words;
  };
  const Case c = GENERATE(
      Case{"  setp.eq.u32 %p1, %r1, 0;\n", "reaches a predicate"},
      Case{"  add.u32 %r5, %r2, 1;\n  setp.lt.u32 %p1, %r5, 7;\n", "reaches a predicate"},
      Case{"  cvt.u64.u32 %rd10, %r1;\n  add.s64 %rd10, %rd10, %rd4;\n  ld.global.u32 %r6, [%rd10];\n",
           "reaches an address"},
      Case{"  st.global.u32 [%rd4], %r1;\n", "is stored where bytes are kept"},
      Case{"  st.shared.u32 [%r31], %r3;\n  ld.shared.u32 %r7, [%r31];\n  st.global.u32 [%rd4], %r7;\n",
           "is stored where bytes are kept"},
      Case{"  shfl.sync.idx.b32 %r7, %r1, 0, 31, -1;\n  setp.ne.u32 %p1, %r7, 0;\n", "reaches a predicate"},
      Case{"  red.global.add.u32 [%rd4], %r1;\n", "is stored where bytes are kept"});
  Run run(kLoad + c.body);
  CHECK_THAT(run.bench.run_error(), Contains("elided payload") && Contains(c.words));
}

TEST_CASE("elided payload: a register that is written anew is free of it", "[sim]") {
  Run run(kLoad + "  mov.u32 %r1, 3;\n  setp.eq.u32 %p1, %r1, 3;\n  @%p1 st.global.u32 [%rd4], %r1;\n");
  run.bench.run();
  CHECK(run.bench.read<uint32_t>(run.kept, 1)[0] == 3);
}

TEST_CASE("elided payload: bulk copies carry it", "[sim]") {
  const std::string in = R"(
  mov.u32 %r20, room;
  add.u32 %r21, %r20, 512;
  setp.ne.u32 %p2, %r0, 0;
  @%p2 bra DONE;
  mbarrier.init.shared.b64 [%r21], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared.b64 _, [%r21], 512;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r20], [%rd0], 512, [%r21];
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p3, [%r21], 0;
  @!%p3 bra WAIT;
)";
  const auto out = [](const char* target) {
    return std::string("  cp.async.bulk.global.shared::cta.bulk_group [") + target +
           "], [%r20], 512;\n  cp.async.bulk.commit_group;\n  cp.async.bulk.wait_group 0;\nDONE:\n";
  };
  Run good(in + out("%rd2"));
  good.bench.run();
  Run bad(in + out("%rd1"));
  CHECK_THAT(bad.bench.run_error(), Contains("is stored where bytes are kept"));
}
