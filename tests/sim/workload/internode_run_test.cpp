// Our internode kernels executed on two simulated nodes, every byte compared with what the routing and the
// data functions say. Small, so that the rings wrap several times and every corner is reached in seconds.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "tests/sim/workload/run_correct.hpp"

using namespace ptxwire;
using namespace ptxwire::sim;

namespace {

/// Under sanitizers everything is several times slower.
bool small_sizes() { return std::getenv("PTXWIRE_TEST_SMALL") != nullptr; }

constexpr auto kDispatch = KernelFamily::internode_dispatch;
constexpr auto kCombine = KernelFamily::internode_combine;

/// 2 channels. A channel's tokens go round its rings of 16 slots over RDMA (dispatch) several times, and of 8
/// over NVLink; combine needs 40 and 19 per node at least.
Scenario small(KernelFamily kernel, uint32_t ranks = 16) {
  Scenario s;
  s.kernel = kernel;
  s.revision = KernelRevision::b;
  s.elements = kernel == kDispatch ? ElementType::fp8 : ElementType::bf16;
  s.ranks = ranks;
  s.tokens = small_sizes() ? 40 : 104;
  s.hidden = kernel == kDispatch ? 1024 : 512;
  s.topk = 4;
  s.experts = 4 * ranks;
  s.sms = 4;
  s.nvlink_chunk = 3;
  s.nvlink_slots = kernel == kDispatch ? 8 : 38;
  s.rdma_chunk = kernel == kDispatch ? 4 : 8;
  s.rdma_slots = kernel == kDispatch ? 16 : 40;
  s.calls = 2;
  return s;
}

/// Revision d has 12 forwarders per node of two: a row each per chunk, and two in its part of a ring.
Scenario with_room_for_24(Scenario s) {
  s.rdma_chunk = 12;
  s.rdma_slots = 48;
  s.nvlink_slots = 56;
  return s;
}

using test::run;

}  // namespace

TEST_CASE("internode: dispatch and combine are exact on two nodes, and faster than light never", "[sim]") {
  Scenario scenario = small(GENERATE(kDispatch, kCombine));
  scenario.revision = GENERATE(KernelRevision::a, KernelRevision::b);
  const ScenarioResult result = run(scenario);
  CHECK(result.time_us > 0);
  CHECK(result.bound_us < result.time_us);
  REQUIRE(result.nvlink_logical_gb_per_s);
  CHECK(*result.nvlink_logical_gb_per_s > result.logical_gb_per_s);
  CHECK(result.wire_gb_per_s < result.logical_gb_per_s);
}

TEST_CASE("internode: four nodes", "[sim]") {
  if (small_sizes()) return;
  Scenario scenario = small(GENERATE(kDispatch, kCombine), 32);
  scenario.tokens = 40;
  scenario.revision = GENERATE(KernelRevision::b, KernelRevision::d);
  if (scenario.kernel == kCombine) scenario.nvlink_slots = 64;
  run(scenario);
}

TEST_CASE("internode: the machine without time computes the same", "[sim]") {
  RunOptions options{.threads = 1};
  options.untimed = true;
  const auto result = run_scenario(small(GENERATE(kDispatch, kCombine)), options);
  if (!result) FAIL(result.error().to_string());
  INFO(result->first_mismatch);
  CHECK(result->result == ResultState::correct);
}

TEST_CASE("internode: revision d, with everything that may travel, and corner routings", "[sim]") {
  Scenario scenario = small(GENERATE(kDispatch, kCombine));
  scenario.revision = KernelRevision::d;
  if (scenario.kernel == kCombine) scenario = with_room_for_24(scenario);
  scenario.send_topk = GENERATE(false, true);
  if (scenario.send_topk) scenario.elements = ElementType::bf16;
  scenario.routing = GENERATE(RoutingPattern::random, RoutingPattern::masked, RoutingPattern::none_to_last);
  run(scenario);
}

TEST_CASE("internode: revision d in other shapes", "[sim]") {
  Scenario scenario = small(GENERATE(kDispatch, kCombine));
  scenario.revision = KernelRevision::d;
  if (scenario.kernel == kCombine) scenario = with_room_for_24(scenario);
  scenario.sms = 6;
  scenario.tokens = 41;
  SECTION("fewer tokens than channels") { scenario.tokens = 2; }
  SECTION("full-size rows") { scenario.hidden = 7168; }
  SECTION("one queue") { scenario.queues = 1; }
  SECTION("notify on the GPUs") {
    if (scenario.kernel == kDispatch) scenario.notify = NotifyMode::full;
  }
  SECTION("elided rows") { scenario.elide = true; }
  SECTION("a ring that just fits") { scenario.rdma_slots = scenario.kernel == kDispatch ? 14 : 39; }
  SECTION("one call more, after a flush") {
    scenario.calls = 3;
    scenario.flush_l2 = true;
  }
  run(scenario);
}

