// Our internode kernels executed on two simulated nodes, every byte compared with what the routing and the
// data functions say. Small, so that the rings wrap several times and every corner is reached in seconds.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "sim/workload/run.hpp"

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

ScenarioResult run(const Scenario& scenario, uint32_t threads = 1) {
  for (const auto& [key, value] : scenario_settings(scenario)) UNSCOPED_INFO(key << " = " << value);
  RunOptions options;
  options.max_time = models::microseconds(20000);
  options.threads = threads;
  auto result = run_scenario(scenario, options);
  if (!result) FAIL(result.error().to_string());
  INFO(result->first_mismatch);
  REQUIRE(result->result == ResultState::correct);
  return *result;
}

}  // namespace

TEST_CASE("internode: dispatch and combine are exact on two nodes, and faster than light never", "[sim]") {
  const ScenarioResult result = run(small(GENERATE(kDispatch, kCombine)));
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

TEST_CASE("internode: layout and notify on the GPUs give the tables that the host computes", "[sim]") {
  Scenario scenario = small(kDispatch);
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
  scenario.tokens = 30;
  std::tie(scenario.flush_l2, scenario.calls) =
      GENERATE(std::make_tuple(true, 2U), std::make_tuple(false, 6U));
  run(scenario);
}

TEST_CASE("internode: figures do not depend on the number of threads", "[sim]") {
  const Scenario scenario = small(GENERATE(kDispatch, kCombine));
  const ScenarioResult one = run(scenario, 1), two = run(scenario, 2);
  CHECK(one.time_us == two.time_us);
  CHECK(one.events == two.events);
  CHECK(one.warp_instructions == two.warp_instructions);
}
