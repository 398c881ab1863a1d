// One DRAM channel against what its timing parameters say on paper.
#include "models/gpu/hbm.hpp"

#include <catch2/catch.hpp>
#include <random>
#include <vector>

#include "models/base/transaction.hpp"

namespace ptxwire::models::test {
namespace {

constexpr uint32_t kLine = 4;  // sectors

/// One channel of 32 B/ns that belongs to one slice; no refresh, so that sums come out exactly.
HbmParameters one_channel() {
  HbmParameters p;
  p.bytes_per_second = 32e9;
  p.channels = 1;
  p.banks = 16;
  p.row_bytes = 1024;
  p.activate_ns = 14;
  p.precharge_ns = 15;
  p.row_active_ns = 34;
  p.activate_interval_ns = 5;
  p.read_latency_ns = 16;
  p.write_latency_ns = 4;
  p.write_to_read_ns = 6;
  p.write_recovery_ns = 17;
  p.read_to_precharge_ns = 3;
  p.refresh_ns = 0;
  p.latency_ns = 100;
  p.write_buffer_bytes = 8192;
  return p;
}

constexpr uint32_t kLinesPerRow = 8;

/// Requests one after another with at most `window` reads on the way, as many as the slice has room for.
class Requests {
 public:
  Requests(const HbmParameters& parameters, unsigned window) : hbm(parameters, 1, counters), back_(window) {}

  void read(uint32_t line, uint32_t sectors) {
    Picoseconds& slot = back_[count_++ % back_.size()];
    now = max(now, slot);
    slot = hbm.read(0, line, sectors, now);
    last = max(last, slot);
  }
  void write(uint32_t line, uint32_t sectors) { last = max(last, now = hbm.write(0, line, sectors, now)); }

  HbmCounters counters;
  Hbm hbm;
  Picoseconds now{}, last{};

