// Pairs of low-latency dispatch and combine executed on simulated GPUs; every byte, index and count is
// compared with what routing, data and cast rule say.
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "sim/workload/low_latency_cast.hpp"
#include "sim/workload/routing.hpp"
#include "sim/workload/test_data.hpp"
#include "tests/sim/workload/run_correct.hpp"

using namespace ptxwire;
using namespace ptxwire::sim;

namespace {

/// Under sanitizers everything is several times slower.
bool small_sizes() { return std::getenv("PTXWIRE_TEST_SMALL") != nullptr; }

Scenario small(KernelRevision revision, uint32_t ranks) {
  Scenario s;
  s.kernel = KernelFamily::low_latency_combine;
  s.revision = revision;
  s.ranks = ranks;
  s.tokens = small_sizes() ? 6 : 20;
  s.hidden = 512;
  s.topk = 4;
  s.experts = 4 * ranks;
  s.calls = 2;
  return s;
}

using test::run;

constexpr auto kA = KernelRevision::a, kC = KernelRevision::c;

/// Valid selections of a rank for experts of other ranks, or of ranks of other nodes.
uint64_t selections_beyond(const Routing& routing, uint32_t rank, uint32_t ranks_together) {
  const RoutingShape& shape = routing.shape();
  uint64_t count = 0;
  for (const int64_t expert : routing.experts(rank))
    count += expert >= 0 && static_cast<uint32_t>(expert) / (shape.experts / shape.ranks) / ranks_together !=
                                rank / ranks_together;
  return count;
}
/// The same, of all ranks for the experts of this one.
uint64_t selections_from_beyond(const Routing& routing, uint32_t rank, uint32_t ranks_together) {
  const RoutingShape& shape = routing.shape();
  uint64_t count = 0;
  for (uint32_t source = 0; source < shape.ranks; ++source)
    if (source / ranks_together != rank / ranks_together)
      for (const int64_t expert : routing.experts(source))
        count += expert >= 0 && static_cast<uint32_t>(expert) / (shape.experts / shape.ranks) == rank;
  return count;
}
Routing routing_of(const Scenario& s) {
  return Routing(
      {.ranks = s.ranks, .tokens = s.tokens, .topk = s.topk, .experts = s.experts, .seed = s.seed});
}

}  // namespace

// --- The cast rule, from the definition of the format: sign, four bits of exponent (bias 7), three of
// mantissa.

TEST_CASE(
    "e4m3: values of the format are kept, others go to the nearest, ties to even, large ones saturate") {
  struct Row {
    float value;
    uint8_t bits;
  };
  const std::vector<Row> rows = {
      {0.0F, 0x00},
      {-0.0F, 0x80},
      {1.0F, 0x38},
      {-1.0F, 0xb8},
      {448.0F, 0x7e},
      {449.0F, 0x7e},
      {-1e9F, 0xfe},
      {464.0F, 0x7e},
      {1.0625F, 0x38},  // halfway from 1
                        // to 1.125: even
                        // mantissa 0
      {1.1875F, 0x3a},  // halfway from 1.125 to 1.25: even mantissa 2
      {1.07F, 0x39},
      {0.015625F, 0x08},      // smallest normal, 2^-6
      {0.001953125F, 0x01},   // smallest subnormal, 2^-9
      {0.0009765625F, 0x00},  // half of it: a tie, to zero
      {0.001F, 0x01},
      {0.0029296875F, 0x02}  // 1.5 times: a tie between 1 and 2
  };
  for (const Row& row : rows) {
    INFO(row.value);
    CHECK(int{to_e4m3(row.value)} == int{row.bits});
  }
  for (int code = 0; code < 127; ++code) {
    CHECK(int{to_e4m3(from_e4m3(static_cast<uint8_t>(code)))} == code);
    CHECK(from_e4m3(static_cast<uint8_t>(code | 0x80)) == -from_e4m3(static_cast<uint8_t>(code)));
  }
}

