// What L2 keeps, fetches and writes back, counted in sectors and lines.
#include <vector>

#include "tests/models/driver.hpp"

namespace ptxwire::models::test {
namespace {

constexpr unsigned kWays = 16, kSetsPerSlice = 8;

/// An L2 of 80 slices with 8 sets each.
Machine small_l2() {
  Machine m = machine();
  m.l2.ways = kWays;
  m.l2.bytes = uint64_t{m.l2.slices} * kSetsPerSlice * kWays * kLineBytes;
  return m;
}

uint64_t sets_of(const Machine& m) { return m.l2.bytes / kLineBytes / m.l2.ways; }

/// Accesses of one SM, one after the other, to lines counted from a place where all sets start afresh.
class Lines {
 public:
  explicit Lines(const Machine& m, uint32_t gpus = 1) : node_(m, gpus) {
    const uint64_t turn = sets_of(m) * kLineBytes;
    base_ = (device_base(0) + turn - 1) / turn * turn;
  }

  struct Access {
    AccessKind kind = AccessKind::load;
    uint8_t owner = 1;
    L2Hint hint{};
    uint8_t sectors = 0xf;
    uint16_t prefetch_bytes = 0;
    uint32_t from_gpu = 0;
  };
  void touch(uint64_t first, uint64_t count, const Access& access) {
    for (uint64_t line = first; line < first + count; ++line) {
      Transaction transaction;
      Recorder recorder;
      fill(transaction, access.kind, access.from_gpu, 0, base_ + line * kLineBytes, 1);
      transaction.parts[0].sector_mask = access.sectors;
      transaction.parts[0].bytes = static_cast<uint16_t>(sector_count(access.sectors) * kSectorBytes);
      transaction.owner = access.owner;
      transaction.l2_hint = access.hint;
      transaction.l2_prefetch_bytes = access.prefetch_bytes;
      transaction.client = &recorder;
      node_.memory(access.from_gpu).submit(transaction, node_.process(access.from_gpu).now());
      node_.run();
    }
  }
  /// HBM bytes read by loading whole lines: what of them is not there. Changes what is there.
  uint64_t missing_bytes(uint64_t first, uint64_t count) {
    const uint64_t before = counters().hbm.read_bytes;
    touch(first, count, {});
    return counters().hbm.read_bytes - before;
  }
  const MemoryCounters& counters() { return node_.memory(0).counters(); }

