// Calls (PTX ISA 7.1): the .param ABI, recursion, indirect calls, and callees of one warp that run at the
// same time.
#include <catch2/catch.hpp>

#include "bench.hpp"

using namespace ptxwire::sim;
using namespace ptxwire::sim::test;

namespace {

// Each callee works on values of its own register class in a loop with a load, so that fragments in different
// callees take turns.
constexpr const char* kCallees = R"(
.func (.param .b32 out) wide_callee(.param .b32 x, .param .b64 memory) {
  .reg .pred %p1; .reg .b32 %r<6>; .reg .b64 %rd<8>;
  ld.param.u32 %r1, [x];
  ld.param.u64 %rd1, [memory];
  cvt.u64.u32 %rd2, %r1;
  add.u64 %rd3, %rd2, 0x100000000;
  mov.u64 %rd4, 0x300000000;
  mov.u32 %r2, 0;
LOOP:
  ld.volatile.global.u32 %r3, [%rd1];
  add.u64 %rd3, %rd3, %rd4;
  add.u64 %rd4, %rd4, 1;
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p1, %r2, 5;
  @%p1 bra LOOP;
  shr.u64 %rd5, %rd3, 32;
  cvt.u32.u64 %r4, %rd5;
  cvt.u32.u64 %r5, %rd3;
  add.u32 %r4, %r4, %r5;
  st.param.b32 [out], %r4;
  ret;
}
.func (.param .b32 out) narrow_callee(.param .b32 x, .param .b64 memory) {
  .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<3>;
  ld.param.u32 %r1, [x];
  ld.param.u64 %rd1, [memory];
  add.u32 %r2, %r1, 1;
  add.u32 %r3, %r1, 2;
  add.u32 %r4, %r1, 3;
  mov.u32 %r5, 0;
LOOP:
  ld.volatile.global.u32 %r6, [%rd1];
  add.u32 %r2, %r2, %r3;
  add.u32 %r3, %r3, %r4;
  add.u32 %r5, %r5, 1;
  setp.lt.u32 %p1, %r5, 5;
  @%p1 bra LOOP;
  st.param.b32 [out], %r2;
  ret;
}
.func (.param .b32 out) fib(.param .b32 n) {
  .reg .pred %p1; .reg .b32 %r<5>;
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %r1;
  setp.lt.u32 %p1, %r1, 2;
  @%p1 bra DONE;
  sub.u32 %r3, %r1, 1;
  { .param .b32 a; .param .b32 r; st.param.b32 [a], %r3; call (r), fib, (a); ld.param.b32 %r2, [r]; }
  sub.u32 %r3, %r1, 2;
  { .param .b32 a; .param .b32 r; st.param.b32 [a], %r3; call (r), fib, (a); ld.param.b32 %r4, [r]; }
  add.u32 %r2, %r2, %r4;
DONE:
  st.param.b32 [out], %r2;
  ret;
}
)";

uint32_t wide_expected(uint32_t x) {
  uint64_t a = x + 0x100000000ULL;
  uint64_t b = 0x300000000ULL;
  for (int i = 0; i < 5; ++i) a += b++;
  return static_cast<uint32_t>(a >> 32) + static_cast<uint32_t>(a);
}

uint32_t narrow_expected(uint32_t x) {
  uint32_t a = x + 1;
  uint32_t b = x + 2;
  for (int i = 0; i < 5; ++i) {
    a += b;
    b += x + 3;
  }
  return a;
}

std::string call_of(const std::string& callee) {
  return "{ .param .b32 a; .param .b64 m; .param .b32 r; st.param.b32 [a], %r0; add.u64 %rd5, %rd0, 4096; "
         "st.param.b64 [m], %rd5; call (r), " +
         callee + ", (a, m); ld.param.b32 %r1, [r]; }\n";
}

constexpr const char* kStoreR1 = "mad.wide.u32 %rd1, %r0, 4, %rd0; st.global.u32 [%rd1], %r1;\n";

}  // namespace

TEST_CASE("call: two callees of one warp run at the same time", "[sim]") {
  const std::string body = "and.b32 %r2, %r0, 1; setp.eq.u32 %p1, %r2, 1; @%p1 bra ODD;\n" +
                           call_of("narrow_callee") + "bra DONE;\nODD:\n" + call_of("wide_callee") +
                           "DONE:\n" + kStoreR1;
  const auto out = words_of(kCallees + entry("k", 1, body), 1025);
  for (uint32_t tid = 0; tid < 32; ++tid) {
    INFO("tid " << tid);
    CHECK(out[tid] == (tid % 2 == 1 ? wide_expected(tid) : narrow_expected(tid)));
  }
}

