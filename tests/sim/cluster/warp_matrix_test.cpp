// mma, ldmatrix and stmatrix: fragments as PTX ISA 9.7.14 draws them.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <numeric>

#include "bench.hpp"
#include "matrix_formats.hpp"

using namespace ptxwire::sim;
using namespace ptxwire::sim::test;

namespace {

constexpr uint32_t kLanes = 32;

std::string registers(const char* name, uint32_t count) {
  std::string list = "{";
  for (uint32_t i = 0; i < count; ++i) list += fmt::format("{}%{}{}", i == 0 ? "" : ", ", name, i);
  return list + "}";
}

struct Case {
  Format a, b;
  uint32_t k;
  const char* sum;
};

/// Row and depth of element e (from the low end) of register r of A; of B the row is the column.
std::pair<uint32_t, uint32_t> place(const Format& format, uint32_t lane, uint32_t r, uint32_t e, bool left) {
  const uint32_t per_register = 32 / format.bits;
  const uint32_t group = lane / 4, depth = lane % 4 * per_register + e;
  if (left) return {group + r % 2 * 8, depth + r / 2 * 4 * per_register};
  return {group, depth + r * 4 * per_register};
}

}  // namespace

TEST_CASE("mma: every pair of types and both depths", "[sim]") {
  const std::vector<Case> cases = {
      {kF16, kF16, 16, "f32"},  {kF16, kF16, 8, "f32"},   {kF16, kF16, 16, "f16"},  {kBf16, kBf16, 16, "f32"},
      {kBf16, kBf16, 8, "f32"}, {kTf32, kTf32, 8, "f32"}, {kTf32, kTf32, 4, "f32"}, {kE4m3, kE5m2, 32, "f32"},
      {kS8, kU8, 32, "s32"},    {kU8, kS8, 16, "s32"},
  };
  for (const Case& test : cases) {
    const std::string name =
        fmt::format("m16n8k{}.row.col.{}.{}.{}.{}", test.k, test.sum, test.a.name, test.b.name, test.sum);
    CAPTURE(name);
    const bool halves = std::string(test.sum) == "f16";
    const uint32_t right = test.k * test.b.bits / 128, left = 2 * right, sums = halves ? 2 : 4;
    std::string body = ".reg .b32 %a<4>; .reg .b32 %b<4>; .reg .b32 %c<4>; mul.wide.u32 %rd5, %r0, 16;\n";
    const auto move = [&](const char* what, const char* name_of, uint32_t base, uint32_t count) {
      body += fmt::format("add.u64 %rd6, %rd{}, %rd5;\n", base);
      for (uint32_t i = 0; i < count; ++i)
        body += std::string(what) == "ld"
                    ? fmt::format("ld.global.u32 %{}{}, [%rd6+{}];\n", name_of, i, 4 * i)
                    : fmt::format("st.global.u32 [%rd6+{}], %{}{};\n", 4 * i, name_of, i);
    };
    move("ld", "a", 1, left);
    move("ld", "b", 2, right);
    move("ld", "c", 3, sums);
    // The sums overwrite what was A.
    body += fmt::format("mma.sync.aligned.{} {}, {}, {}, {};\n", name, registers("a", sums),
                        registers("a", left), registers("b", right), registers("c", sums));
    move("st", "a", 0, sums);
    Bench bench(entry("k", 4, body));

    std::mt19937 random(3);
    const auto value = [&](const Format& format) {
      return format.low + static_cast<int>(random() % static_cast<uint32_t>(format.high - format.low + 1));
    };
    std::vector<int> a(16 * test.k), b(8 * test.k);
    for (int& element : a) element = value(test.a);
    for (int& element : b) element = value(test.b);
    std::vector<uint32_t> words_a(kLanes * 4), words_b(kLanes * 4), words_c(kLanes * 4), expected(kLanes * 4);
    const auto fill = [&](std::vector<uint32_t>& words, const Format& format, const std::vector<int>& matrix,
                          uint32_t count, bool is_left) {
      for (uint32_t lane = 0; lane < kLanes; ++lane)
        for (uint32_t r = 0; r < count; ++r)
          for (uint32_t e = 0; e < 32 / format.bits; ++e) {
            const auto [row, depth] = place(format, lane, r, e, is_left);
            words[lane * 4 + r] |= format.encode(matrix[row * test.k + depth]) << e * format.bits;
          }
    };
    fill(words_a, test.a, a, left, true);
    fill(words_b, test.b, b, right, false);
    const auto bits = [&](int64_t number) {
      if (halves) return kF16.encode(static_cast<int>(number));
      if (std::string(test.sum) == "s32") return static_cast<uint32_t>(number);
      const auto real = static_cast<float>(number);
      uint32_t word = 0;
      std::memcpy(&word, &real, 4);
      return word;
    };
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      for (uint32_t i = 0; i < 4; ++i) {
        const uint32_t row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
        const int64_t first = static_cast<int>(row % 5 + column % 3) - 3;
        int64_t sum = first;
        for (uint32_t k = 0; k < test.k; ++k) sum += int64_t{a[row * test.k + k]} * b[column * test.k + k];
        const uint32_t at = lane * 4 + (halves ? i / 2 : i), shift = halves ? i % 2 * 16 : 0;
        words_c[at] |= bits(first) << shift;
        expected[at] |= bits(sum) << shift;
      }
    }
    const DeviceAddress out = bench.allocate(512), in_a = bench.allocate(512), in_b = bench.allocate(512),
                        in_c = bench.allocate(512);
    bench.write(in_a, words_a);
    bench.write(in_b, words_b);
    bench.write(in_c, words_c);
    bench.launch("k", {out, in_a, in_b, in_c});
    bench.run();
    CHECK(bench.read<uint32_t>(out, kLanes * 4) == expected);
  }
}