 private:
  std::vector<Picoseconds> back_;
  unsigned count_ = 0;
};

double ns_per_request(const Requests& requests, unsigned count) { return requests.last.ns() / count; }

constexpr unsigned kCount = 20000, kWindow = 128;

}  // namespace

TEST_CASE("hbm: an idle channel answers after row, column, burst and controller", "[timing][analytic]") {
  const HbmParameters p = one_channel();
  HbmCounters counters;
  Hbm hbm(p, 1, counters);
  const double burst = 4;
  const Picoseconds later = microseconds(1);
  const double hit = p.read_latency_ns + burst + p.latency_ns;
  CHECK(hbm.read(0, 0, kLine, {}).ns() == Approx(p.activate_ns + hit));
  CHECK((hbm.read(0, 1, kLine, later) - later).ns() == Approx(hit));
  // With one bank the next row finds the first one open.
  HbmParameters one_bank = p;
  one_bank.banks = 1;
  Hbm narrow(one_bank, 1, counters);
  narrow.read(0, 0, kLine, {});
  CHECK((narrow.read(0, kLinesPerRow, kLine, later) - later).ns() ==
        Approx(p.precharge_ns + p.activate_ns + hit));
  CHECK(counters.row_misses == 2);
  CHECK(counters.row_hits == 1);
  CHECK(counters.row_conflicts == 1);
}

TEST_CASE("hbm: a sequential stream opens each row once and fills the bus", "[timing][analytic]") {
  Requests stream(one_channel(), kWindow);
  for (uint32_t i = 0; i < kCount; ++i) stream.read(i, kLine);
  CHECK(ns_per_request(stream, kCount) == Approx(4).epsilon(0.01));
  CHECK(stream.counters.row_hits == kCount - kCount / kLinesPerRow);
  CHECK(stream.counters.turnarounds == 0);
}

TEST_CASE("hbm: refresh takes its share of a stream", "[timing][analytic]") {
  HbmParameters p = one_channel();
  p.refresh_ns = 350;
  p.refresh_interval_ns = 3900;
  const bool writes = GENERATE(false, true);
  Requests stream(p, kWindow);
  for (uint32_t i = 0; i < kCount; ++i) writes ? stream.write(i, kLine) : stream.read(i, kLine);
  CHECK(ns_per_request(stream, kCount) == Approx(4 / (1 - 350.0 / 3900)).epsilon(0.01));
}

TEST_CASE("hbm: rows do not stay open over a refresh", "[contract]") {
  HbmParameters p = one_channel();
  p.refresh_ns = 350;
  Requests requests(p, 1);
  requests.read(0, kLine);
  requests.now = nanoseconds(50 * p.refresh_interval_ns + 1000);
  requests.read(1, kLine);
  CHECK(requests.counters.row_misses == 2);
  // One that comes while the channel refreshes waits for the end of it.
  requests.now = nanoseconds(52 * p.refresh_interval_ns + 100);
  const Picoseconds arrival = requests.now;
  requests.last = {};
  requests.read(2, kLine);
  CHECK((requests.last - arrival).ns() == Approx(250 + p.activate_ns + p.read_latency_ns + 4 + p.latency_ns));
}

TEST_CASE("hbm: a new row for every read is held by the cycle of its bank over the number of banks",
          "[timing][analytic]") {
  HbmParameters p = one_channel();
  p.activate_interval_ns = 0;
  p.banks = GENERATE(1U, 2U, 4U);
  const double cycle = p.row_active_ns + p.precharge_ns;
  Requests reads(p, kWindow);
  for (uint32_t i = 0; i < kCount; ++i) reads.read(i * kLinesPerRow, 1);
  CHECK(ns_per_request(reads, kCount) == Approx(cycle / p.banks).epsilon(0.02));
  CHECK(reads.counters.row_hits == 0);

  p.refresh_ns = 350;
  Requests refreshed(p, kWindow);
  for (uint32_t i = 0; i < kCount; ++i) refreshed.read(i * kLinesPerRow, 1);
  CHECK(ns_per_request(refreshed, kCount) == Approx(cycle / p.banks / (1 - 350.0 / 3900)).epsilon(0.03));
}

TEST_CASE("hbm: with banks enough, activations or the bus hold random reads", "[timing][analytic]") {
  HbmParameters p = one_channel();
  p.banks = 64;
  const uint32_t sectors = GENERATE(1U, 2U, 4U, 8U);
  std::mt19937 random(7);
  Requests reads(p, kWindow);
  for (uint32_t i = 0; i < kCount; ++i) reads.read(random() % (1U << 24U), sectors);
  const double expected = std::max<double>(sectors, p.activate_interval_ns);
  CHECK(ns_per_request(reads, kCount) == Approx(expected).epsilon(0.02));

  p.refresh_ns = 350;
  Requests refreshed(p, kWindow);
  for (uint32_t i = 0; i < kCount; ++i) refreshed.read(random() % (1U << 24U), sectors);
  CHECK(ns_per_request(refreshed, kCount) == Approx(expected / (1 - 350.0 / 3900)).epsilon(0.03));
}

TEST_CASE("hbm: two streams in one bank do not close each other's row every time", "[contract]") {
  HbmParameters p = one_channel();
  p.banks = 1;
  Requests streams(p, kWindow);
  for (uint32_t i = 0; i < 8 * kLinesPerRow; ++i) {
    streams.read(i, 1);
    streams.read(1'000'000 + i, 1);
  }
  CHECK(streams.counters.row_conflicts + streams.counters.row_misses < 4 * 8);  // of 128 requests
}

TEST_CASE("hbm: writes alone fill the bus and hold up L2 at its rate", "[timing][analytic]") {
  Requests stream(one_channel(), 1);
  for (uint32_t i = 0; i < kCount; ++i) stream.write(i, kLine);
  CHECK(ns_per_request(stream, kCount) == Approx(4).epsilon(0.01));
  CHECK(stream.counters.turnarounds == 1);
}

TEST_CASE("hbm: reads and writes in turn cost two turnarounds for each half of the write buffer",
          "[timing][analytic]") {
  HbmParameters p = one_channel();
  p.write_buffer_bytes = GENERATE(256U, 2048U, 8192U);
  Requests mixed(p, kWindow);
  for (uint32_t i = 0; i < kCount; ++i) {
    mixed.read(i, kLine);
    mixed.write(10'000'000 + i, kLine);
  }
  const double batch = std::max(1.0, p.write_buffer_bytes / 2.0 / kLineBytes);
  const double turns = (p.read_latency_ns - p.write_latency_ns) + (p.write_latency_ns + p.write_to_read_ns);
  CHECK(ns_per_request(mixed, kCount) == Approx(2 * 4 + turns / batch).epsilon(0.03));
  CHECK(mixed.counters.turnarounds == Approx(kCount / batch).epsilon(0.02));
}

TEST_CASE("hbm: buffered writes go out while nobody reads", "[contract]") {
  const HbmParameters p = one_channel();
  Requests requests(p, 1);
  for (uint32_t i = 0; i < 8; ++i) requests.write(i, kLine);
  CHECK(requests.counters.turnarounds == 0);
  const Picoseconds later = requests.now = microseconds(1);
  requests.last = {};
  requests.read(10'000'000, kLine);
  CHECK(requests.counters.turnarounds == 1);
  // What they cost was over long ago.
  CHECK((requests.last - later).ns() <=
        p.precharge_ns + p.activate_ns + p.read_latency_ns + 4 + p.latency_ns);
}

TEST_CASE("hbm: lines of slices spread evenly over channels and banks", "[contract]") {
  struct Case {
    uint32_t slices, channels;
  };
  const Case c = GENERATE(Case{1, 4}, Case{4, 1}, Case{2, 2}, Case{2, 4});
  HbmParameters p = one_channel();
  p.channels = c.channels;
  p.bytes_per_second = 32e9 * c.channels;
  HbmCounters counters;
  Hbm hbm(p, c.slices, counters);
  Picoseconds last{};
  for (uint32_t i = 0; i < kCount; ++i)
    for (uint32_t slice = 0; slice < c.slices; ++slice) last = max(last, hbm.read(slice, i, kLine, {}));
  CHECK(last.ns() == Approx(4.0 * kCount * c.slices / c.channels).epsilon(0.02));
  CHECK(counters.row_misses + counters.row_conflicts ==
        Approx(static_cast<double>(kCount) * c.slices / kLinesPerRow).epsilon(0.02));
}

}  // namespace ptxwire::models::test