TEST_CASE("cast: a group's largest value becomes 448, and small groups keep the floor's scale") {
  std::vector<uint16_t> row(3 * kScaleGroup, 0);
  row[5] = to_bf16(-3.5F);
  row[6] = to_bf16(1.75F);
  row[kScaleGroup + 1] = to_bf16(5e-5F);  // below 1e-4
  std::vector<uint8_t> bytes(row.size());
  std::vector<float> scales(3);
  cast_row(row, bytes, scales);
  CHECK(scales[0] == 3.5F / 448.0F);
  CHECK(from_e4m3(bytes[5]) == -448.0F);
  CHECK(from_e4m3(bytes[6]) == 224.0F);
  CHECK(scales[1] == 1e-4F / 448.0F);
  CHECK(from_e4m3(bytes[kScaleGroup + 1]) == 224.0F);  // about 5e-5 / 1e-4 of 448
  CHECK(scales[2] == 1e-4F / 448.0F);
  CHECK(bytes[2 * kScaleGroup] == 0);
}

TEST_CASE("cast: casting back is within a sixteenth of each value or half a subnormal step") {
  const TestData data(3);
  std::vector<uint16_t> row(1024);
  std::vector<uint8_t> bytes(row.size());
  std::vector<float> scales(row.size() / kScaleGroup);
  for (uint32_t token = 0; token < 20; ++token) {
    data.fill_activations(1, token, row);
    cast_row(row, bytes, scales);
    for (size_t i = 0; i < row.size(); ++i) {
      const float x = from_bf16(row[i]), scale = scales[i / kScaleGroup];
      const float bound = std::max(std::fabs(x) / 16, scale / 1024) * 1.0001F;
      REQUIRE(std::fabs(from_e4m3(bytes[i]) * scale - x) <= bound);
    }
  }
}

// --- The kernels

TEST_CASE("low latency: a pair is exact on 2, 3 and 8 ranks of a node", "[sim]") {
  const auto ranks = GENERATE(2U, 3U, 8U);
  if (small_sizes() && ranks == 8) return;
  run(small(kC, ranks));
}

TEST_CASE("low latency: a pair through NICs is exact on one node and across nodes", "[sim]") {
  const auto revision = GENERATE(kA, kC);
  const auto ranks = GENERATE(2U, 8U, 16U);
  if (small_sizes() && ranks > 2) return;
  Scenario s = small(revision, ranks);
  s.tokens = 10;
  run(s);
}

TEST_CASE("low latency: queues, doorbells, lanes and routing of packets change times, not results", "[sim]") {
  Scenario s = small(kA, 2);
  SECTION("every message rings") { s.doorbell_batch = 1; }
  SECTION("no message rings") { s.doorbell_batch = 1000; }
  SECTION("one queue per peer") { s.queues = 1; }
  SECTION("another lane, adaptive routing") {
    s.virtual_lane = 1;
    s.adaptive_routing = true;
  }
  SECTION("zero-copy") { s.zero_copy = true; }
  SECTION("rows of BF16") { s.elements = ElementType::bf16; }
  SECTION("apart") { s.phases = PhaseMode::apart; }
  run(s);
}

TEST_CASE("low latency: with elided rows headers, counts and the sample are exact", "[sim]") {
  Scenario s = small(GENERATE(kA, kC), 8);
  s.tokens = 10;
  s.elide = true;
  SECTION("plain") {}
  SECTION("zero-copy") { s.zero_copy = true; }
  run(s);
}

// Every selection is one message there and one row back; every expert gets a flag of each rank, there and
// back. In revision a all that is not for the own rank is a queue entry, and nothing takes NVLink.
TEST_CASE("low latency: messages and bytes are those of the routing", "[sim]") {
  Scenario s = small(kA, 8);
  s.tokens = 10;
  s.calls = 1;
  const Routing routing = routing_of(s);
  const uint64_t flags = s.experts - s.experts / s.ranks;
  const ScenarioResult through_nics = run(s);
  s.revision = kC;
  const ScenarioResult over_nvlink = run(s);
  for (uint32_t rank = 0; rank < s.ranks; ++rank) {
    const uint64_t out = selections_beyond(routing, rank, 1), back = selections_from_beyond(routing, rank, 1);
    CHECK(through_nics.timed.gpus[rank].nvlink_sent_payload_bytes == 0);
    CHECK(through_nics.timed.gpus[rank].nic.messages == out + back + 2 * flags);
    const uint64_t message = 16 + s.hidden + s.hidden / 128 * 4, row = 2 * s.hidden;
    CHECK(over_nvlink.timed.gpus[rank].nvlink_sent_payload_bytes ==
          out * message + back * row + 2 * flags * sizeof(int32_t));
  }
}