TEST_CASE("call: an indirect call whose lanes have different callees", "[sim]") {
  const std::string body = R"(
  mov.u64 %rd2, narrow_callee;
  mov.u64 %rd3, wide_callee;
  setp.ge.u32 %p1, %r0, 11;
  selp.b64 %rd4, %rd2, %rd3, %p1;
proto: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b64 _);
  { .param .b32 a; .param .b64 m; .param .b32 r; st.param.b32 [a], %r0; add.u64 %rd5, %rd0, 4096;
    st.param.b64 [m], %rd5; call (r), %rd4, (a, m), proto; ld.param.b32 %r1, [r]; }
)";
  const auto out = words_of(kCallees + entry("k", 1, body + std::string(kStoreR1)), 1025);
  for (uint32_t tid = 0; tid < 32; ++tid) {
    INFO("tid " << tid);
    CHECK(out[tid] == (tid >= 11 ? narrow_expected(tid) : wide_expected(tid)));
  }
}

TEST_CASE("call: recursion of different depth in every lane", "[sim]") {
  const std::string body = R"(
  and.b32 %r2, %r0, 7;
  { .param .b32 a; .param .b32 r; st.param.b32 [a], %r2; call (r), fib, (a); ld.param.b32 %r1, [r]; }
)";
  const auto out = words_of(kCallees + entry("k", 1, body + std::string(kStoreR1)), 32);
  constexpr uint32_t kFib[] = {0, 1, 1, 2, 3, 5, 8, 13};
  for (uint32_t tid = 0; tid < 32; ++tid) CHECK(out[tid] == kFib[tid % 8]);
}

TEST_CASE("call: lanes in a callee wait for lanes in another callee", "[sim]") {
  const std::string functions = R"(
.func waiter(.param .b64 memory) {
  .reg .pred %p1; .reg .b32 %r1; .reg .b64 %rd1;
  ld.param.u64 %rd1, [memory];
LOOP:
  ld.volatile.global.u32 %r1, [%rd1];
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra LOOP;
  st.global.u32 [%rd1+4], %r1;
  ret;
}
.func writer(.param .b64 memory) {
  .reg .b32 %r1; .reg .b64 %rd1;
  ld.param.u64 %rd1, [memory];
  mov.u32 %r1, 99;
  st.volatile.global.u32 [%rd1], %r1;
  ret;
}
)";
  const std::string body = R"(
  setp.eq.u32 %p1, %r0, 0;
  @%p1 bra WRITE;
  { .param .b64 m; st.param.b64 [m], %rd0; call waiter, (m); }
  bra DONE;
WRITE:
  { .param .b64 m; st.param.b64 [m], %rd0; call writer, (m); }
DONE:
)";
  CHECK(words_of(functions + entry("k", 1, body), 2) == std::vector<uint32_t>{99, 99});
}

TEST_CASE("call: a callee's lanes meet in shfl although they entered at different times", "[sim]") {
  const std::string functions = R"(
.func (.param .b32 out) rotate(.param .b32 x) {
  .reg .b32 %r<3>;
  ld.param.u32 %r1, [x];
  shfl.sync.idx.b32 %r2, %r1, 5, 31, -1;
  st.param.b32 [out], %r2;
  ret;
}
)";
  const std::string body = R"(
  add.u32 %r3, %r0, 1000;
  setp.lt.u32 %p1, %r0, 4;
  @%p1 nanosleep.u32 500;
  @%p1 bra LATE;
  bra CALL;
LATE:
  add.u32 %r3, %r3, 1;
CALL:
  { .param .b32 a; .param .b32 r; st.param.b32 [a], %r3; call (r), rotate, (a); ld.param.b32 %r1, [r]; }
)";
  const auto out = words_of(functions + entry("k", 1, body + std::string(kStoreR1)), 32);
  for (uint32_t tid = 0; tid < 32; ++tid) CHECK(out[tid] == 1005);
}

