// Loads, stores and atomics by state space, width and type (PTX ISA 9.7.9).
#include <bit>
#include <catch2/catch.hpp>

#include "bench.hpp"

using namespace ptxwire::sim;
using namespace ptxwire::sim::test;

TEST_CASE("memory: sub-word loads extend by sign or with zeros", "[sim]") {
  struct Row {
    const char* type;
    uint64_t expected;
  };
  // bytes in memory: 0x81 0x92 0xA3 0xB4 0xC5 0xD6 0xE7 0xF8
  const Row row =
      GENERATE(Row{"u8", 0x81}, Row{"s8", 0xFFFFFFFFFFFFFF81}, Row{"b8", 0x81}, Row{"u16", 0x9281},
               Row{"s16", 0xFFFFFFFFFFFF9281}, Row{"u32", 0xB4A39281}, Row{"s32", 0xFFFFFFFFB4A39281},
               Row{"u64", 0xF8E7D6C5B4A39281}, Row{"s64", 0xF8E7D6C5B4A39281});
  const std::string space = GENERATE("global", "shared", "local", "");
  INFO(space << " " << row.type);
  std::string body = ".shared .align 8 .b64 s; .local .align 8 .b64 l; mov.u64 %rd5, 0xF8E7D6C5B4A39281;\n";
  if (space == "global" || space.empty()) body += "add.u64 %rd6, %rd0, 64; st.global.u64 [%rd6], %rd5;\n";
  if (space == "shared") body += "mov.u64 %rd6, s; st.shared.u64 [s], %rd5;\n";
  if (space == "local") body += "mov.u64 %rd6, l; st.local.u64 [l], %rd5;\n";
  body += "ld" + (space.empty() ? "" : "." + space) + "." + row.type +
          " %rd7, [%rd6]; st.global.u64 [%rd0], %rd7;\n";
  const auto out = words_of(entry("k", 1, body), 32, {.block = {1, 1, 1}});
  CHECK((uint64_t{out[1]} << 32 | out[0]) == row.expected);
}

TEST_CASE("memory: vectors of every width move whole, in global, shared and generic space", "[sim]") {
  struct Row {
    const char* type;
    const char* registers;
    uint32_t bytes;
  };
  const Row row = GENERATE(Row{"v2.u8", "{%r1,%r2}", 2}, Row{"v4.u8", "{%r1,%r2,%r3,%r4}", 4},
                           Row{"v2.u16", "{%r1,%r2}", 4}, Row{"v4.u16", "{%r1,%r2,%r3,%r4}", 8},
                           Row{"v2.u32", "{%r1,%r2}", 8}, Row{"v4.u32", "{%r1,%r2,%r3,%r4}", 16},
                           Row{"v2.u64", "{%rd7,%rd8}", 16}, Row{"u64", "%rd7", 8}, Row{"b128", "%q1", 16},
                           Row{"v4.f32", "{%f1,%f2,%f3,%f4}", 16}, Row{"v2.f64", "{%fd1,%fd2}", 16});
  const std::string middle = GENERATE("shared", "generic", "local");
  INFO(row.type << " through " << middle);
  std::string body = R"(
  .shared .align 16 .b8 s[512]; .local .align 16 .b8 l[16];
  mul.wide.u32 %rd2, %r0, )" +
                     std::to_string(row.bytes) + ";\nadd.u64 %rd3, %rd0, %rd2;\n";
  const std::string move = std::string(row.type) + " ";
  const std::string reg = row.registers;
  body += "ld.global." + move + reg + ", [%rd3+1024];\n";
  if (middle == "local") {
    body += "st.local." + move + "[l], " + reg + "; ld.local." + move + reg + ", [l];\n";
  } else {
    body += "mov.u64 %rd4, s; add.u64 %rd4, %rd4, %rd2;\n";
    if (middle == "generic") body += "cvta.shared.u64 %rd4, %rd4;\n";
    const std::string space = middle == "generic" ? "" : "shared.";
    body += "st." + space + move + "[%rd4], " + reg + "; ld." + space + move + reg + ", [%rd4];\n";
  }
  body += "st.global." + move + "[%rd3], " + reg + ";\n";
  Bench bench(entry("k", 1, body));
  const auto memory = bench.allocate(2048);
  std::vector<uint8_t> bytes(32 * row.bytes);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 37 + 11);
  bench.write(memory + 1024, bytes);
  bench.launch("k", {memory});
  bench.run();
  CHECK(bench.read<uint8_t>(memory, bytes.size()) == bytes);
}

