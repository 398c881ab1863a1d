// wgmma against products computed here, with operands put into shared memory by the layouts of PTX
// ISA 9.7.15.5.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>

#include "bench.hpp"
#include "matrix_formats.hpp"

using namespace ptxwire::sim;
using namespace ptxwire::sim::test;

namespace {

constexpr uint32_t kRows = 64, kThreads = 128, kImageBytes = 64 * 1024, kRightAt = 32 * 1024;

/// Where an operand lies: its descriptor's fields, and whether k is innermost.
struct Layout {
  uint32_t start = 0, leading = 0, stride = 0, swizzle = 0;
  bool transposed = false;

  [[nodiscard]] uint64_t descriptor() const {
    const uint64_t mode = swizzle == 0 ? 0 : swizzle == 128 ? 1 : swizzle == 64 ? 2 : 3;
    return start >> 4 | uint64_t{leading >> 4} << 16 | uint64_t{stride >> 4} << 32 | mode << 62;
  }
  /// Byte of element (row, k): the canonical layouts, then the exchange of chunks of 16 bytes.
  [[nodiscard]] uint32_t place(uint32_t row, uint32_t k, uint32_t bits) const {
    const uint32_t t = 128 / bits,
                   x = swizzle == 0 ? 1 : swizzle / 16;  // elements in 16 bytes; chunks in a row
    uint32_t at = 0;
    if (!transposed) {  // ((8,m),(T,2)) : ((xT,SBO),(1,LBO or T))
      at = row % 8 * x * 16 + row / 8 * stride + k % t * bits / 8 + k / t * (swizzle == 0 ? leading : 16);
    } else if (swizzle == 0) {  // ((T,1,m),(8,k)) : ((1,T,SBO),(1T,LBO))
      at = row % t * bits / 8 + row / t * stride + k % 8 * 16 + k / 8 * leading;
    } else {  // ((T,x,m),(8,k)) : ((1,T,LBO),(xT,SBO))
      at = row % t * bits / 8 + row / t % x * 16 + row / (t * x) * leading + k % 8 * x * 16 + k / 8 * stride;
    }
    at += start;
    return swizzle == 0 ? at : at ^ (at >> 7 & (x - 1)) << 4;
  }
};

void put(std::vector<uint8_t>& image, const Layout& layout, const Format& format, const Matrix& matrix) {
  for (uint32_t i = 0; i < matrix.size(); ++i) {
    const uint32_t row = i / format.depth(), k = i % format.depth(), word = format.encode(matrix[i]);
    const uint32_t at = layout.place(row, k, format.bits);
    REQUIRE(at < image.size());
    if (format.bits == 1) {
      image[at] = static_cast<uint8_t>(image[at] | word << k % 8);
    } else {
      std::memcpy(image.data() + at, &word, format.bits / 8);
    }
  }
}

struct Case {
  Format a, b;
  uint32_t n = 8;
  const char* sum = "f32";
  Layout left{0, 128, 256, 0}, right{kRightAt, 128, 256, 0};
  bool from_registers = false, accumulate = true;
  int scale_a = 1, scale_b = 1;

  [[nodiscard]] bool is_float() const { return a.exponent_bits != 0; }
  [[nodiscard]] uint32_t registers() const { return n / (std::string(sum) == "f16" ? 4 : 2); }
  [[nodiscard]] std::string instruction() const {
    std::string list;
    for (uint32_t i = 0; i < registers(); ++i) list += fmt::format("{}%d{}", i == 0 ? "" : ", ", i);
    std::string text = fmt::format("wgmma.mma_async.sync.aligned.m64n{}k{}.{}.{}.{}{} {{{}}}, {}, %rd4, %p2",
                                   n, a.depth(), sum, a.name, b.name, a.bits == 1 ? ".and.popc" : "", list,
                                   from_registers ? "{%e0, %e1, %e2, %e3}" : "%rd3");
    if (is_float()) text += fmt::format(", {}, {}", scale_a, scale_b);
    if (is_float() && a.bits == 16) {
      if (!from_registers) text += fmt::format(", {}", left.transposed ? 1 : 0);
      text += fmt::format(", {}", right.transposed ? 1 : 0);
    }
    return text + ";";
  }
};

/// k(out, image, registers of A, descriptor A, descriptor B, accumulate, first D); out and D
/// [thread][register].
std::string kernel(const Case& test) {
  const uint32_t registers = test.registers();
  std::string body = fmt::format(R"(
  .reg .b32 %d<128>; .reg .b32 %e<4>;
  shl.b32 %r2, %r0, 4;
COPY:
  cvt.u64.u32 %rd8, %r2; add.u64 %rd9, %rd1, %rd8;
  ld.global.v4.u32 {{%r4, %r5, %r6, %r7}}, [%rd9];
  st.shared.v4.u32 [%r2], {{%r4, %r5, %r6, %r7}};
  add.u32 %r2, %r2, {}; setp.lt.u32 %p1, %r2, {}; @%p1 bra COPY;
  fence.proxy.async; bar.sync 0;
  setp.ne.u64 %p2, %rd5, 0;
  mul.wide.u32 %rd8, %r0, {}; add.u64 %rd9, %rd6, %rd8; add.u64 %rd10, %rd0, %rd8;
  mul.wide.u32 %rd8, %r0, 16; add.u64 %rd11, %rd2, %rd8;
  ld.global.v4.u32 {{%e0, %e1, %e2, %e3}}, [%rd11];
)",
                                 kThreads * 16, kImageBytes, registers * 4);
  for (uint32_t i = 0; i < registers; ++i) body += fmt::format("ld.global.u32 %d{}, [%rd9+{}];\n", i, 4 * i);
  body += "wgmma.fence.sync.aligned;\n" + test.instruction() +
          "\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n";
  for (uint32_t i = 0; i < registers; ++i) body += fmt::format("st.global.u32 [%rd10+{}], %d{};\n", 4 * i, i);
  return ".extern .shared .align 1024 .b8 memory[];\n" + entry("k", 7, body);
}

