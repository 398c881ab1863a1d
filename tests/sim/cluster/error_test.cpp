// What stops a run or refuses a launch, and what the message names.
#include <catch2/catch.hpp>

#include "bench.hpp"

using namespace ptxwire::sim;
using namespace ptxwire::sim::test;
using Catch::Contains;

TEST_CASE("error: wrong accesses stop the run and name kernel, line, thread and address", "[sim]") {
  struct Row {
    const char* code;
    std::vector<const char*> words;
  };
  const Row row = GENERATE(
      Row{"mov.u64 %rd1, 8; st.u32 [%rd1], 1;", {"unmapped", "0x8"}},
      Row{"ld.global.u32 %r1, [%rd0+2];", {"misaligned", "global", "ld.global.u32"}},
      Row{"mad.wide.u32 %rd1, %r0, 4, %rd0; st.global.u32 [%rd1+3988], 1;",
          {"unmapped", "test buffer", "thread (3, 0, 0)"}},
      Row{"mov.u64 %rd1, 0x50000000000; ld.global.u32 %r1, [%rd1];", {"no GPU has this address"}},
      Row{".shared .u32 s[4]; mov.u32 %r1, s; st.shared.u32 [%r1+16], 1;", {"out-of-bounds", "shared"}},
      Row{".shared .u32 s[4]; mov.u32 %r1, s; ld.shared.u64 %rd1, [%r1+4];", {"misaligned", "shared"}},
      Row{".local .align 8 .b8 l[16]; mov.u64 %rd1, l; ld.local.u32 %r1, [%rd1+4096];",
          {"out-of-bounds", "local"}},
      Row{"trap;", {"trap"}},
      Row{"bar.sync 1, 64; bar.sync 0;", {"deadlock", "named barrier", "32 of 64 threads"}},
      Row{"LOOP: ld.acquire.gpu.global.u32 %r1, [%rd0]; setp.eq.u32 %p1, %r1, 0; @%p1 bra LOOP;",
          {"deadlock", "polls memory", "0x"}},
      Row{"proto: .callprototype _ (); ld.global.u64 %rd1, [%rd0]; call %rd1, (), proto;",
          {"indirect call", "no function"}});
  INFO(row.code);
  Bench bench(entry("k", 1, row.code));
  const auto memory = bench.allocate(4000);
  bench.launch("k", {memory});
  const std::string text = bench.run_error();
  INFO(text);
  for (const char* word : row.words) CHECK_THAT(text, Contains(word));
  CHECK_THAT(text, Contains("'k'"));
  CHECK_THAT(text, Contains("test.ptx:"));
}

TEST_CASE("error: freed memory is named as such", "[sim]") {
  Bench bench(entry("k", 1, "ld.global.u32 %r1, [%rd0]; st.global.u32 [%rd0], %r1;"));
  const auto memory = bench.allocate(64);
  REQUIRE(bench.cluster().free(memory));
  bench.launch("k", {memory});
  CHECK_THAT(bench.run_error(), Contains("freed"));
  REQUIRE_FALSE(bench.cluster().free(memory));
}

TEST_CASE("error: a kernel that never ends runs into the budget", "[sim]") {
  const char* code = GENERATE("LOOP: add.u32 %r1, %r1, 1; bra LOOP;", "LOOP: nanosleep.u32 1000; bra LOOP;",
                              "LOOP: atom.global.add.u32 %r1, [%rd0], 1; bra LOOP;");
  Bench bench(entry("k", 1, code));
  bench.launch("k", {bench.allocate(64)});
  RunLimits limits = Bench::default_limits();
  limits.max_time = ptxwire::models::microseconds(300);
  CHECK_THAT(bench.run_error(limits), Contains("300 us"));
}

TEST_CASE("error: a run after a failed one is refused", "[sim]") {
  Bench bench(entry("k", 1, "trap;"));
  bench.launch("k", {0});
  bench.run_error();
  CHECK_THAT(bench.run_error(), Contains("create a new cluster"));
}