TEST_CASE("memory: generic addresses in every window, mixed in one instruction", "[sim]") {
  const std::string text = R"(
.const .align 4 .u32 table[2] = {300, 301};
)" + entry("k", 1, R"(
  .shared .align 4 .u32 s; .local .align 4 .u32 l;
  st.shared.u32 [s], 100;
  st.local.u32 [l], 200;
  st.global.u32 [%rd0+1024], 400;
  and.b32 %r2, %r0, 3;
  cvta.shared.u64 %rd2, s;
  mov.u64 %rd3, l; cvta.local.u64 %rd3, %rd3;
  mov.u64 %rd4, table; cvta.const.u64 %rd4, %rd4; add.u64 %rd4, %rd4, 4;
  add.u64 %rd5, %rd0, 1024;
  setp.eq.u32 %p1, %r2, 1; selp.b64 %rd6, %rd3, %rd2, %p1;
  setp.eq.u32 %p1, %r2, 2; selp.b64 %rd6, %rd4, %rd6, %p1;
  setp.eq.u32 %p1, %r2, 3; selp.b64 %rd6, %rd5, %rd6, %p1;
  ld.u32 %r1, [%rd6];
  isspacep.shared %p2, %rd6; isspacep.local %p3, %rd6; isspacep.const %p4, %rd6; isspacep.global %p5, %rd6;
  selp.b32 %r3, 1000, 0, %p2; selp.b32 %r4, 2000, 0, %p3; selp.b32 %r5, 4000, 0, %p4;
  selp.b32 %r6, 8000, 0, %p5;
  add.u32 %r1, %r1, %r3; add.u32 %r1, %r1, %r4; add.u32 %r1, %r1, %r5; add.u32 %r1, %r1, %r6;
  mad.wide.u32 %rd1, %r0, 4, %rd0; st.global.u32 [%rd1], %r1;
)");
  const auto out = words_of(text, 300);
  constexpr uint32_t kExpected[] = {1100, 2200, 4301, 8400};
  for (uint32_t tid = 0; tid < 32; ++tid) CHECK(out[tid] == kExpected[tid % 4]);
}

TEST_CASE("memory: local arrays are private, parameters are read by a register address", "[sim]") {
  const std::string text = R"(
.visible .entry k(.param .u64 out, .param .align 4 .b8 numbers[16]) {
  .reg .b32 %r<10>; .reg .b64 %rd<10>;
  .local .align 4 .b8 array[64];
  ld.param.u64 %rd0, [out];
  mov.u32 %r0, %tid.x;
  and.b32 %r1, %r0, 15;
  mov.u64 %rd1, array;
  mad.wide.u32 %rd2, %r1, 4, %rd1;
  add.u32 %r2, %r0, 7000;
  st.local.u32 [%rd2], %r2;
  ld.local.u32 %r3, [%rd2];
  and.b32 %r4, %r0, 1;
  mov.b64 %rd3, numbers;
  mad.wide.u32 %rd4, %r4, 8, %rd3;
  ld.param.u32 %r5, [%rd4];
  add.u32 %r6, %r3, %r5;
  mad.wide.u32 %rd5, %r0, 4, %rd0;
  st.global.u32 [%rd5], %r6;
  ret;
}
)";
  Bench bench(text);
  const auto out = bench.allocate(128);
  bench.launch("k", {out, uint64_t{2} << 32 | 10, uint64_t{4} << 32 | 30});
  bench.run();
  const auto words = bench.read<uint32_t>(out, 32);
  for (uint32_t tid = 0; tid < 32; ++tid) CHECK(words[tid] == 7000 + tid + (tid % 2 == 1 ? 30 : 10));
}

