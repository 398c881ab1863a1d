// Every way to touch memory that is not there: each is one error that names kernel, line, thread and address.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "bench.hpp"

using namespace ptxwire::sim;
using namespace ptxwire::sim::test;
using Catch::Contains;

namespace {

std::string fault(const std::string& code, const Shape& shape = {}) {
  INFO(code);
  Bench bench(entry("k", 1, code));
  const auto memory = bench.allocate(4096);
  bench.launch("k", {memory}, shape);
  const std::string text = bench.run_error();
  INFO(text);
  CHECK_THAT(text, Contains("'k'") && Contains("test.ptx:") && Contains("thread ("));
  return text;
}

}  // namespace

TEST_CASE("bad access: global memory, every kind of access", "[sim]") {
  const char* access =
      GENERATE("ld.global.u32 %r1, [%rd1];", "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];",
               "ld.global.nc.L1::no_allocate.L2::128B.v2.u64 {%rd2, %rd3}, [%rd1];",
               "ld.acquire.sys.global.u64 %rd2, [%rd1];", "ld.u32 %r1, [%rd1];", "st.global.u32 [%rd1], %r1;",
               "st.global.v2.f64 [%rd1], {%fd0, %fd1};", "st.release.gpu.global.u32 [%rd1], 1;",
               "st.u32 [%rd1], 1;", "atom.global.add.u32 %r1, [%rd1], 1;",
               "atom.global.cas.b64 %rd2, [%rd1], 0, 1;", "atom.add.u32 %r1, [%rd1], 1;",
               "red.global.add.u32 [%rd1], 1;", "red.global.add.v4.f32 [%rd1], {%f0, %f1, %f2, %f3};",
               "ld.volatile.global.u32 %r1, [%rd1];", "ld.relaxed.gpu.global.u32 %r1, [%rd1];");
  // behind the end; before the start; address 0; no GPU; freed by nobody but never allocated
  const char* address = GENERATE("add.u64 %rd1, %rd0, 4096;", "sub.u64 %rd1, %rd0, 16;", "mov.u64 %rd1, 0;",
                                 "mov.u64 %rd1, 0x7f0000000000;", "mov.u64 %rd1, 0xfffffffffffffff0;");
  CHECK_THAT(fault(std::string(address) + access), Contains("unmapped"));
}

TEST_CASE("bad access: an access over the end of an allocation, and a misaligned one", "[sim]") {
  CHECK_THAT(fault("ld.global.u64 %rd1, [%rd0+4092];"), Contains("misaligned"));
  CHECK_THAT(fault("ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd0+8];"), Contains("misaligned"));
  CHECK_THAT(fault("st.global.v2.u16 [%rd0+2], {%h0, %h1};"), Contains("misaligned"));
  CHECK_THAT(fault("atom.global.add.u64 %rd1, [%rd0+4], 1;"), Contains("misaligned"));
  CHECK_THAT(fault("red.global.add.u32 [%rd0+1], 1;"), Contains("misaligned"));
  CHECK_THAT(fault("ld.u32 %r1, [%rd0+3];"), Contains("misaligned"));
  // one lane of 32
  const std::string text = fault(
      "mul.wide.u32 %rd1, %r0, 133; and.b64 %rd1, %rd1, -4; add.u64 %rd1, %rd1, %rd0; ld.global.u32 %r1, "
      "[%rd1];");
  CHECK_THAT(text, Contains("thread (31, 0, 0)") && Contains("test buffer"));
}

