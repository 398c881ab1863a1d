// Instructions that steer L2: prefetch, discard, applypriority, cache policies; and the account of evictions.
#include <catch2/catch.hpp>
#include <string>

#include "bench.hpp"

using namespace ptxwire::sim;
using namespace ptxwire::sim::test;

namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kLine = 128;
constexpr Shape kWholeGpu{.grid = {132, 1, 1}, .block = {256, 1, 1}};

/// Entry `name(base, bytes)`: all threads of the grid walk over the bytes, `stride` apart, and do `access` at
/// %rd5.
std::string walk(const std::string& name, int stride, const std::string& access,
                 const std::string& setup = {}) {
  const std::string width = std::to_string(stride);
  return entry(name, 2,
               setup +
                   "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %nctaid.x; mov.u32 %r3, %ntid.x;\n"
                   "mad.lo.u32 %r4, %r1, %r3, %r0; mul.lo.u32 %r5, %r2, %r3;\n"
                   "mul.wide.u32 %rd3, %r4, " +
                   width + "; mul.wide.u32 %rd4, %r5, " + width +
                   ";\n"
                   "L: setp.ge.u64 %p1, %rd3, %rd1; @%p1 bra E; add.u64 %rd5, %rd0, %rd3;\n" +
                   access + "add.u64 %rd3, %rd3, %rd4; bra L;\nE:\n");
}

const std::string kRead = "ld.global.L1::no_allocate.v4.u32 {%r6, %r7, %r8, %r9}, [%rd5];\n";
const std::string kReadWithPolicy =
    "ld.global.L1::no_allocate.L2::cache_hint.v4.u32 {%r6, %r7, %r8, %r9}, [%rd5], %rd6;\n";

uint64_t lines_evicted(const RunReport& report, const std::string& evictor, const std::string& victim) {
  uint64_t lines = 0;
  for (const L2Evictions& pair : report.gpus[0].l2_evictions)
    if (pair.evictor == evictor && pair.victim == victim) lines += pair.lines;
  return lines;
}

/// Clocks of one load of a line that a prefetch named long before.
uint64_t load_clk_after(const std::string& prefetch, const std::string& load) {
  Bench bench(entry("k", 2, "mov.u64 %rd9, %rd1;\n" + prefetch + R"(
    nanosleep.u32 20000;
    mov.u64 %rd3, %clock64;
    )" + load + R"(
    add.u64 %rd4, %rd4, 1;
    mov.u64 %rd5, %clock64;
    sub.u64 %rd6, %rd5, %rd3;
    st.global.u64 [%rd0], %rd6;)"));
  const auto out = bench.allocate(4096);
  const auto data = bench.allocate(4096);
  bench.launch("k", {out, data}, {.block = {1, 1, 1}});
  bench.run();
  return bench.read<uint64_t>(out, 1)[0];
}

}  // namespace

// The bounds are those of the machine file: an L1 hit takes 40 clk, a far L2 hit 414, any miss 550 and more.
TEST_CASE("cache control: a prefetched line is found where it was sent", "[sim]") {
  const std::string load_l1 = "ld.global.u64 %rd4, [%rd9];\n";
  const std::string load_l2 = "ld.global.cg.u64 %rd4, [%rd9];\n";
  CHECK(load_clk_after("", load_l2) > 500);
  for (const char* form :
       {"prefetch.global.L2 [%rd9];\n", "prefetch.L2 [%rd9];\n", "prefetch.global.L2::evict_last [%rd9];\n",
        "cp.async.bulk.prefetch.L2.global [%rd9], 16;\n"}) {
    CAPTURE(form);
    const uint64_t clk = load_clk_after(form, load_l2);
    CHECK(clk > 200);
    CHECK(clk < 450);
  }
  for (const char* form : {"prefetch.global.L1 [%rd9];\n", "prefetchu.L1 [%rd9];\n"}) {
    CAPTURE(form);
    CHECK(load_clk_after(form, load_l1) < 100);
  }
}

TEST_CASE("cache control: a prefetch of no memory does nothing, a discard of none is a fault", "[sim]") {
  Bench prefetch(entry("k", 0, "mov.u64 %rd9, 0x1234567; prefetch.global.L2 [%rd9];\n"));
  prefetch.launch("k", {});
  prefetch.run();
  for (const char* form :
       {"discard.global.L2 [%rd0+%d], 128;", "applypriority.global.L2::evict_normal [%rd0+%d], 128;"}) {
    for (const auto& [offset, what] : {std::pair{"64", "misaligned"}, std::pair{"1048576", "unmapped"}}) {
      std::string text = form;
      text.replace(text.find("%d"), 2, offset);
      CAPTURE(text);
      Bench bench(entry("k", 1, text));
      bench.launch("k", {bench.allocate(4096)});
      CHECK(bench.run_error().find(what) != std::string::npos);
    }
  }
}