struct Place {
  uint32_t row, column;
};
/// Of sum i of a thread (PTX ISA, figure of the D fragment).
Place sum_place(uint32_t thread, uint32_t i) {
  return {thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8, i / 4 * 8 + thread % 4 * 2 + i % 2};
}

/// The registers of A of all threads: bytes 4 (lane % 4) and 16 further of rows lane / 4 and 8 further.
std::vector<uint32_t> left_registers(const Format& format, const Matrix& a) {
  std::vector<uint8_t> rows(size_t{kRows} * 32);
  put(rows, {0, 16, 256, 32, false}, format, a);  // rows of 32 bytes ...
  for (uint32_t at = 0; at < rows.size(); at += 32)
    if (at >> 7 & 1)
      std::swap_ranges(rows.begin() + at, rows.begin() + at + 16, rows.begin() + at + 16);  // ... plain
  std::vector<uint32_t> words(size_t{kThreads} * 4);
  for (uint32_t thread = 0; thread < kThreads; ++thread)
    for (uint32_t r = 0; r < 4; ++r) {
      const uint32_t row = thread / 32 * 16 + thread % 32 / 4 + r % 2 * 8;
      std::memcpy(&words[thread * 4 + r], &rows[row * 32 + thread % 4 * 4 + r / 2 * 16], 4);
    }
  return words;
}

/// Bits of sum `value` in the type of D; two halves of f16 are put together by the caller.
uint32_t sum_bits(const Case& test, int64_t value) {
  if (std::string(test.sum) == "s32") return static_cast<uint32_t>(value);
  if (std::string(test.sum) == "f16") return kF16.encode(static_cast<int>(value));
  const auto number = static_cast<float>(value);
  uint32_t bits = 0;
  std::memcpy(&bits, &number, 4);
  return bits;
}

std::vector<uint32_t> run(const Case& test, const std::vector<uint8_t>& image,
                          const std::vector<uint32_t>& left, const std::vector<uint32_t>& first) {
  Bench bench(kernel(test));
  const DeviceAddress out = bench.allocate(first.size() * 4), from = bench.allocate(image.size()),
                      a = bench.allocate(left.size() * 4), d = bench.allocate(first.size() * 4);
  bench.write(from, image);
  bench.write(a, left);
  bench.write(d, first);
  bench.launch(
      "k", {out, from, a, test.left.descriptor(), test.right.descriptor(), test.accumulate ? 1ULL : 0ULL, d},
      {.block = {kThreads, 1, 1}, .dynamic_shared = kImageBytes});
  bench.run();
  return bench.read<uint32_t>(out, first.size());
}