TEST_CASE("mma: dependent ones take the measured 24 clk", "[sim][timing]") {
  // mma m16n8k16 on H800 PCIe: 24.1 clk (S_HOPPER_MB).
  constexpr int kCount = 64;
  std::string body =
      ".reg .b32 %a<4>; .reg .b32 %b<2>; .reg .b32 %c<4>; mov.b32 %a0, 0; mov.b32 %a1, 0; mov.b32 %a2, 0; "
      "mov.b32 %a3, 0; mov.b32 %b0, 0; mov.b32 %b1, 0; mov.b32 %c0, 0; mov.b32 %c1, 0; mov.b32 %c2, 0; "
      "mov.b32 %c3, "
      "0;\nmov.u64 %rd5, %clock64;\n";
  for (int i = 0; i < kCount; ++i)
    body +=
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%c0,%c1,%c2,%c3}, {%a0,%a1,%a2,%a3}, {%b0,%b1}, "
        "{%c0,%c1,%c2,%c3};\n";
  body +=
      "setp.eq.u32 %p1, %c0, 1; @%p1 trap; mov.u64 %rd6, %clock64; sub.u64 %rd6, %rd6, %rd5; "
      "st.global.u64 [%rd0], %rd6;\n";
  Bench bench(entry("k", 1, body));
  const DeviceAddress out = bench.allocate(8);
  bench.launch("k", {out});
  bench.run();
  CHECK(static_cast<double>(bench.read<uint64_t>(out, 1)[0]) / kCount == Approx(24.1).epsilon(0.05));
}

TEST_CASE("ldmatrix and stmatrix: four matrices, plain and transposed", "[sim]") {
  // Shared memory holds element (row, column) of matrix i as 16-bit number i * 64 + row * 8 + column,
  // matrices in reverse order.
  for (const bool transposed : {false, true}) {
    for (const uint32_t count : {1U, 2U, 4U}) {
      CAPTURE(transposed, count);
      const std::string list = registers("d", count);
      const std::string form =
          fmt::format("sync.aligned.m8n8.x{}{}.shared.b16", count, transposed ? ".trans" : "");
      std::string body = R"(
      .reg .b32 %d<4>; .shared .align 16 .b8 from[512]; .shared .align 16 .b8 to[512];
      mov.u32 %r1, from; mov.u32 %r2, to; mov.u32 %r3, %r0;
    FILL:
      shl.b32 %r4, %r3, 1; mov.u32 %r5, 384; and.b32 %r6, %r4, 127; sub.u32 %r5, %r5, %r4; add.u32 %r5, %r5, %r6;
      add.u32 %r5, %r5, %r6; add.u32 %r7, %r1, %r5; cvt.u16.u32 %h1, %r3; st.shared.u16 [%r7], %h1;
      add.u32 %r3, %r3, 32; setp.lt.u32 %p1, %r3, 256; @%p1 bra FILL;
      bar.sync 0;
      and.b32 %r8, %r0, 7; shl.b32 %r8, %r8, 4; shr.u32 %r9, %r0, 3; mov.u32 %r10, 3; sub.u32 %r11, %r10, %r9;
      shl.b32 %r11, %r11, 7; add.u32 %r12, %r1, %r11; add.u32 %r12, %r12, %r8;
      shl.b32 %r13, %r9, 7; add.u32 %r13, %r13, %r2; add.u32 %r13, %r13, %r8;
)";
      body += "ldmatrix." + form + " " + list + ", [%r12];\n";
      body += "stmatrix." + form + " [%r13], " + list + ";\nbar.sync 0;\n";
      body += "mul.wide.u32 %rd5, %r0, 16; add.u64 %rd6, %rd0, %rd5;\n";
      for (uint32_t i = 0; i < count; ++i) body += fmt::format("st.global.u32 [%rd6+{}], %d{};\n", 4 * i, i);
      body +=
          "add.u64 %rd6, %rd1, %rd5; shl.b32 %r14, %r0, 4; add.u32 %r14, %r14, %r2;\n"
          "ld.shared.v4.u32 {%r15,%r16,%r17,%r18}, [%r14]; st.global.v4.u32 [%rd6], {%r15,%r16,%r17,%r18};\n";
      Bench bench(entry("k", 2, body));
      const DeviceAddress fragments = bench.allocate(512), stored = bench.allocate(512);
      bench.launch("k", {fragments, stored});
      bench.run();
      const auto words = bench.read<uint32_t>(fragments, 128);
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        for (uint32_t i = 0; i < count; ++i) {
          const uint32_t slow = lane / 4, fast = lane % 4 * 2;
          const uint32_t low = i * 64 + (transposed ? fast * 8 + slow : slow * 8 + fast);
          const uint32_t high = i * 64 + (transposed ? (fast + 1) * 8 + slow : slow * 8 + fast + 1);
          CHECK(words[lane * 4 + i] == (low | high << 16));
        }
      }
      const auto elements = bench.read<uint16_t>(stored, 256);  // and back, matrices in order
      for (uint32_t e = 0; e < count * 64; ++e) REQUIRE(elements[e] == e);
    }
  }
}

TEST_CASE("ldmatrix: rows outside and rows off 16 bytes are refused", "[sim][errors]") {
  const auto error = [](const char* address) {
    Bench bench(entry("k", 1,
                      fmt::format(".shared .align 16 .b8 m[128]; mov.u32 %r1, {};\n"
                                  "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r2}}, [%r1];\n",
                                  address)));
    bench.launch("k", {0});
    return bench.run_error();
  };
  CHECK(error("8").find("misaligned row of a matrix") != std::string::npos);
  CHECK(error("4096").find("out-of-bounds row of a matrix") != std::string::npos);
}
