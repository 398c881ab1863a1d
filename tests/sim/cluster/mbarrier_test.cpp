// mbarrier objects and asynchronous copies (PTX ISA 9.7.9.25, 9.7.13.15).
#include <catch2/catch.hpp>

#include "bench.hpp"

using namespace ptxwire::sim;
using namespace ptxwire::sim::test;

namespace {

constexpr const char* kStoreR1 = "mad.wide.u32 %rd1, %r0, 4, %rd0; st.global.u32 [%rd1], %r1;\n";

std::vector<uint8_t> pattern(size_t bytes) {
  std::vector<uint8_t> data(bytes);
  for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<uint8_t>(i * 7 + i / 256 + 1);
  return data;
}

}  // namespace

TEST_CASE("mbarrier: phases follow each other when all arrivals are there", "[sim]") {
  // Two warps hand a value to and fro for 20 phases; the waiter checks by parity.
  const std::string body = R"(
  .shared .align 8 .b64 full, empty; .shared .align 4 .u32 box[32];
  setp.eq.u32 %p1, %r0, 0;
  @%p1 mbarrier.init.shared::cta.b64 [full], 32;
  @%p1 mbarrier.init.shared::cta.b64 [empty], 32;
  bar.sync 0;
  and.b32 %r2, %r0, 31;
  mov.u32 %r3, box; mad.lo.u32 %r3, %r2, 4, %r3;
  mov.u32 %r4, 0;      // round
  mov.u32 %r1, 0;      // sum
  setp.ge.u32 %p2, %r0, 32;
  @%p2 bra CONSUME;
PRODUCE:
  and.b32 %r5, %r4, 1; xor.b32 %r6, %r5, 1;
WAIT_EMPTY:
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [empty], %r6;
  @!%p3 bra WAIT_EMPTY;
  mad.lo.u32 %r7, %r4, 3, %r2;
  st.shared.u32 [%r3], %r7;
  mbarrier.arrive.shared::cta.b64 _, [full];
  add.u32 %r4, %r4, 1; setp.lt.u32 %p4, %r4, 20; @%p4 bra PRODUCE;
  bra DONE;
CONSUME:
  and.b32 %r5, %r4, 1;
WAIT_FULL:
  mbarrier.test_wait.parity.shared::cta.b64 %p3, [full], %r5;
  @!%p3 bra WAIT_FULL;
  ld.shared.u32 %r7, [%r3];
  mad.lo.u32 %r1, %r1, 5, %r7;
  mbarrier.arrive.shared::cta.b64 _, [empty];
  add.u32 %r4, %r4, 1; setp.lt.u32 %p4, %r4, 20; @%p4 bra CONSUME;
DONE:
)";
  const auto out = words_of(entry("k", 1, body + std::string(kStoreR1)), 64, {.block = {64, 1, 1}});
  for (uint32_t lane = 0; lane < 32; ++lane) {
    uint32_t expected = 0;
    for (uint32_t round = 0; round < 20; ++round) expected = expected * 5 + round * 3 + lane;
    CHECK(out[32 + lane] == expected);
  }
}

TEST_CASE("mbarrier: the state token names the phase; counts, transactions and drops are kept", "[sim]") {
  const std::string body = R"(
  .shared .align 8 .b64 bar;
  mbarrier.init.shared::cta.b64 [bar], 3;
  mbarrier.arrive.shared::cta.b64 %rd2, [bar], 2;
  mbarrier.pending_count.b64 %r2, %rd2;                       // 3: before the arrival
  mbarrier.test_wait.shared::cta.b64 %p1, [bar], %rd2;        // not yet
  mbarrier.arrive.expect_tx.shared::cta.b64 %rd3, [bar], 100; // arrivals complete, 100 bytes missing
  mbarrier.test_wait.shared::cta.b64 %p2, [bar], %rd3;
  mbarrier.pending_count.b64 %r3, %rd3;                       // 1
  mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 60;
  mbarrier.test_wait.shared::cta.b64 %p3, [bar], %rd3;
  mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 40;
  mbarrier.test_wait.shared::cta.b64 %p4, [bar], %rd3;        // now
  mbarrier.arrive_drop.shared::cta.b64 %rd4, [bar];           // second phase: 2 of 3 left, later phases take 2
  mbarrier.arrive.shared::cta.b64 _, [bar], 2;
  mbarrier.test_wait.parity.shared::cta.b64 %p5, [bar], 1;
  mbarrier.arrive.shared::cta.b64 %rd5, [bar];
  mbarrier.pending_count.b64 %r4, %rd5;                       // 2
  selp.b32 %r5, 1, 0, %p1; selp.b32 %r6, 2, 0, %p2; selp.b32 %r7, 4, 0, %p3; selp.b32 %r8, 8, 0, %p4;
  selp.b32 %r9, 16, 0, %p5;
  add.u32 %r1, %r5, %r6; add.u32 %r1, %r1, %r7; add.u32 %r1, %r1, %r8; add.u32 %r1, %r1, %r9;
  st.global.u32 [%rd0], %r1; st.global.u32 [%rd0+4], %r2; st.global.u32 [%rd0+8], %r3;
  st.global.u32 [%rd0+12], %r4;
)";
  CHECK(words_of(entry("k", 1, body), 4, {.block = {1, 1, 1}}) == std::vector<uint32_t>{24, 3, 1, 2});
}