void check(const Case& test) {
  CAPTURE(test.instruction(), test.left.swizzle, test.left.transposed, test.right.swizzle,
          test.right.transposed);
  const Matrix a = drawn(test.a, kRows, 1), b = drawn(test.b, test.n, 2);
  std::vector<uint8_t> image(kImageBytes, 0);
  if (!test.from_registers) put(image, test.left, test.a, a);
  put(image, test.right, test.b, b);
  const uint32_t sums = test.n / 2, depth = test.a.depth();
  const bool halves = std::string(test.sum) == "f16";
  const auto before = [](uint32_t row, uint32_t column) {
    return static_cast<int>(row % 7 + column % 5) - 5;
  };
  std::vector<uint32_t> first(size_t{kThreads} * test.registers()), expected(first.size());
  const auto add = [&](std::vector<uint32_t>& words, uint32_t thread, uint32_t i, int64_t value) {
    uint32_t& word = words[thread * test.registers() + (halves ? i / 2 : i)];
    word = halves ? word | sum_bits(test, value) << i % 2 * 16 : sum_bits(test, value);
  };
  for (uint32_t thread = 0; thread < kThreads; ++thread) {
    for (uint32_t i = 0; i < sums; ++i) {
      const Place at = sum_place(thread, i);
      int64_t sum = 0;
      for (uint32_t k = 0; k < depth; ++k) sum += int64_t{a[at.row * depth + k]} * b[at.column * depth + k];
      add(first, thread, i, before(at.row, at.column));
      add(expected, thread, i,
          sum * test.scale_a * test.scale_b + (test.accumulate ? before(at.row, at.column) : 0));
    }
  }
  const std::vector<uint32_t> left =
      test.from_registers ? left_registers(test.a, a) : std::vector<uint32_t>(size_t{kThreads} * 4);
  CHECK(run(test, image, left, first) == expected);
}

Layout plain_k(uint32_t start, uint32_t rows) { return {start, rows * 16, 128, 0, false}; }
Layout swizzled_k(uint32_t start, uint32_t span) { return {start, 16, 8 * span, span, false}; }
Layout plain_mn(uint32_t start, uint32_t rows) { return {start, rows * 16, 128, 0, true}; }
Layout swizzled_mn(uint32_t start, uint32_t span) { return {start, 16 * span, 8 * span, span, true}; }

}  // namespace

TEST_CASE("wgmma: products of every pair of types, operands from shared memory and from registers", "[sim]") {
  const std::vector<Case> cases = {
      {.a = kBf16, .b = kBf16, .n = 64},
      {.a = kF16, .b = kF16, .n = 24},
      {.a = kF16, .b = kF16, .n = 16, .sum = "f16"},
      {.a = kTf32, .b = kTf32, .n = 40},
      {.a = kE4m3, .b = kE4m3, .n = 32},
      {.a = kE4m3, .b = kE5m2, .n = 16},
      {.a = kE5m2, .b = kE4m3, .n = 8, .sum = "f16"},
      {.a = kS8, .b = kS8, .n = 32, .sum = "s32"},
      {.a = kU8, .b = kS8, .n = 16, .sum = "s32"},
      {.a = kU8, .b = kU8, .n = 96, .sum = "s32"},
      {.a = kB1, .b = kB1, .n = 48, .sum = "s32"},
  };
  for (Case test : cases) {
    test.left = plain_k(0, kRows);
    test.right = plain_k(kRightAt, test.n);
    check(test);
    test.from_registers = true;
    check(test);
  }
}

TEST_CASE("wgmma: every swizzle with k innermost, and with m or n innermost", "[sim]") {
  for (const uint32_t span : {0U, 32U, 64U, 128U}) {
    for (const bool transposed : {false, true}) {
      Case test{.a = kBf16, .b = kBf16, .n = 128};
      const auto layout = [&](uint32_t start, uint32_t rows) {
        if (span == 0) return transposed ? plain_mn(start, rows) : plain_k(start, rows);
        return transposed ? swizzled_mn(start, span) : swizzled_k(start, span);
      };
      test.left = layout(0, kRows);
      test.right = layout(kRightAt, test.n);
      check(test);
      test.right.transposed = false;  // one of each
      test.right = swizzled_k(kRightAt, 128);
      check(test);
    }
  }
  // Further along the rows of a swizzled tile, as a loop over k goes.
  Case test{.a = kF16, .b = kF16, .n = 256};
  test.left = swizzled_k(96, 128);
  test.right = swizzled_k(kRightAt + 32, 128);
  check(test);
}

TEST_CASE("wgmma: scale-d, negated operands, saturation", "[sim]") {
  Case test{.a = kBf16, .b = kBf16, .n = 8};
  for (const bool accumulate : {false, true}) {
    for (const int a : {-1, 1}) {
      for (const int b : {-1, 1}) {
        test.accumulate = accumulate;
        test.scale_a = a;
        test.scale_b = b;
        check(test);
      }
    }
  }
}

