// Room of an SM against the formula of the published occupancy calculator, GPCs, and where CTAs and clusters
// go.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <set>

#include "models/gpu/sm_partition.hpp"
#include "tests/models/driver.hpp"

using namespace ptxwire::models;
using ptxwire::models::test::machine;

namespace {

/// cuda_occupancy.h, compute capability 9.0, each limit by itself.
uint32_t calculator(const CtaFootprint& cta) {
  const auto up = [](uint32_t value, uint32_t unit) { return (value + unit - 1) / unit * unit; };
  const uint32_t warps = cta.warps();
  const uint32_t per_warp = up(cta.registers_per_thread * 32, 256);
  uint32_t ctas = std::min(32U, 64 / warps);
  if (per_warp * up(warps, 4) > 65536) return 0;
  if (per_warp != 0) ctas = std::min(ctas, 65536 / 4 / per_warp * 4 / warps);
  if (cta.shared_bytes > 232448) return 0;
  ctas = std::min(ctas, 233472 / up(cta.shared_bytes + 1024, 128));
  if (cta.barriers != 0) ctas = std::min(ctas, 64 / cta.barriers);
  return ctas;
}

SmPartition partition_with(const CtaFootprint& cta, uint32_t ctas) {
  static const SmParameters sm = machine().sm;
  SmPartition partition(sm);
  for (uint32_t i = 0; i < ctas; ++i) {
    const auto chosen = partition.choose(cta, 1);
    REQUIRE(chosen.size() == 1);
    partition.room(chosen[0]).take(cta);
  }
  return partition;
}

// Footprints of a training trace: layer norm, and what communication kernels hold on an SM.
constexpr CtaFootprint kLayerNorm{
    .threads = 128, .registers_per_thread = 168, .shared_bytes = 64, .barriers = 1};
constexpr CtaFootprint kDispatch{
    .threads = 512, .registers_per_thread = 120, .shared_bytes = 332, .barriers = 1};
constexpr CtaFootprint kCachedNotify{.threads = 320, .registers_per_thread = 56, .barriers = 1};

}  // namespace

TEST_CASE("sm room: CTAs per SM are those of the occupancy calculator", "[contract]") {
  const SmParameters sm = machine().sm;
  std::mt19937 random(1);
  const auto below = [&](uint32_t bound) { return static_cast<uint32_t>(random() % bound); };
  for (int i = 0; i < 20000; ++i) {
    const CtaFootprint cta{.threads = 1 + below(1024),
                           .registers_per_thread = below(256),
                           .shared_bytes = below(4) == 0 ? below(232449) : below(20000),
                           .barriers = below(17)};
    INFO(cta.threads << " threads, " << cta.registers_per_thread << " registers, " << cta.shared_bytes
                     << " B, " << cta.barriers << " barriers");
    REQUIRE(occupancy(sm, cta) == calculator(cta));
  }
}

TEST_CASE("sm room: what is given back can be taken again", "[contract]") {
  const SmParameters sm = machine().sm;
  SmRoom room(sm);
  const CtaFootprint odd{.threads = 96, .registers_per_thread = 168};
  const uint32_t large = room.take(kCachedNotify);
  const uint32_t small = room.take(odd);
  CHECK(small == (large + 10) % 4);  // ten warps on four schedulers: the next has two of them
  room.give_back(kCachedNotify, large);
  room.give_back(odd, small);
  CHECK(room.ctas() == 0);
  uint32_t ctas = 0;
  for (; room.fits(kLayerNorm); ++ctas) room.take(kLayerNorm);
  CHECK(ctas == 3);
}

TEST_CASE("sm layout: GPCs of 16 and 18 SMs, neighbours in different ones", "[contract]") {
  const SmLayout layout(machine().sm);
  std::map<size_t, int> sizes;
  for (uint32_t gpc = 0; gpc < layout.gpcs(); ++gpc) ++sizes[layout.sms_of(gpc).size()];
  CHECK(sizes == std::map<size_t, int>{{16, 6}, {18, 2}});
  for (uint32_t sm = 0; sm < 128; sm += 16) CHECK(layout.gpc(sm) == 0);  // as seen on an H100
  for (uint32_t tpc = 1; tpc < 64; ++tpc) CHECK(layout.gpc(2 * tpc) != layout.gpc(2 * tpc - 2));
  CHECK(std::set<uint32_t>(layout.order().begin(), layout.order().end()).size() == 132);
  for (uint32_t i = 0; i < 66; ++i) CHECK(layout.order()[i] == 2 * i);
  // A card with fewer SMs: 57 TPCs in turn.
  const SmLayout card(machine("h800-pcie").sm);
  CHECK(card.sms_of(0).size() == 16);
  for (uint32_t gpc = 1; gpc < 8; ++gpc) CHECK(card.sms_of(gpc).size() == 14);
}

TEST_CASE("sm layout: SMs of a GPC are near one L2 partition, half of the GPCs near each", "[contract]") {
  const SmLayout layout(machine().sm);
  const std::vector<uint8_t> sides = layout.sides(2);
  REQUIRE(sides.size() == 132);
  for (uint32_t sm = 0; sm < sides.size(); ++sm) CHECK(sides[sm] == (layout.gpc(sm) < 4 ? 0 : 1));
  // CTAs of a kernel on a few SMs are spread over both, whichever of them do the same work.
  for (const uint32_t step : {1U, 2U})
    for (uint32_t near = 0, i = 0; i < 24; i += step) {
      near += sides[layout.order()[i]] == 0;
      if (i + step >= 24) CHECK(near == 12 / step);
    }
  CHECK(layout.sides(1) == std::vector<uint8_t>(132, 0));
}

TEST_CASE("sm partition: a grid no larger than the SMs takes one each", "[analytic]") {
  const SmPartition partition = partition_with(kLayerNorm, 132);
  for (uint32_t sm = 0; sm < 132; ++sm) CHECK(partition.room(sm).ctas() == 1);
}

TEST_CASE("sm partition: what is left beside held SMs", "[analytic]") {
  CHECK(partition_with(kDispatch, 0).capacity(kLayerNorm, 1) == 396);
  CHECK(partition_with(kDispatch, 20).capacity(kLayerNorm, 1) == 336);      // 3 on each of 112 SMs
  CHECK(partition_with(kCachedNotify, 20).capacity(kLayerNorm, 1) == 376);  // and 2 on each of 20
  CHECK(partition_with(kDispatch, 20).fits_whole(kLayerNorm, 1, 336));
  CHECK_FALSE(partition_with(kDispatch, 20).fits_whole(kLayerNorm, 1, 337));
}

TEST_CASE("sm partition: a cluster lies in one GPC on SMs of its own", "[analytic]") {
  const uint32_t size = GENERATE(2U, 4U, 8U, 16U);
  const SmParameters sm = machine().sm;
  const CtaFootprint whole_sm{.threads = 1024, .registers_per_thread = 64};
  SmPartition partition(sm);
  uint32_t clusters = 0;
  for (;; ++clusters) {
    const auto chosen = partition.choose(whole_sm, size);
    if (chosen.empty()) break;
    CHECK(std::set<uint32_t>(chosen.begin(), chosen.end()).size() == size);
    for (const uint32_t member : chosen) {
      CHECK(partition.layout().gpc(member) == partition.layout().gpc(chosen[0]));
      partition.room(member).take(whole_sm);
    }
  }
  CHECK(clusters == 6 * (16 / size) + 2 * (18 / size));
  CHECK(SmPartition(sm).capacity(whole_sm, size) == uint64_t{clusters} * size);
  CHECK(SmPartition(sm).choose(whole_sm, 19).empty());
}