TEST_CASE("internode: layout and notify on the GPUs give the tables that the host computes", "[sim]") {
  Scenario scenario = small(kDispatch);
  scenario.revision = GENERATE(KernelRevision::a, KernelRevision::b);
  scenario.notify = NotifyMode::full;
  scenario.calls = GENERATE(1U, 2U);
  scenario.routing = scenario.calls == 1 ? RoutingPattern::masked : RoutingPattern::random;
  run(scenario);
}

TEST_CASE("internode: expert indices and weights travel with the rows", "[sim]") {
  Scenario scenario = small(GENERATE(kDispatch, kCombine));
  scenario.send_topk = true;
  scenario.routing = RoutingPattern::masked;
  run(scenario);
}

TEST_CASE("internode: corner routings", "[sim]") {
  Scenario scenario = small(GENERATE(kDispatch, kCombine));
  scenario.tokens = 48;
  scenario.routing = GENERATE(RoutingPattern::all_to_one, RoutingPattern::none_to_last);
  run(scenario);
}

TEST_CASE("internode: token counts that do not fit the channels", "[sim]") {
  Scenario scenario = small(GENERATE(kDispatch, kCombine));
  scenario.sms = 6;
  scenario.tokens = GENERATE(0U, 1U, 2U, 41U);  // none, fewer than the 3 channels, not divisible by them
  run(scenario);
}

TEST_CASE("internode: rows with and without a tail of the unrolled copy, BF16 rows in dispatch", "[sim]") {
  Scenario scenario = small(GENERATE(kDispatch, kCombine));
  scenario.tokens = 12;
  scenario.hidden = GENERATE(512U, 2560U, 7168U);
  if (scenario.hidden == 2560) scenario.elements = ElementType::bf16;
  run(scenario);
}

TEST_CASE("internode: one queue per peer, and more than channels, change no result", "[sim]") {
  Scenario scenario = small(GENERATE(kDispatch, kCombine));
  scenario.tokens = 48;
  scenario.queues = GENERATE(1U, 5U);
  run(scenario);
}

TEST_CASE("internode: many calls in a row, and a flush before the timed one", "[sim]") {
  Scenario scenario = small(GENERATE(kDispatch, kCombine));
  scenario.revision = GENERATE(KernelRevision::a, KernelRevision::b);
  scenario.tokens = 30;
  std::tie(scenario.flush_l2, scenario.calls) =
      GENERATE(std::make_tuple(true, 2U), std::make_tuple(false, 6U));
  run(scenario);
}

// Memory is zeroed before the first call, so the barrier alone may stand for the notify of dispatch. It takes
// a write to the other node that is polled there, 2.8 us from host to host in the machine's source, and the
// signals in the node.
TEST_CASE("internode: the barrier alone", "[sim]") {
  Scenario scenario = small(kDispatch);
  scenario.revision = GENERATE(KernelRevision::a, KernelRevision::b);
  scenario.tokens = 8;
  scenario.calls = 1;
  scenario.notify_entry =
      scenario.revision == KernelRevision::a ? "internode_barrier_a" : "internode_barrier_b";
  const ScenarioResult result = run(scenario);
  REQUIRE(result.kernels.size() == 2);
  CHECK(result.kernels[0].rank0_us > 2.8);
  CHECK(result.kernels[0].max_us < 20);
}

// With the rows of channel 0 real and compared, those of the others moved in full and not stored; counts,
// meta, scales and records of all are compared.
TEST_CASE("internode: elided rows take the time of real ones", "[sim]") {
  Scenario scenario = small(GENERATE(kDispatch, kCombine));
  const ScenarioResult real = run(scenario);
  scenario.elide = true;
  CHECK(run(scenario).time_us == real.time_us);
}

// The host takes a microsecond per request (machine file), so what it posts in a call is a bound on its time:
// per rank and peer ceil(rows / chunk) chunks of two requests each, per channel.
TEST_CASE("internode: a slower host shows in revision a and not in revision b", "[sim]") {
  Scenario scenario = small(kDispatch);
  scenario.tokens = 48;
  scenario.rdma_chunk = 1;
  const auto slowed = [&](KernelRevision revision) {
    scenario.revision = revision;
    scenario.machine_parameters.clear();
    const double usual = run(scenario).time_us;
    scenario.machine_parameters = {"host.proxy_request_ns=4000 ns"};
    return run(scenario).time_us / usual;
  };
  CHECK(slowed(KernelRevision::a) > 1.5);
  CHECK(slowed(KernelRevision::b) == Approx(1.0));
}

TEST_CASE("internode: figures do not depend on the number of threads", "[sim]") {
  const Scenario scenario = small(GENERATE(kDispatch, kCombine));
  const ScenarioResult one = run(scenario, 1), two = run(scenario, 2);
  CHECK(one.time_us == two.time_us);
  CHECK(one.events == two.events);
  CHECK(one.warp_instructions == two.warp_instructions);
}