TEST_CASE("bulk copy: in through an mbarrier, out to this GPU or a peer", "[sim]") {
  const uint32_t source_gpu = GENERATE(0U, 1U);
  const uint32_t target_gpu = GENERATE(0U, 1U);
  const uint32_t bytes = GENERATE(16U, 1040U, 8192U);
  INFO("from GPU " << source_gpu << " to GPU " << target_gpu << ", " << bytes << " bytes");
  const std::string body = R"(
  .shared .align 128 .b8 buffer[8192]; .shared .align 8 .b64 bar;
  setp.ne.u32 %p1, %r0, 0;
  @%p1 bra WAIT0;
  mbarrier.init.shared::cta.b64 [bar], 1;
  fence.proxy.async.shared::cta;
  cvt.u32.u64 %r2, %rd2;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], %r2;
  mov.u32 %r3, buffer; mov.u32 %r4, bar;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd0], %r2, [%r4];
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0;
  @!%p2 bra WAIT;
  ld.shared.u8 %r5, [buffer+15];
  add.u32 %r5, %r5, 1;
  st.shared.u8 [buffer+15], %r5;
  fence.proxy.async.shared::cta;
  cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r3], %r2;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
  ld.volatile.global.u8 %r6, [%rd1+15];    // written when the group is done
  setp.ne.u32 %p3, %r6, %r5;
  @%p3 trap;
WAIT0:
)";
  Bench bench(entry("k", 3, body), 2);
  const auto source = bench.allocate(8192, source_gpu);
  const auto target = bench.allocate(8192 + 16, target_gpu);
  std::vector<uint8_t> data = pattern(bytes);
  bench.write(source, data);
  bench.launch("k", {source, target, bytes});
  bench.run();
  ++data[15];
  data.resize(bytes + 16);  // nothing behind the range is touched
  CHECK(bench.read<uint8_t>(target, data.size()) == data);
}

TEST_CASE("bulk copy: wait_group N lets the N youngest groups run", "[sim]") {
  // group 1 goes to the peer and is slow, group 2 too; after wait_group 1 the first must have arrived
  const std::string body = R"(
  .shared .align 128 .b8 buffer[4096];
  mov.u32 %r3, buffer;
  st.shared.u32 [buffer], 11; st.shared.u32 [buffer+2048], 22;
  fence.proxy.async.shared::cta;
  cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r3], 2048;
  cp.async.bulk.commit_group;
  add.u32 %r4, %r3, 2048; add.u64 %rd2, %rd1, 2048;
  cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r4], 2048;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 1;
  ld.volatile.global.u32 %r5, [%rd1];
  mov.u64 %rd3, %clock64;
  cp.async.bulk.wait_group 0;
  mov.u64 %rd4, %clock64;
  ld.volatile.global.u32 %r6, [%rd2];
  st.global.u32 [%rd0], %r5; st.global.u32 [%rd0+4], %r6;
)";
  Bench bench(entry("k", 2, body), 2);
  const auto out = bench.allocate(64);
  const auto target = bench.allocate(4096, 1);
  bench.launch("k", {out, target}, {.block = {1, 1, 1}});
  bench.run();
  CHECK(bench.read<uint32_t>(out, 2) == std::vector<uint32_t>{11, 22});
}

TEST_CASE("cp.async: groups, zero fill and arrival on an mbarrier", "[sim]") {
  const std::string body = R"(
  .shared .align 16 .b8 buffer[1024]; .shared .align 8 .b64 bar;
  setp.eq.u32 %p1, %r0, 0;
  @%p1 mbarrier.init.shared::cta.b64 [bar], 32;
  mov.u32 %r2, buffer; mad.lo.u32 %r2, %r0, 16, %r2;
  mul.wide.u32 %rd2, %r0, 16; add.u64 %rd3, %rd0, %rd2;
  st.shared.v4.u32 [%r2], {-1, -1, -1, -1};
  bar.sync 0;
  and.b32 %r3, %r0, 3; shl.b32 %r3, %r3, 2;       // 0, 4, 8 or 12 bytes, the rest of 16 is zero
  cp.async.ca.shared.global [%r2], [%rd3], 16, %r3;
  cp.async.commit_group;
  add.u32 %r4, %r2, 512;
  cp.async.cg.shared.global [%r4], [%rd3], 16;
  cp.async.commit_group;
  cp.async.wait_group 1;
  ld.shared.v4.u32 {%r5, %r6, %r7, %r8}, [%r2];
  add.u64 %rd4, %rd1, %rd2;
  st.global.v4.u32 [%rd4], {%r5, %r6, %r7, %r8};
  cp.async.mbarrier.arrive.noinc.shared::cta.b64 [bar];
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0;
  @!%p2 bra WAIT;
  ld.shared.v4.u32 {%r5, %r6, %r7, %r8}, [%r4];
  st.global.v4.u32 [%rd4+512], {%r5, %r6, %r7, %r8};
)";
  Bench bench(entry("k", 2, body));
  const auto source = bench.allocate(512);
  const auto target = bench.allocate(1024);
  const std::vector<uint8_t> data = pattern(512);
  bench.write(source, data);
  bench.launch("k", {source, target});
  bench.run();
  const auto out = bench.read<uint8_t>(target, 1024);
  for (uint32_t i = 0; i < 512; ++i) {
    const uint32_t valid = i / 16 % 4 * 4;
    INFO("byte " << i);
    REQUIRE(out[i] == (i % 16 < valid ? data[i] : 0));
    REQUIRE(out[512 + i] == data[i]);
  }
}
