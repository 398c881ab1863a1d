// Independent thread scheduling (PTX ISA 3.1): lanes of a warp diverge, wait for each other and come
// together again.
#include <catch2/catch.hpp>
#include <numeric>

#include "bench.hpp"

using namespace ptxwire::sim;
using namespace ptxwire::sim::test;

namespace {

/// Stores %r1 of every thread at out[tid].
constexpr const char* kStoreR1 = R"(
  mad.wide.u32 %rd1, %r0, 4, %rd0;
  st.global.u32 [%rd1], %r1;
)";

}  // namespace

TEST_CASE("divergence: lane 0 spins on what lane 1 of its warp writes", "[sim]") {
  // lane 0 waits in the branch that is taken first; lane 1 writes in the other one
  const std::string space = GENERATE("shared", "global");
  const bool waiter_takes_branch = GENERATE(true, false);
  const std::string flag = space == "shared" ? "flag" : "%rd0+4096";
  const std::string body = ".shared .align 4 .u32 flag;\n.reg .b32 %dummy;\n" +
                           std::string(space == "shared" ? "st.shared.u32 [flag], 0;\n" : "") + "setp." +
                           (waiter_takes_branch ? "eq" : "ne") + R"(.u32 %p1, %r0, 0;
  mov.u32 %r1, 7;
  @%p1 bra TAKEN;
)" + (waiter_takes_branch ? "bra WRITE;" : "bra WAIT;") +
                           R"(
TAKEN:
)" + (waiter_takes_branch ? "bra WAIT;" : "bra WRITE;") +
                           R"(
WAIT:
  ld.volatile.)" + space + ".u32 %r1, [" +
                           flag + R"(];
  setp.eq.u32 %p2, %r1, 0;
  @%p2 bra WAIT;
  bra JOIN;
WRITE:
  st.volatile.)" + space + ".u32 [" +
                           flag + R"(], 42;
JOIN:
)" + kStoreR1;
  const auto out = words_of(entry("k", 1, body), 1024 + 1, {.block = {2, 1, 1}});
  CHECK(out[0] == 42);
  CHECK(out[1] == 7);
}

TEST_CASE("divergence: a spin lock that every lane of a warp takes in turn", "[sim]") {
  // compare-and-swap loop with the critical section inside the loop's exit path
  const std::string body = R"(
SPIN:
  atom.global.acquire.gpu.cas.b32 %r1, [%rd0], 0, 1;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra SPIN;
  ld.volatile.global.u32 %r2, [%rd0+4];
  add.u32 %r2, %r2, 1;
  st.volatile.global.u32 [%rd0+4], %r2;
  st.global.release.gpu.u32 [%rd0], 0;
)";
  const auto out = words_of(entry("k", 1, body), 2);
  CHECK(out[0] == 0);
  CHECK(out[1] == 32);
}

// Lane m of each of 8 warps takes lock m. Who has one must get to unlocking it while others of its warp spin
// for locks of other warps; if warps had to be let go by patience, hundreds of microseconds would pass.
TEST_CASE("divergence: warps that each want several locks do not hold each other up", "[sim]") {
  const std::string body = R"(
.shared .align 4 .b32 locks[4];
.shared .align 4 .b32 counts[4];
  setp.gt.u32 %p1, %r0, 3; @%p1 bra READY;
  shl.b32 %r1, %r0, 2; mov.u32 %r2, locks; add.u32 %r2, %r2, %r1; st.shared.u32 [%r2], 0; st.shared.u32 [%r2+16], 0;
READY:
  bar.sync 0;
  mov.u32 %r3, %laneid; setp.gt.u32 %p1, %r3, 3; @%p1 bra DONE;
  shl.b32 %r1, %r3, 2; mov.u32 %r2, locks; add.u32 %r2, %r2, %r1; mov.u32 %r6, 0;
ROUND:
SPIN:
  atom.acquire.cta.shared.cas.b32 %r4, [%r2], 0, 1; setp.ne.u32 %p1, %r4, 0; @%p1 bra AGAIN;
  ld.volatile.shared.u32 %r5, [%r2+16]; add.u32 %r5, %r5, 1; st.volatile.shared.u32 [%r2+16], %r5;
  setp.lt.u32 %p2, %r5, 1000;
  atom.release.cta.shared.exch.b32 %r4, [%r2], 0; @%p2 bra LEAVE;
AGAIN:
  bra SPIN;
LEAVE:
  add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, 4; @%p1 bra ROUND;
DONE:
  bar.sync 0;
  setp.gt.u32 %p1, %r0, 3; @%p1 bra END;
  shl.b32 %r1, %r0, 2; mov.u32 %r2, counts; add.u32 %r2, %r2, %r1; ld.shared.u32 %r1, [%r2];
  mad.wide.u32 %rd1, %r0, 4, %rd0; st.global.u32 [%rd1], %r1;
END:
)";
  Bench bench(entry("k", 1, body), 1);
  const auto out = bench.allocate(64);
  bench.launch("k", {out}, {.block = {256, 1, 1}});
  const RunReport report = bench.run(Bench::default_limits());
  CHECK(bench.read<uint32_t>(out, 4) == std::vector<uint32_t>(4, 32));
  // 32 critical sections after one another per lock, some 300 clk each, and a launch.
  CHECK(report.time < ptxwire::models::microseconds(40));
}