TEST_CASE("bad access: shared, local, parameter and constant memory", "[sim]") {
  const std::string shared = ".shared .align 16 .u32 s[4]; mov.u32 %r1, s; ";
  const std::string local = ".local .align 16 .b8 l[16]; mov.u64 %rd1, l; ";
  for (const char* access :
       {"ld.shared.u32 %r2, [%r1+16];", "st.shared.u32 [%r1+16], 1;", "ld.shared.u32 %r2, [%r1+-4];",
        "st.shared.v4.u32 [%r1+16], {%r1, %r1, %r1, %r1};", "atom.shared.add.u32 %r2, [%r1+64], 1;",
        "atom.shared.cas.b64 %rd2, [%r1+1024], 0, 1;", "red.shared.add.u32 [%r1+16], 1;",
        "mapa.shared::cluster.u32 %r3, %r1, 1; ld.shared::cluster.u32 %r2, [%r3];",
        "mapa.shared::cluster.u32 %r3, %r1, 200; st.shared::cluster.u32 [%r3], 1;",
        "cvt.u64.u32 %rd2, %r1; cvta.shared.u64 %rd2, %rd2; ld.u32 %r2, [%rd2+16];"})
    CHECK_THAT(fault(shared + access), Contains("out-of-bounds access to shared"));
  CHECK_THAT(fault(shared + "ld.shared.u64 %rd2, [%r1+4];"), Contains("misaligned access to shared"));
  CHECK_THAT(fault(shared + "atom.shared.add.u32 %r2, [%r1+2], 1;"), Contains("misaligned access to shared"));
  for (const char* access :
       {"ld.local.u32 %r2, [%rd1+4096];", "st.local.u32 [%rd1+16384], 1;", "ld.local.u32 %r2, [%rd1+-4];",
        "mov.u64 %rd2, -4; ld.local.u32 %r2, [%rd2];", "mov.u64 %rd2, -8; st.local.u64 [%rd2], %rd1;",
        "mov.u64 %rd2, -16; st.local.v4.u32 [%rd2], {%r1, %r1, %r1, %r1};"})
    CHECK_THAT(fault(local + access), Contains("out-of-bounds access to local"));
  CHECK_THAT(fault(local + "ld.local.u64 %rd2, [%rd1+4];"), Contains("misaligned access to local"));
  CHECK_THAT(fault("mov.u64 %rd1, k_0; ld.param.u64 %rd2, [%rd1+64];"), Contains("parameter"));
  CHECK_THAT(fault("mov.u64 %rd1, -8; ld.const.u64 %rd2, [%rd1];"), Contains("constant"));
  CHECK_THAT(fault("mov.u64 %rd1, -8; ld.param.u64 %rd2, [%rd1];"), Contains("parameter"));
}

TEST_CASE("bad access: asynchronous copies", "[sim]") {
  const std::string setup = R"(
  .shared .align 128 .b8 buffer[1024]; .shared .align 8 .b64 bar;
  mov.u32 %r3, buffer; mov.u32 %r4, bar; mov.u32 %r5, 0x10000; mov.u32 %r6, 24;
  mbarrier.init.shared::cta.b64 [bar], 1;
)";
  struct Row {
    const char* code;
    const char* words;
  };
  const std::string load = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes ";
  const std::string store = "cp.async.bulk.global.shared::cta.bulk_group ";
  const std::string move = "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes ";
  const std::vector<std::pair<std::string, const char*>> rows = {
      {load + "[%r3], [%rd0+4096], 16, [%r4];", "unmapped global"},
      {load + "[%r3], [%rd0+4080], 32, [%r4];", "unmapped global"},
      {load + "[%r3], [%rd0+8], 16, [%r4];", "misaligned bulk copy"},
      {load + "[%r3], [%rd0], %r6, [%r4];", "misaligned bulk copy"},
      {load + "[%r3], [%rd0], 2048, [%r4];", "out-of-bounds access to shared"},
      {load + "[%r5], [%rd0], 16, [%r4];", "out-of-bounds access to shared"},
      {load + "[%r3], [%rd0], 16, [%r5];", "mbarrier at"},
      {load + "[%r3], [%rd0], 16, [%r4+4];", "mbarrier at"},
      {store + "[%rd0+4096], [%r3], 16;", "unmapped global"},
      {store + "[%rd0], [%r3+1024], 16;", "out-of-bounds access to shared"},
      {store + "[%rd0], [%r3], 1040;", "out-of-bounds access to shared"},
      {move + "[%r3], [%r3+1024], 16, [%r4];", "out-of-bounds access to shared"},
      {move + "[%r3], [%r5], 16, [%r4];", "out-of-bounds access to shared"},
      {move + "[%r3+512], [%r3], 1024, [%r4];", "out-of-bounds access to shared"},
      {"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd0+4096], [%r3], 16;",
       "unmapped global"},
      {"cp.async.ca.shared.global [%r3], [%rd0+4096], 4;", "unmapped global"},
      {"cp.async.ca.shared.global [%r3], [%rd0+2], 4;", "misaligned cp.async"},
      {"cp.async.ca.shared.global [%r3+1022], [%rd0], 4;", "misaligned cp.async"},
      {"cp.async.cg.shared.global [%r5], [%rd0], 16;", "out-of-bounds cp.async"},
      {"cp.async.mbarrier.arrive.shared::cta.b64 [%r5];", "mbarrier at"},
      {"mbarrier.arrive.shared::cta.b64 _, [%r5];", "mbarrier at"},
      {"mbarrier.init.shared::cta.b64 [%r4+4], 1;", "mbarrier at"},
      {"WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r5], 0; @!%p1 bra WAIT;", "mbarrier at"},
  };
  for (const auto& [code, words] : rows) {
    INFO(code);
    CHECK_THAT(fault(setup + code, {.block = {1, 1, 1}}), Contains(words));
  }
}