TEST_CASE("low latency: rows of BF16, zero-copy, phases apart and a flushed L2 give exact results", "[sim]") {
  Scenario s = small(kC, 4);
  SECTION("bf16") { s.elements = ElementType::bf16; }
  SECTION("zero-copy") { s.zero_copy = true; }
  SECTION("flushed") { s.flush_l2 = true; }
  SECTION("apart") { s.phases = PhaseMode::apart; }
  run(s);
}

TEST_CASE("low latency: corner cases of the routing are exact", "[sim]") {
  Scenario s = small(kC, 4);
  SECTION("all to one rank") { s.routing = RoutingPattern::all_to_one; }
  SECTION("none to the last rank") { s.routing = RoutingPattern::none_to_last; }
  SECTION("tokens without selections") { s.routing = RoutingPattern::masked; }
  SECTION("void selections") { s.void_selections = 10; }
  SECTION("one token") { s.tokens = 1; }
  SECTION("one expert each") {
    s.experts = 4;
    s.topk = 1;
  }
  SECTION("nine selections, several rows per pass of a warp") {
    s.topk = 9;
    s.hidden = 2048;
  }
  run(s);
}

TEST_CASE("low latency: three groups of ten warps per CTA are exact", "[sim][slow]") {
  if (small_sizes()) return;
  Scenario s = small(kC, 8);
  s.experts = 288;  // 3 x 132 >= 288 > 2 x 132
  s.topk = 8;
  run(s);
}

TEST_CASE("low latency: both halves of the heap are clean again after several pairs", "[sim]") {
  Scenario s = small(kC, 2);
  s.calls = 6;
  run(s);
}

TEST_CASE("low latency: hook mode holds no SM while messages travel", "[sim]") {
  Scenario s = small(kC, 4);
  s.kernel = KernelFamily::low_latency_dispatch;
  s.phases = PhaseMode::apart;
  const ScenarioResult apart = run(s);
  REQUIRE(apart.kernels.size() == 4);
  CHECK(apart.kernels[2].role == "dispatch, send");
  CHECK(apart.kernels[3].role == "dispatch, receive");
}

TEST_CASE("low latency: the same bits for any number of threads", "[sim]") {
  const Scenario s = small(kC, 4);
  const ScenarioResult one = run(s, 1), two = run(s, 2);
  CHECK(one.time_us == two.time_us);
  CHECK(one.events == two.events);
}

TEST_CASE("low latency: the same bits where waiting warps give up their registers", "[sim]") {
  for (const KernelRevision revision : {kA, kC}) {
    const Scenario s = small(revision, 4);
    const ScenarioResult all = run(s), spare = run(s, 1, true);
    CHECK(all.time_us == spare.time_us);
    CHECK(all.events == spare.events);
    CHECK(all.warp_instructions == spare.warp_instructions);
  }
}

TEST_CASE("low latency: a run without timing gives the same results") {
  RunOptions options;
  options.untimed = true;
  const auto result = run_scenario(small(kC, 4), options);
  REQUIRE(result);
  CHECK(result->first_mismatch.empty());
}

TEST_CASE("low latency: settings that cannot be are refused") {
  const auto refused = [](auto change, const std::string& says) {
    Scenario s = small(kC, 8);
    change(s);
    const auto valid = validate(s);
    REQUIRE(!valid);
    INFO(valid.error().message);
    CHECK(valid.error().message.find(says) != std::string::npos);
  };
  refused([](Scenario& s) { s.revision = KernelRevision::d; }, "a and c");
  refused([](Scenario& s) { s.ranks = 12; }, "'ranks' is 12");
  refused([](Scenario& s) { s.ranks = 1; }, "'ranks' is 1");
  refused([](Scenario& s) { s.experts = 30; }, "multiple of the 8 ranks");
  refused([](Scenario& s) { s.topk = 10; }, "'topk' is 10");
  refused([](Scenario& s) { s.tokens = 0; }, "'tokens' is 0");
  refused([](Scenario& s) { s.tokens = 1024; }, "1023");
  refused([](Scenario& s) { s.hidden = 640; }, "multiple of 512");
  refused([](Scenario& s) { s.doorbell_batch = 0; }, "'doorbell_batch'");
  refused([](Scenario& s) { s.queues = 5; }, "'queues' is 5");
  refused([](Scenario& s) { s.calls = 0; }, "'calls' is 0");
  refused([](Scenario& s) { s.virtual_lane = 16; }, "'virtual_lane'");
}