TEST_CASE("divergence: loops of different lengths, nested branches, early exits", "[sim]") {
  const std::string body = R"(
  // lanes 5, 9, 13, .. exit at once
  and.b32 %r2, %r0, 3;
  setp.eq.u32 %p1, %r2, 1;
  setp.gt.and.u32 %p1, %r0, 4, %p1;
  @%p1 exit;
  mov.u32 %r1, 0;
  mov.u32 %r3, 0;
OUTER:                          // tid + 1 rounds
  and.b32 %r4, %r3, 1;
  setp.eq.u32 %p2, %r4, 0;
  @%p2 bra EVEN;
  add.u32 %r1, %r1, 100;        // odd round: 100, or 1100 for lanes below 8
  setp.ge.u32 %p3, %r0, 8;
  @%p3 bra NEXT;
  add.u32 %r1, %r1, 1000;
  bra NEXT;
EVEN:
  add.u32 %r1, %r1, 1;
NEXT:
  add.u32 %r3, %r3, 1;
  setp.le.u32 %p4, %r3, %r0;
  @%p4 bra OUTER;
)";
  const auto out = words_of(entry("k", 1, body + std::string(kStoreR1)), 32);
  for (uint32_t tid = 0; tid < 32; ++tid) {
    const uint32_t rounds = tid + 1;
    const uint32_t odd = rounds / 2;
    const uint32_t expected = tid > 4 && tid % 4 == 1 ? 0 : (rounds - odd) + odd * (tid < 8 ? 1100 : 100);
    CHECK(out[tid] == expected);
  }
}

TEST_CASE("divergence: 64-bit and 32-bit values that live in different branches do not touch each other",
          "[sim]") {
  // odd lanes keep 64-bit values, even lanes 32-bit ones, and both loop so that they interleave
  const std::string body = R"(
  and.b32 %r2, %r0, 1;
  setp.eq.u32 %p1, %r2, 1;
  mov.u32 %r3, 0;
  @%p1 bra ODD;
  add.u32 %r4, %r0, 1;
  add.u32 %r5, %r0, 2;
  add.u32 %r6, %r0, 3;
  add.u32 %r7, %r0, 4;
EVEN_LOOP:
  ld.volatile.global.u32 %r8, [%rd0+4096];
  add.u32 %r4, %r4, %r5;
  add.u32 %r5, %r5, %r6;
  add.u32 %r6, %r6, %r7;
  add.u32 %r3, %r3, 1;
  setp.lt.u32 %p2, %r3, 6;
  @%p2 bra EVEN_LOOP;
  add.u32 %r1, %r4, %r8;
  bra DONE;
ODD:
  cvt.u64.u32 %rd10, %r0;
  add.u64 %rd11, %rd10, 0x100000002;
  add.u64 %rd12, %rd10, 0x300000004;
  add.u64 %rd13, %rd10, 0x500000006;
ODD_LOOP:
  ld.volatile.global.u32 %r8, [%rd0+4096];
  add.u64 %rd11, %rd11, %rd12;
  add.u64 %rd12, %rd12, %rd13;
  add.u32 %r3, %r3, 1;
  setp.lt.u32 %p2, %r3, 6;
  @%p2 bra ODD_LOOP;
  shr.u64 %rd11, %rd11, 32;
  cvt.u32.u64 %r1, %rd11;
DONE:
)";
  const auto out = words_of(entry("k", 1, body + std::string(kStoreR1)), 1025);
  for (uint64_t tid = 0; tid < 32; ++tid) {
    uint64_t expected = 0;
    if (tid % 2 == 1) {
      uint64_t a = tid + 0x100000002;
      uint64_t b = tid + 0x300000004;
      for (int i = 0; i < 6; ++i) {
        a += b;
        b += tid + 0x500000006;
      }
      expected = a >> 32;
    } else {
      uint64_t a = tid + 1;
      uint64_t b = tid + 2;
      uint64_t c = tid + 3;
      for (int i = 0; i < 6; ++i) {
        a += b;
        b += c;
        c += tid + 4;
      }
      expected = a;
    }
    INFO("tid " << tid);
    CHECK(out[tid] == static_cast<uint32_t>(expected));
  }
}

TEST_CASE("divergence: brx.idx sends every lane to its own target", "[sim]") {
  const std::string body = R"(
  and.b32 %r2, %r0, 3;
table: .branchtargets A, B, C, D;
  brx.idx %r2, table;
A: mov.u32 %r1, 10; bra DONE;
B: mov.u32 %r1, 11; bra DONE;
C: mov.u32 %r1, 12; bra DONE;
D: mov.u32 %r1, 13;
DONE:
)";
  const auto out = words_of(entry("k", 1, body + std::string(kStoreR1)), 32);
  for (uint32_t tid = 0; tid < 32; ++tid) CHECK(out[tid] == 10 + tid % 4);
}
