// Exchanges between lanes under member masks (PTX ISA 9.7.8.6, 9.7.13): partial masks, tiles, late lanes.
#include <bit>
#include <catch2/catch.hpp>

#include "bench.hpp"

using namespace ptxwire::sim;
using namespace ptxwire::sim::test;

namespace {

constexpr const char* kStoreR1 = "mad.wide.u32 %rd1, %r0, 4, %rd0; st.global.u32 [%rd1], %r1;\n";

std::vector<uint32_t> run_body(const std::string& body, const Shape& shape = {}) {
  return words_of(entry("k", 1, body + kStoreR1), 64, shape);
}

/// Lanes below 16 sleep first, so that each group arrives at another time; then all execute `code`.
std::string late_half(const std::string& code) {
  return "setp.lt.u32 %p9, %r0, 16; @!%p9 bra EARLY; nanosleep.u32 700; EARLY:\n" + code;
}

}  // namespace

TEST_CASE("warp sync: all lanes, half of them late", "[sim]") {
  struct Row {
    const char* code;
    uint32_t (*expected)(uint32_t tid);
  };
  const Row row = GENERATE(
      Row{"shfl.sync.bfly.b32 %r1, %r0, 16, 31, -1;", [](uint32_t tid) { return tid ^ 16; }},
      Row{"shfl.sync.up.b32 %r1, %r0, 3, 0, -1;", [](uint32_t tid) { return tid < 3 ? tid : tid - 3; }},
      Row{"and.b32 %r2, %r0, 3; setp.eq.u32 %p1, %r2, 2; vote.sync.ballot.b32 %r1, %p1, -1;",
          [](uint32_t) { return 0x44444444U; }},
      Row{"setp.lt.u32 %p1, %r0, 32; vote.sync.all.pred %p2, %p1, -1; selp.b32 %r1, 1, 0, %p2;",
          [](uint32_t) { return 1U; }},
      Row{"redux.sync.add.u32 %r1, %r0, -1;", [](uint32_t) { return 496U; }},
      Row{"shr.u32 %r2, %r0, 3; match.any.sync.b32 %r1, %r2, -1;",
          [](uint32_t tid) { return 0xFFU << (tid / 8 * 8); }},
      Row{"elect.sync _|%p1, -1; selp.b32 %r1, 1, 0, %p1; redux.sync.add.u32 %r1, %r1, -1;",
          [](uint32_t) { return 1U; }});
  INFO(row.code);
  const auto late = run_body(late_half(row.code));
  const auto together = run_body(row.code);
  for (uint32_t tid = 0; tid < 32; ++tid) {
    CHECK(late[tid] == row.expected(tid));
    CHECK(together[tid] == row.expected(tid));
  }
}

TEST_CASE("warp sync: tiles of 8 lanes with a mask each, in one instruction", "[sim]") {
  // %r5 is the tile's member mask, as cooperative groups' tiled_partition makes it
  const std::string mask = "and.b32 %r4, %r0, 24; mov.u32 %r5, 255; shl.b32 %r5, %r5, %r4;\n";
  struct Row {
    const char* code;
    uint32_t (*expected)(uint32_t tid);
  };
  const Row row = GENERATE(
      Row{"redux.sync.add.u32 %r1, %r0, %r5;", [](uint32_t tid) { return tid / 8 * 64 + 28; }},
      Row{"and.b32 %r2, %r0, 1; setp.eq.u32 %p1, %r2, 1; vote.sync.ballot.b32 %r1, %p1, %r5;",
          [](uint32_t tid) { return 0xAAU << (tid / 8 * 8); }},
      Row{"setp.lt.u32 %p1, %r0, 12; vote.sync.any.pred %p2, %p1, %r5; selp.b32 %r1, 1, 0, %p2;",
          [](uint32_t tid) { return tid < 16 ? 1U : 0U; }},
      Row{"setp.lt.u32 %p1, %r0, 12; vote.sync.all.pred %p2, %p1, %r5; selp.b32 %r1, 1, 0, %p2;",
          [](uint32_t tid) { return tid < 8 ? 1U : 0U; }},
      Row{"and.b32 %r2, %r0, 1; match.any.sync.b32 %r1, %r2, %r5;",
          [](uint32_t tid) { return (tid % 2 == 1 ? 0xAAU : 0x55U) << (tid / 8 * 8); }},
      Row{"shfl.sync.idx.b32 %r1, %r0, 3, 0x181f, %r5;", [](uint32_t tid) { return tid / 8 * 8 + 3; }},
      Row{"elect.sync _|%p1, %r5; selp.b32 %r1, 1, 0, %p1; redux.sync.add.u32 %r1, %r1, %r5;",
          [](uint32_t) { return 1U; }});
  INFO(row.code);
  const auto out = run_body(mask + row.code);
  for (uint32_t tid = 0; tid < 32; ++tid) {
    INFO("tid " << tid);
    CHECK(out[tid] == row.expected(tid));
  }
  // lanes of every tile arrive in three groups
  const std::string late =
      "and.b32 %r6, %r0, 3; setp.eq.u32 %p8, %r6, 3; setp.lt.u32 %p9, %r0, 11;\n"
      "@!%p8 bra A; nanosleep.u32 900; A: @!%p9 bra B; nanosleep.u32 300; B:\n";
  const auto out_late = run_body(mask + late + row.code);
  for (uint32_t tid = 0; tid < 32; ++tid) {
    INFO("late tid " << tid);
    CHECK(out_late[tid] == row.expected(tid));
  }
}