namespace {

struct AtomicRow {
  const char* operation;  ///< with type, without space
  uint64_t start, operand, swap;
  uint64_t after;
  uint32_t bytes;
};

uint64_t bits(float value) { return std::bit_cast<uint32_t>(value); }
uint64_t bits(double value) { return std::bit_cast<uint64_t>(value); }

}  // namespace

TEST_CASE("memory: atomics of all types return the old value, at every home", "[sim]") {
  const AtomicRow row = GENERATE(
      AtomicRow{"add.u32", 0xFFFFFFFF, 2, 0, 1, 4}, AtomicRow{"add.s32", 5, 0xFFFFFFFF, 0, 4, 4},
      AtomicRow{"add.u64", 0xFFFFFFFF, 1, 0, 0x100000000, 8},
      AtomicRow{"add.f32", bits(1.5F), bits(2.25F), 0, bits(3.75F), 4},
      AtomicRow{"add.f64", bits(1.5), bits(-4.0), 0, bits(-2.5), 8},
      AtomicRow{"min.s32", 5, 0xFFFFFFFE, 0, 0xFFFFFFFE, 4}, AtomicRow{"min.u32", 5, 0xFFFFFFFE, 0, 5, 4},
      AtomicRow{"max.s64", 5, 0xFFFFFFFFFFFFFFFE, 0, 5, 8},
      AtomicRow{"max.u64", 5, 0xFFFFFFFFFFFFFFFE, 0, 0xFFFFFFFFFFFFFFFE, 8},
      AtomicRow{"and.b32", 0xFF00FF00, 0x0FF00FF0, 0, 0x0F000F00, 4},
      AtomicRow{"or.b64", 0xF000000000000001, 0x10, 0, 0xF000000000000011, 8},
      AtomicRow{"xor.b32", 0xFF, 0xF, 0, 0xF0, 4}, AtomicRow{"exch.b32", 1, 2, 0, 2, 4},
      AtomicRow{"exch.b64", 1, 0x200000000, 0, 0x200000000, 8}, AtomicRow{"cas.b32", 7, 7, 9, 9, 4},
      AtomicRow{"cas.b32", 7, 8, 9, 7, 4}, AtomicRow{"cas.b64", 0x700000000, 0x700000000, 9, 9, 8},
      AtomicRow{"inc.u32", 4, 5, 0, 5, 4}, AtomicRow{"inc.u32", 5, 5, 0, 0, 4},
      AtomicRow{"dec.u32", 0, 5, 0, 5, 4}, AtomicRow{"dec.u32", 3, 5, 0, 2, 4},
      AtomicRow{"dec.u32", 9, 5, 0, 5, 4});
  const std::string place = GENERATE("shared", "global", "peer");
  INFO(row.operation << " at " << place);
  const bool wide = row.bytes == 8;
  const std::string type = wide ? "b64" : "b32";
  const std::string reg = wide ? "%rd" : "%r";
  const bool cas = std::string(row.operation).starts_with("cas");
  // %rd1: the cell's start value, operands behind it; results go to %rd0
  std::string body = ".shared .align 8 .b64 s;\n";
  for (int i = 0; i < 3; ++i)
    body += "ld.global." + type + " " + reg + std::to_string(5 + i) + ", [%rd0+" +
            std::to_string(64 + 8 * i) + "];\n";
  const std::string at = place == "shared" ? "[s]" : "[%rd1]";
  const std::string space = place == "shared" ? "shared" : "global";
  body += "st." + space + "." + type + " " + at + ", " + reg + "5;\nmembar.sys;\n";
  const std::string order = place == "peer" ? ".relaxed.sys." : ".";
  body += "atom" + order + space + "." + row.operation + " " + reg + "8, " + at + ", " + reg + "6" +
          (cas ? ", " + reg + "7" : "") + ";\n";
  body += "ld.volatile." + space + "." + type + " " + reg + "9, " + at + ";\n";
  body += "st.global." + type + " [%rd0], " + reg + "8; st.global." + type + " [%rd0+8], " + reg + "9;\n";
  // the same with red, where red has the operation
  Bench bench(entry("k", 2, body), 2);
  const auto out = bench.allocate(128);
  const auto cell = bench.allocate(64, place == "peer" ? 1 : 0);
  bench.write<uint64_t>(out + 64, {row.start, row.operand, row.swap});
  bench.launch("k", {out, cell}, {.block = {1, 1, 1}});
  bench.run();
  const auto words = bench.read<uint64_t>(out, 2);
  CHECK(words[0] == row.start);
  CHECK(words[1] == row.after);
}