 private:
  Node node_;
  uint64_t base_ = 0;
};

}  // namespace

TEST_CASE("l2: one more line than a set has ways evicts one line a set", "[analytic]") {
  const Machine m = small_l2();
  Lines lines(m);
  const uint64_t sets = sets_of(m);
  lines.touch(0, kWays * sets, {});
  CHECK(lines.counters().l2_evictions[1][1] == 0);
  CHECK(lines.counters().l2_lines[1] == kWays * sets);
  lines.touch(kWays * sets, sets, {.owner = 2});
  CHECK(lines.counters().l2_evictions[2][1] == sets);
  CHECK(lines.counters().l2_lines[1] == (kWays - 1) * sets);
  CHECK(lines.counters().l2_lines[2] == sets);
  CHECK(lines.counters().l2_peak_lines[1] == kWays * sets);
}

// Five sixteenths of the first half are held; four times the cache streams through.
TEST_CASE("l2: a fraction of the lines, the same ones every time, gets the class of the policy",
          "[analytic]") {
  const Machine m = small_l2();
  Lines lines(m);
  const uint64_t all = kWays * sets_of(m), half = all / 2;
  const auto sixteenths = static_cast<uint8_t>(GENERATE(1, 5, 16));
  const L2Hint hint{L2Priority::last, L2Priority::unchanged, sixteenths};
  lines.touch(0, half, {.hint = hint});
  lines.touch(0, half, {.hint = hint});
  CHECK(lines.counters().hbm.read_bytes == half * kLineBytes);
  lines.touch(all, 4 * all, {.owner = 2});
  CHECK(static_cast<double>(lines.counters().l2_lines[1]) ==
        Approx(static_cast<double>(half) * sixteenths / 16).epsilon(0.05));
}

TEST_CASE("l2: only dirty sectors are written back, once, when their line leaves", "[analytic]") {
  const Machine m = small_l2();
  Lines lines(m);
  const uint64_t sets = sets_of(m);
  const auto sectors = static_cast<uint8_t>(GENERATE(0x1, 0x6, 0xf));
  lines.touch(0, sets, {.kind = AccessKind::store, .sectors = sectors});
  lines.touch(0, sets, {.kind = AccessKind::store, .sectors = sectors});
  lines.touch(0, sets, {.sectors = sectors});
  CHECK(lines.counters().hbm.read_bytes == 0);  // what was stored is there
  CHECK(lines.counters().hbm.write_bytes == 0);
  lines.touch(sets, kWays * sets, {});
  CHECK(lines.counters().hbm.write_bytes == sets * sector_count(sectors) * kSectorBytes);
  CHECK(lines.counters().l2_evicted_dirty_lines == sets);
}

TEST_CASE("l2: an atomic needs its sector and leaves it dirty", "[analytic]") {
  const Machine m = small_l2();
  Lines lines(m);
  const uint64_t sets = sets_of(m);
  const auto kind = GENERATE(AccessKind::atomic, AccessKind::reduction);
  lines.touch(0, sets, {.kind = kind, .sectors = 0x2});
  CHECK(lines.counters().hbm.read_bytes == sets * kSectorBytes);
  lines.touch(sets, kWays * sets, {});
  CHECK(lines.counters().hbm.write_bytes == sets * kSectorBytes);
}

TEST_CASE("l2: discarded sectors are given up, others of their line are not", "[analytic]") {
  const Machine m = small_l2();
  Lines lines(m);
  const uint64_t sets = sets_of(m);
  lines.touch(0, sets, {.kind = AccessKind::store});
  lines.touch(0, sets, {.kind = AccessKind::discard, .sectors = 0x7});
  lines.touch(sets, kWays * sets, {});
  CHECK(lines.counters().hbm.write_bytes == sets * kSectorBytes);
}

TEST_CASE("l2: a line put back from evict_last to normal goes when it is the oldest", "[analytic]") {
  const Machine m = small_l2();
  Lines lines(m);
  const uint64_t sets = sets_of(m);
  const L2Hint last{L2Priority::last, L2Priority::unchanged, 16};
  lines.touch(0, 2 * sets, {.hint = last});
  lines.touch(0, sets, {.kind = AccessKind::reprioritise, .hint = {L2Priority::normal}});
  lines.touch(2 * sets, 2 * kWays * sets, {.owner = 2});
  CHECK(lines.counters().l2_evictions[2][1] == sets);
  CHECK(lines.missing_bytes(sets, sets) == 0);
}

TEST_CASE("l2: writes of a peer land in the home L2 and are read from there", "[contract]") {
  const Machine m = small_l2();
  Lines lines(m, 2);
  const uint64_t sets = sets_of(m);
  lines.touch(0, 4 * sets, {.kind = AccessKind::store, .owner = 3, .from_gpu = 1});
  CHECK(lines.counters().l2_lines[3] == 4 * sets);  // of the kernel that wrote them
  CHECK(lines.missing_bytes(0, 4 * sets) == 0);
  CHECK(lines.counters().hbm.write_bytes == 0);
  // They are lines like others: what comes later takes their place, and they go to the home's HBM.
  lines.touch(4 * sets, kWays * sets, {.owner = 2});
  CHECK(lines.counters().l2_evictions[2][3] == 4 * sets);
  CHECK(lines.counters().hbm.write_bytes == 4 * sets * kLineBytes);
}

TEST_CASE("l2: a prefetch of 256 B brings its pair of lines, which count as misses of nobody", "[analytic]") {
  const Machine m = small_l2();
  Lines lines(m);
  lines.touch(0, 1, {.sectors = 0x1, .prefetch_bytes = 256});
  CHECK(lines.counters().l2_sector_read_misses == 1);
  CHECK(lines.counters().hbm.read_bytes == 256);
  CHECK(lines.counters().l2_lines[1] == 2);
  CHECK(lines.missing_bytes(0, 2) == 0);
}

}  // namespace ptxwire::models::test