TEST_CASE("bad access: the source of a copy between CTAs must be the CTA's own", "[sim]") {
  const std::string code = R"(
  .shared .align 128 .b8 buffer[1024]; .shared .align 8 .b64 bar;
  mov.u32 %r3, buffer; mov.u32 %r4, bar;
  mov.u32 %r6, %cluster_ctarank; xor.b32 %r6, %r6, 1;
  mapa.shared::cluster.u32 %r5, %r3, %r6;
  cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r3], [%r5], 16, [%r4];
)";
  CHECK_THAT(fault(code, {.grid = {2, 1, 1}, .block = {1, 1, 1}, .cluster = 2}),
             Contains("out-of-bounds access to shared"));
}

TEST_CASE("bad access: endless recursion ends with an error", "[sim]") {
  const std::string body =
      ".visible .func f() { .reg .b32 %r; mov.u32 %r, 1; call f, (); ret; }\n" + entry("k", 1, "call f, ();");
  Bench bench(body);
  bench.launch("k", {0});
  CHECK_THAT(bench.run_error(), Contains("call stack") && Contains("too deep") && Contains("test.ptx:"));
}

TEST_CASE("generic access: lanes in shared and device memory are each done once", "[sim]") {
  // The device lanes wait for room (64 KiB of remote stores fill the window); the shared lanes must not count
  // twice.
  const std::string body = R"(
  .shared .align 4 .u32 count;
  setp.eq.u32 %p1, %r0, 0;
  @%p1 st.shared.u32 [count], 0;
  bar.sync 0;
  mul.wide.u32 %rd2, %r0, 16; add.u64 %rd2, %rd2, %rd1;
  mov.u32 %r1, 0;
FILL:
  st.global.v4.u32 [%rd2], {%r1, %r1, %r1, %r1};
  add.u64 %rd2, %rd2, 16384;
  add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, 8; @%p2 bra FILL;
  and.b32 %r2, %r0, 1; setp.eq.u32 %p3, %r2, 0;
  mov.u64 %rd3, count; cvta.shared.u64 %rd3, %rd3;
  selp.b64 %rd4, %rd3, %rd1, %p3;
  red.add.u32 [%rd4], 1;
  bar.sync 0;
  ld.shared.u32 %r3, [count];
  @%p1 st.global.u32 [%rd0], %r3;
)";
  Bench bench(entry("k", 2, body), 2);
  const auto out = bench.allocate(4);
  const auto peer = bench.allocate(16384 * 9, 1);
  bench.launch("k", {out, peer}, {.block = {1024, 1, 1}});
  bench.run();
  CHECK(bench.read<uint32_t>(out, 1)[0] == 512);
}