TEST_CASE("wgmma: sums of random reals are within the bound of f32 sums", "[sim]") {
  // Elements of bf16 in (-1, 1); |error| <= (depth + 1) * 2^-24 * sum |a b| (each sum rounded once).
  Case test{.a = kBf16, .b = kBf16, .n = 64};
  test.left = swizzled_k(0, 128);
  test.right = swizzled_k(kRightAt, 128);
  test.accumulate = false;
  std::mt19937 random(5);
  std::vector<uint8_t> image(kImageBytes, 0);
  const auto fill = [&](const Layout& layout, uint32_t rows) {
    std::vector<double> values(size_t{rows} * 16);
    for (uint32_t i = 0; i < values.size(); ++i) {
      const auto word = static_cast<uint16_t>((random() & 0x80FF) | (0x3E80 + (random() % 2 << 7)));
      const uint32_t bits = uint32_t{word} << 16;
      float value = 0;
      std::memcpy(&value, &bits, 4);
      values[i] = value;
      std::memcpy(image.data() + layout.place(i / 16, i % 16, 16), &word, 2);
    }
    return values;
  };
  const std::vector<double> a = fill(test.left, kRows), b = fill(test.right, test.n);
  const std::vector<uint32_t> out = run(test, image, std::vector<uint32_t>(size_t{kThreads} * 4),
                                        std::vector<uint32_t>(size_t{kThreads} * 32));
  for (uint32_t thread = 0; thread < kThreads; ++thread) {
    for (uint32_t i = 0; i < 32; ++i) {
      const Place at = sum_place(thread, i);
      double sum = 0, size = 0;
      for (uint32_t k = 0; k < 16; ++k) {
        sum += a[at.row * 16 + k] * b[at.column * 16 + k];
        size += std::fabs(a[at.row * 16 + k] * b[at.column * 16 + k]);
      }
      float found = 0;
      std::memcpy(&found, &out[thread * 32 + i], 4);
      REQUIRE(std::fabs(found - sum) <= 17 * std::ldexp(size, -24));
    }
  }
}

TEST_CASE("wgmma: the tensor cores take as long as their rate or shared memory says", "[sim][timing]") {
  // 64 n k multiplications at 2048 of 16 bits per clk; operands at 128 B per clk; 20 clk to the last result.
  struct Row {
    Case test;
    double clk;
  };
  const std::vector<Row> rows = {
      {{.a = kBf16, .b = kBf16, .n = 256}, 128},
      {{.a = kF16, .b = kF16, .n = 128}, 64},
      {{.a = kE4m3, .b = kE4m3, .n = 256}, 128},  // twice as deep
      {{.a = kTf32, .b = kTf32, .n = 256}, 128},  // half as deep
      {{.a = kBf16, .b = kBf16, .n = 64}, 32},
      {{.a = kBf16, .b = kBf16, .n = 32}, 24},                          // 96 rows of 32 B
      {{.a = kBf16, .b = kBf16, .n = 32, .from_registers = true}, 16},  // 32 rows
  };
  constexpr int kCount = 50;
  for (const Row& row : rows) {
    CAPTURE(row.test.instruction());
    std::string body = ".reg .b32 %d<128>; .reg .b32 %e<4>; setp.ne.u64 %p2, %rd5, 0;\n";
    for (uint32_t i = 0; i < row.test.registers(); ++i) body += fmt::format("mov.b32 %d{}, 0;\n", i);
    for (int i = 0; i < 4; ++i) body += fmt::format("mov.b32 %e{}, 0;\n", i);
    body += "mov.u64 %rd8, %clock64;\nwgmma.fence.sync.aligned;\n";
    for (int i = 0; i < kCount; ++i) body += row.test.instruction() + "\n";
    body +=
        "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\nmov.u64 %rd9, %clock64;\n"
        "sub.u64 %rd9, %rd9, %rd8; st.global.u64 [%rd0], %rd9;\n";
    Bench bench(".extern .shared .align 1024 .b8 memory[];\n" + entry("k", 7, body));
    const DeviceAddress out = bench.allocate(8);
    bench.launch("k", {out, 0, 0, row.test.left.descriptor(), row.test.right.descriptor(), 1, 0},
                 {.block = {kThreads, 1, 1}, .dynamic_shared = kImageBytes});
    const RunReport report = bench.run();
    const auto clk = static_cast<double>(bench.read<uint64_t>(out, 1)[0]);
    CHECK(clk == Approx(kCount * row.clk + 20).margin(60));
    CHECK(report.gpus[0].tensor_core_utilisation > 0);
  }
}

TEST_CASE("wgmma: what it cannot do is said", "[sim][errors]") {
  const auto error = [](const Case& test, const Shape& shape, uint64_t left) {
    Bench bench(kernel(test));
    const DeviceAddress memory = bench.allocate(kImageBytes);
    bench.launch("k", {memory, memory, memory, left, test.right.descriptor(), 0, memory}, shape);
    return bench.run_error();
  };
  const Case test{.a = kBf16, .b = kBf16, .n = 8};
  CHECK(error(test, {.block = {96, 1, 1}, .dynamic_shared = kImageBytes}, 0).find("no whole warpgroup") !=
        std::string::npos);
  CHECK(error(test, {.block = {128, 1, 1}, .dynamic_shared = kImageBytes},
              Layout{.start = 65520, .leading = 16}.descriptor())
            .find("out-of-bounds access to shared memory by matrix descriptor") != std::string::npos);
}