TEST_CASE("warp sync: a tile that is complete goes on, one that is not waits", "[sim]") {
  // lanes 12 to 15 come late: tile 1 (lanes 8 to 15) is incomplete when the other tiles are there
  const std::string body = R"(
  and.b32 %r4, %r0, 24; mov.u32 %r5, 255; shl.b32 %r5, %r5, %r4;
  shr.u32 %r6, %r0, 2; setp.eq.u32 %p9, %r6, 3; @!%p9 bra A; nanosleep.u32 900; A:
  redux.sync.add.u32 %r1, %r0, %r5;
  shfl.sync.bfly.b32 %r2, %r0, 7, 0x181f, %r5;
  mad.lo.u32 %r1, %r1, 100, %r2;
)";
  const auto out = run_body(body);
  for (uint32_t tid = 0; tid < 32; ++tid) CHECK(out[tid] == (tid / 8 * 64 + 28) * 100 + (tid ^ 7));
}

TEST_CASE("warp sync: only the named lanes take part, the others run on", "[sim]") {
  const std::string body = R"(
  mov.u32 %r1, 7;
  setp.lt.u32 %p1, %r0, 12;
  @!%p1 bra OUT;
  redux.sync.max.u32 %r1, %r0, 0xfff;
OUT:
)";
  const auto out = run_body(body);
  for (uint32_t tid = 0; tid < 32; ++tid) CHECK(out[tid] == (tid < 12 ? 11 : 7));
}

TEST_CASE("warp sync: lanes that exited are not waited for", "[sim]") {
  const std::string body =
      "setp.ge.u32 %p1, %r0, 20; @%p1 exit;\n"
      "vote.sync.ballot.b32 %r1, 1, -1; bar.warp.sync -1;\n";
  const auto out = run_body(body);
  for (uint32_t tid = 0; tid < 20; ++tid) CHECK(out[tid] == 0xFFFFF);
}

TEST_CASE("warp sync: bar.warp.sync orders shared memory between lanes, also from different places",
          "[sim]") {
  const std::string body = R"(
  .shared .align 4 .u32 slot[32];
  shl.b32 %r2, %r0, 2;
  mov.u32 %r3, slot;
  add.u32 %r3, %r3, %r2;
  setp.lt.u32 %p1, %r0, 16;
  @%p1 bra LOW;
  st.shared.u32 [%r3], %r0;
  bar.warp.sync -1;
  bra READ;
LOW:
  nanosleep.u32 400;
  st.shared.u32 [%r3], %r0;
  bar.warp.sync -1;
READ:
  xor.b32 %r4, %r2, 124;
  mov.u32 %r3, slot;
  add.u32 %r3, %r3, %r4;
  ld.shared.u32 %r1, [%r3];
)";
  const auto out = run_body(body);
  for (uint32_t tid = 0; tid < 32; ++tid) CHECK(out[tid] == 31 - tid);
}

TEST_CASE("warp sync: a partly filled last warp", "[sim]") {
  const auto out =
      words_of(entry("k", 1, std::string("activemask.b32 %r1;\n") + kStoreR1), 64, {.block = {40, 1, 1}});
  for (uint32_t tid = 0; tid < 40; ++tid) CHECK(out[tid] == (tid < 32 ? ~0U : 0xFFU));
}