TEST_CASE("error: launches that cannot be", "[sim]") {
  const std::string big =
      ".visible .entry big() { .shared .b8 s[40000]; .reg .u32 %r; ld.shared.u32 %r, [s]; ret; }\n";
  Bench bench(entry("kernel_one", 1, "bar.sync 0;") + big);
  const auto refusal = [&](const std::string& name, std::vector<uint64_t> parameters, const Shape& shape) {
    const auto result = bench.try_launch(name, parameters, shape);
    REQUIRE_FALSE(result);
    return result.error().to_string();
  };
  CHECK_THAT(refusal("kernel_on", {0}, {}), Contains("kernel_one"));
  CHECK_THAT(refusal("kernel_one", {0, 0}, {}), Contains("16 bytes") && Contains("8"));
  CHECK_THAT(refusal("kernel_one", {0}, {.block = {1025, 1, 1}}), Contains("1024"));
  CHECK_THAT(refusal("kernel_one", {0}, {.dynamic_shared = 232449}), Contains("232448"));
  CHECK_THAT(refusal("big", {}, {.dynamic_shared = 200000}), Contains("40000"));
  CHECK_THAT(refusal("kernel_one", {0}, {.grid = {3, 1, 1}, .cluster = 2}), Contains("cluster"));
  CHECK_THAT(refusal("kernel_one", {0}, {.grid = {0, 1, 1}}), Contains("at least one"));
  CHECK_THAT(refusal("kernel_one", {0}, {.block = {32, 0, 1}}), Contains("at least one"));
  CHECK_THAT(refusal("kernel_one", {0}, {.block = {1, 1, 65}}), Contains("along z"));
  CHECK_THAT(refusal("kernel_one", {0}, {.block = {64, 17, 1}}), Contains("1088 threads"));
  CHECK_THAT(refusal("kernel_one", {0}, {.block = {0x80000000, 0x80000000, 4}}), Contains("1024"));
  CHECK_THAT(refusal("kernel_one", {0}, {.grid = {1, 65536, 1}}), Contains("65535"));
  CHECK_THAT(refusal("kernel_one", {0}, {.grid = {0x80000000, 1, 1}}), Contains("2147483647"));
  CHECK_THAT(refusal("kernel_one", {0}, {.grid = {0x7FFFFFFF, 65535, 65535}}), Contains("4294967295"));
  CHECK_THAT(refusal("kernel_one", {0}, {.cluster = 0}), Contains("cluster"));
  CHECK_THAT(refusal("kernel_one", {0}, {.grid = {32, 1, 1}, .cluster = 32}), Contains("cluster"));
  // 132 SMs hold 2 CTAs of 1024 threads each
  CHECK_THAT(refusal("kernel_one", {0}, {.grid = {265, 1, 1}, .block = {1024, 1, 1}, .cooperative = true}),
             Contains("264"));
  // A cluster lies in one GPC: 6 GPCs of 16 SMs and 2 of 18 hold 4 + 4 clusters of 4 CTAs of one SM each,
  // not 33.
  CHECK_THAT(refusal("kernel_one", {0},
                     {.grid = {132, 1, 1}, .cluster = 4, .dynamic_shared = 200000, .cooperative = true}),
             Contains("128"));
  CHECK(bench.try_launch("kernel_one", {0},
                         {.grid = {128, 1, 1}, .cluster = 4, .dynamic_shared = 200000, .cooperative = true}));
  CHECK(
      bench.try_launch("kernel_one", {0}, {.grid = {264, 1, 1}, .block = {1024, 1, 1}, .cooperative = true}));
}

TEST_CASE("error: shared memory counts with the gap before its dynamic part", "[sim]") {
  // 4 static bytes and dynamic memory aligned to 16: 232,448 bytes are the most
  const std::string text =
      ".visible .entry k() { .shared .b8 s[4]; .reg .u32 %r; ld.shared.u8 %r, [s]; ret; }\n";
  Bench bench(text);
  CHECK(bench.try_launch("k", {}, {.dynamic_shared = 232432}));
  const auto refused = bench.try_launch("k", {}, {.dynamic_shared = 232433});
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().to_string(), Contains("232449"));
  bench.run();
}

TEST_CASE("error: vprintf prints in order of time, __assertfail names its arguments", "[sim]") {
  const std::string externals = R"(
.extern .func (.param .b32 status) vprintf (.param .b64 format, .param .b64 arguments);
.extern .func __assertfail (.param .b64 message, .param .b64 file, .param .b32 line, .param .b64 function, .param .b64 size);
.global .align 1 .b8 format[15] = {116, 32, 37, 100, 32, 37, 108, 108, 117, 32, 37, 115, 10, 0, 0};
.global .align 1 .b8 word[4] = {97, 98, 99, 0};
)";
  const std::string print = R"(
  .local .align 8 .b8 list[24];
  mov.u64 %rd2, list; cvta.local.u64 %rd3, %rd2;
  mul.lo.u32 %r2, %r0, 700; nanosleep.u32 %r2;
  sub.u32 %r3, 0, %r0;
  st.local.u32 [%rd2], %r3; st.local.u64 [%rd2+8], 5000000000;
  mov.u64 %rd4, word; cvta.global.u64 %rd4, %rd4; st.local.u64 [%rd2+16], %rd4;
  mov.u64 %rd5, format; cvta.global.u64 %rd5, %rd5;
  { .param .b64 a; .param .b64 b; .param .b32 r; st.param.b64 [a], %rd5; st.param.b64 [b], %rd3;
    call (r), vprintf, (a, b); }
)";
  Bench printing(externals + entry("k", 1, print));
  printing.launch("k", {0}, {.block = {3, 1, 1}});
  CHECK(printing.run().printf_output == "t 0 5000000000 abc\nt -1 5000000000 abc\nt -2 5000000000 abc\n");

  const std::string fail = R"(
  mov.u64 %rd2, word; cvta.global.u64 %rd2, %rd2;
  { .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;
    st.param.b64 [a], %rd2; st.param.b64 [b], %rd2; st.param.b32 [c], 321; st.param.b64 [d], %rd2;
    st.param.b64 [e], 1;
    call __assertfail, (a, b, c, d, e); }
)";
  Bench failing(externals + entry("k", 1, fail));
  failing.launch("k", {0}, {.block = {3, 1, 1}});
  CHECK_THAT(failing.run_error(), Contains("'abc'") && Contains("321"));
}

TEST_CASE("error: an instruction that this version does not execute is named with its line", "[sim]") {
  Bench bench(entry("k", 1, "movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2;"));
  bench.launch("k", {0});
  const std::string text = bench.run_error();
  CHECK_THAT(text, Contains("movmatrix.sync") && Contains("test.ptx:"));
}