TEST_CASE("cache control: discarded lines are not written back", "[sim]") {
  constexpr uint64_t kDirty = 4 * kMiB;
  for (const bool discard : {false, true}) {
    Bench bench(walk("fill", 16, "st.global.v4.u32 [%rd5], {%r0, %r0, %r0, %r0};\n") +
                walk("drop", kLine, discard ? "discard.global.L2 [%rd5], 128;\n" : "") +
                walk("sweep", 16, kRead));
    const auto dirty = bench.allocate(kDirty);
    const auto other = bench.allocate(100 * kMiB);
    bench.launch("fill", {dirty, kDirty}, kWholeGpu);
    bench.launch("drop", {dirty, kDirty}, kWholeGpu);
    bench.launch("sweep", {other, 100 * kMiB}, kWholeGpu);
    const RunReport report = bench.run();
    CHECK(report.gpus[0].hbm_write_bytes == (discard ? 0 : kDirty));
    CHECK(lines_evicted(report, "sweep", "fill") == kDirty / kLine);
  }
}

// 32 of 50 MiB are resident; 64 MiB stream through. Every set holds 10 or 11 resident lines of 16.
TEST_CASE("cache policies: what a stream evicts depends on its hint", "[sim]") {
  constexpr uint64_t kResident = 32 * kMiB;
  const auto evicted = [&](const std::string& setup, const std::string& access) {
    Bench bench(walk("resident", 16, kRead) + walk("stream", 16, access, setup));
    const auto resident = bench.allocate(kResident);
    const auto other = bench.allocate(64 * kMiB);
    bench.launch("resident", {resident, kResident}, kWholeGpu);
    bench.launch("stream", {other, 64 * kMiB}, kWholeGpu);
    const RunReport report = bench.run();
    return static_cast<double>(lines_evicted(report, "stream", "resident")) * kLine / kResident;
  };
  CHECK(evicted("", kRead) == 1.0);  // LRU: all of the older ones go first
  CHECK(evicted("createpolicy.fractional.L2::evict_first.b64 %rd6;\n", kReadWithPolicy) == 0.0);
  CHECK(evicted("mov.u64 %rd6, 0x12f0000000000000;\n", kReadWithPolicy) == 0.0);
  // Half of the stream is normal and wins places of the other half first, then of 10.24 + 10.24 - 16
  // residents a set.
  const double half = evicted("createpolicy.fractional.L2::evict_first.L2::evict_unchanged.b64 %rd6, 0.5;\n",
                              kReadWithPolicy);
  CHECK(half > 0.3);
  CHECK(half < 0.7);
}

TEST_CASE("cache control: applypriority takes evict_last back", "[sim]") {
  constexpr uint64_t kResident = 32 * kMiB;
  for (const bool back : {false, true}) {
    Bench bench(walk("resident", 16, kReadWithPolicy, "createpolicy.fractional.L2::evict_last.b64 %rd6;\n") +
                walk("release", kLine, back ? "applypriority.global.L2::evict_normal [%rd5], 128;\n" : "") +
                walk("stream", 16, kRead));
    const auto resident = bench.allocate(kResident);
    const auto other = bench.allocate(64 * kMiB);
    bench.launch("resident", {resident, kResident}, kWholeGpu);
    bench.launch("release", {resident, kResident}, kWholeGpu);
    bench.launch("stream", {other, 64 * kMiB}, kWholeGpu);
    CHECK(lines_evicted(bench.run(), "stream", "resident") == (back ? kResident / kLine : 0));
  }
}

// The first kernel fills L2: 50 MiB are 16 lines in each of 25600 sets. The second brings in 6 lines more a
// set. Normal ones take the place of the 6 oldest; of evict_first ones the first does, and each later one
// that of the one before.
TEST_CASE("evictions: two kernels in closed form", "[sim][analytic]") {
  constexpr uint64_t kFull = 50 * kMiB, kLines = kFull / kLine, kSets = kLines / 16;
  constexpr uint64_t kStream = 6 * kSets * kLine;
  for (const bool first : {false, true}) {
    CAPTURE(first);
    const std::string policy = first ? "createpolicy.fractional.L2::evict_first.b64 %rd6;\n"
                                     : "createpolicy.fractional.L2::evict_normal.b64 %rd6;\n";
    Bench bench(walk("a", kLine, "ld.global.cg.u32 %r6, [%rd5];\n") +
                walk("b", kLine, "ld.global.cg.L2::cache_hint.u32 %r6, [%rd5], %rd6;\n", policy));
    // From a multiple of one line a set on, so that every set gets the same number.
    const auto allocate = [&](uint64_t bytes) {
      const auto at = bench.allocate(bytes + kSets * kLine);
      return (at + kSets * kLine - 1) / (kSets * kLine) * (kSets * kLine);
    };
    const auto all = allocate(kFull), other = allocate(kStream);
    bench.launch("a", {all, kFull}, kWholeGpu);
    bench.launch("b", {other, kStream}, kWholeGpu);
    const RunReport report = bench.run();
    const uint64_t of_a = first ? kSets : 6 * kSets;
    CHECK(lines_evicted(report, "b", "a") == of_a);
    CHECK(lines_evicted(report, "b", "b") == 6 * kSets - of_a);
    CHECK(lines_evicted(report, "a", "a") == 0);
    for (const L2Holding& holding : report.gpus[0].l2_holdings) {
      CAPTURE(holding.kernel);
      if (holding.kernel == "a") CHECK(holding.peak_lines == kLines);
      if (holding.kernel == "a") CHECK(holding.lines == kLines - of_a);
      if (holding.kernel == "b") CHECK(holding.lines == of_a);
      if (holding.kernel == "b") CHECK(holding.peak_lines == of_a);
    }
  }
}