TEST_CASE("call: aggregates by value, several results in one area, local memory of the callee", "[sim]") {
  const std::string functions = R"(
.func (.param .align 8 .b8 out[16]) swap_halves(.param .align 8 .b8 in[16]) {
  .local .align 8 .b8 scratch[16];
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [in+8];
  st.local.u64 [scratch+8], %rd1;
  st.local.u64 [scratch], %rd2;
  ld.local.u64 %rd1, [scratch];
  ld.local.u64 %rd2, [scratch+8];
  st.param.u64 [out], %rd1;
  st.param.u64 [out+8], %rd2;
  ret;
}
)";
  const std::string body = R"(
  .local .align 8 .b8 mine[8];
  st.local.u32 [mine], %r0;
  cvt.u64.u32 %rd2, %r0;
  add.u64 %rd3, %rd2, 500;
  { .param .align 8 .b8 a[16]; .param .align 8 .b8 r[16]; st.param.u64 [a], %rd2; st.param.u64 [a+8], %rd3;
    call (r), swap_halves, (a); ld.param.u64 %rd4, [r]; ld.param.u64 %rd5, [r+8]; }
  ld.local.u32 %r2, [mine];
  sub.u64 %rd6, %rd4, %rd5;        // 500
  cvt.u32.u64 %r3, %rd6;
  add.u32 %r1, %r3, %r2;
)";
  const auto out = words_of(functions + entry("k", 1, body + std::string(kStoreR1)), 32);
  for (uint32_t tid = 0; tid < 32; ++tid) CHECK(out[tid] == 500 + tid);
}

TEST_CASE("call: lanes exchange in a function that they entered by different ways", "[sim]") {
  // Low lanes call `f` directly, the others through `g`, whose own registers are in between.
  const std::string functions = R"(
.func (.param .b32 out) f(.param .b32 x) {
  .reg .b32 %r<6>; .reg .pred %p<3>; .reg .b64 %rd<3>;
  ld.param.u32 %r1, [x];
  shfl.sync.bfly.b32 %r2, %r1, 31, 31, -1;
  and.b32 %r3, %r1, 1; setp.eq.u32 %p1, %r3, 1;
  vote.sync.ballot.b32 %r4, %p1, -1;
  xor.b32 %r2, %r2, %r4;
  cvt.u64.u32 %rd1, %r3;
  match.any.sync.b64 %r5, %rd1, -1;
  add.u32 %r2, %r2, %r5;
  st.param.b32 [out], %r2;
  ret;
}
.func (.param .b32 out) g(.param .b32 x) {
  .reg .b32 %r<12>;
  ld.param.u32 %r1, [x];
  mul.lo.u32 %r2, %r1, 3; add.u32 %r3, %r2, %r1; xor.b32 %r4, %r3, %r2; add.u32 %r5, %r4, 7;
  { .param .b32 a; .param .b32 r; st.param.b32 [a], %r1; call (r), f, (a); ld.param.b32 %r6, [r]; }
  add.u32 %r7, %r2, %r3; add.u32 %r7, %r7, %r4; add.u32 %r7, %r7, %r5;
  sub.u32 %r7, %r7, %r2; sub.u32 %r7, %r7, %r3; sub.u32 %r7, %r7, %r4; sub.u32 %r7, %r7, %r5;
  add.u32 %r6, %r6, %r7;
  st.param.b32 [out], %r6;
  ret;
}
)";
  const std::string body = R"(
  add.u32 %r3, %r0, 1000;
  setp.lt.u32 %p1, %r0, 12;
  @%p1 bra DIRECT;
  nanosleep.u32 3000;   // the direct ones are in f by then
  { .param .b32 a; .param .b32 r; st.param.b32 [a], %r3; call (r), g, (a); ld.param.b32 %r1, [r]; }
  bra DONE;
DIRECT:
  { .param .b32 a; .param .b32 r; st.param.b32 [a], %r3; call (r), f, (a); ld.param.b32 %r1, [r]; }
DONE:
)";
  const auto out = words_of(functions + entry("k", 1, body + std::string(kStoreR1)), 32);
  for (uint32_t tid = 0; tid < 32; ++tid) {
    const uint32_t same_parity = tid % 2 == 1 ? 0xAAAAAAAAU : 0x55555555U;
    CHECK(out[tid] == ((1000 + (tid ^ 31)) ^ 0xAAAAAAAAU) + same_parity);
  }
}