TEST_CASE("memory: packed half atomics add each half", "[sim]") {
  // 1.0 and 2.0 plus 0.5 and -2.0: f16 0x3C00 0x4000 0x3800 0xC000, bf16 0x3F80 0x4000 0x3F00 0xC000
  struct Row {
    const char* type;
    uint32_t start, operand, after;
  };
  const Row row = GENERATE(Row{"f16x2", 0x40003C00, 0xC0003800, 0x00003E00},
                           Row{"bf16x2", 0x40003F80, 0xC0003F00, 0x00003FC0});
  const std::string body =
      std::string("ld.global.b32 %r1, [%rd0+4]; red.global.add.noftz.") + row.type + " [%rd0], %r1;\n";
  Bench bench(entry("k", 1, body));
  const auto cell = bench.allocate(8);
  bench.write<uint32_t>(cell, {row.start, row.operand});
  bench.launch("k", {cell}, {.block = {1, 1, 1}});
  bench.run();
  CHECK(bench.read<uint32_t>(cell, 1)[0] == row.after);
}

TEST_CASE("memory: 128-bit exchange and compare-and-swap, in global and shared memory", "[sim]") {
  const std::string space = GENERATE("global", "shared");
  INFO(space);
  const std::string at = space == "shared" ? "[s]" : "[%rd0+64]";
  const std::string body = R"(
  .shared .align 16 .b8 s[16];
  ld.global.b128 %q0, [%rd0]; ld.global.b128 %q1, [%rd0+16]; ld.global.b128 %q2, [%rd0+32];
  st.)" + space + ".b128 " +
                           at + R"(, %q0;
  membar.gl;
  atom.)" + space + ".cas.b128 %q3, " +
                           at + R"(, %q0, %q1;
  st.global.b128 [%rd0+96], %q3;
  atom.)" + space + ".exch.b128 %q3, " +
                           at + R"(, %q2;
  st.global.b128 [%rd0+112], %q3;
  ld.)" + space + ".b128 %q3, " +
                           at + R"(;
  st.global.b128 [%rd0+128], %q3;
)";
  Bench bench(entry("k", 1, body));
  const auto memory = bench.allocate(256);
  bench.write<uint64_t>(memory, {1, 2, 3, 4, 5, 6});
  bench.launch("k", {memory}, {.block = {1, 1, 1}});
  bench.run();
  CHECK(bench.read<uint64_t>(memory + 96, 6) == std::vector<uint64_t>{1, 2, 3, 4, 5, 6});
}

TEST_CASE("memory: all lanes of many CTAs on two GPUs add to one counter", "[sim]") {
  const std::string body = "atom.global.sys.add.u32 %r1, [%rd0], 1; red.global.sys.add.u64 [%rd0+8], 3;\n";
  Bench bench(entry("k", 1, body), 2);
  const auto cell = bench.allocate(16, 1);
  for (uint32_t gpu = 0; gpu < 2; ++gpu)
    bench.launch("k", {cell}, {.grid = {20, 1, 1}, .block = {96, 1, 1}, .gpu = gpu});
  bench.run();
  CHECK(bench.read<uint32_t>(cell, 1)[0] == 2 * 20 * 96);
  CHECK(bench.read<uint64_t>(cell + 8, 1)[0] == 3ULL * 2 * 20 * 96);
}
