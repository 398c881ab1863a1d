// One node for several: what must hold of the routing by its definition, every byte of runs with it, and what
// a mirror must have in common with the run of all nodes.
#include "sim/workload/mirror.hpp"

#include <catch2/catch.hpp>

#include "tests/sim/workload/run_correct.hpp"

using namespace ptxwire;
using namespace ptxwire::sim;

namespace {

constexpr auto kDispatch = KernelFamily::internode_dispatch;
constexpr auto kCombine = KernelFamily::internode_combine;

/// 2 channels; rings that wrap.
Scenario small(KernelFamily kernel, uint32_t ranks) {
  Scenario s;
  s.kernel = kernel;
  s.revision = KernelRevision::b;
  s.elements = kernel == kDispatch ? ElementType::fp8 : ElementType::bf16;
  s.ranks = ranks;
  s.tokens = 48;
  s.hidden = 512;
  s.topk = 4;
  s.experts = 4 * ranks;
  s.sms = 4;
  s.nvlink_chunk = 3;
  s.nvlink_slots = kernel == kDispatch ? 8 : 76;
  s.rdma_chunk = kernel == kDispatch ? 4 : 8;
  s.rdma_slots = kernel == kDispatch ? 16 : 40;
  s.calls = 2;
  return s;
}

ScenarioResult run(const Scenario& scenario, uint32_t threads = 1) {
  ScenarioResult result = test::run(scenario, threads);
  CHECK(result.timed.rdma_errors.empty());
  return result;
}

}  // namespace

TEST_CASE("mirror: every node sends to the first what the first sends to it") {
  const RoutingShape shape{.ranks = 32,
                           .tokens = 29,
                           .topk = 8,
                           .experts = 64,
                           .nodes = 4,
                           .pattern = RoutingPattern::masked,
                           .seed = 3};
  const Routing all(shape), mirrored = mirrored_routing(shape, all);
  for (uint32_t g = 0; g < 8; ++g)
    for (uint32_t token = 0; token < shape.tokens; ++token)
      for (uint32_t m = 0; m < 4; ++m)
        for (uint32_t d = 0; d < 8; ++d) {
          REQUIRE(mirrored.selected(g, token, m * 8 + d) == all.selected(g, token, m * 8 + d));
          REQUIRE(mirrored.selected(m * 8 + g, token, d) == all.selected(g, token, m * 8 + d));
        }
}

TEST_CASE("mirror: dispatch and combine are exact", "[sim]") {
  Scenario scenario = small(GENERATE(kDispatch, kCombine), GENERATE(16U, 32U));
  scenario.mirror = true;
  scenario.revision = GENERATE(KernelRevision::a, KernelRevision::b, KernelRevision::d);
  if (scenario.revision == KernelRevision::d && scenario.kernel == kCombine) scenario.rdma_chunk = 12;
  if (scenario.ranks == 32) scenario.routing = RoutingPattern::masked;
  const ScenarioResult result = run(scenario);
  CHECK(result.surrogate.starts_with("mirror of one node for " + std::to_string(scenario.ranks / 8)));
  CHECK(result.timed.gpus.size() == 8);
  CHECK(result.bound_us < result.time_us);
}

// Rank 0 draws the same tokens either way, so its NIC sends the same rows in dispatch and gets as many sums
// in combine. The way back is that of other tokens.
TEST_CASE("mirror: the traffic of a GPU is that of the run of all nodes, and so is its time, nearly",
          "[sim]") {
  Scenario scenario = small(GENERATE(kDispatch, kCombine), 16);
  const ScenarioResult all = run(scenario);
  scenario.mirror = true;
  const ScenarioResult one = run(scenario);
  CHECK(one.logical_bytes == all.logical_bytes);
  CHECK(one.wire_bytes == all.wire_bytes);
  const auto rows_of_rank0 = [&](const ScenarioResult& result) {
    const auto& nic = result.timed.gpus[0].nic;
    return scenario.kernel == kDispatch ? nic.sent_payload_bytes : nic.received_payload_bytes;
  };
  // Rows are the same; how many credits are sent beside them depends on when.
  CHECK(static_cast<double>(rows_of_rank0(one)) ==
        Approx(static_cast<double>(rows_of_rank0(all))).epsilon(1e-3));
  CHECK(one.time_us == Approx(all.time_us).epsilon(0.15));
}

TEST_CASE("mirror: elided rows and any number of threads change nothing", "[sim]") {
  Scenario scenario = small(GENERATE(kDispatch, kCombine), 32);
  scenario.mirror = true;
  const double time_us = run(scenario).time_us;
  CHECK(run(scenario, 2).time_us == time_us);
  scenario.elide = true;
  CHECK(run(scenario).time_us == time_us);
}

TEST_CASE("mirror: what needs nodes that differ is refused by name") {
  const auto refused = [](auto change) {
    Scenario s = small(kDispatch, 16);
    s.mirror = true;
    change(s);
    const auto valid = validate(s);
    return valid ? std::string() : valid.error().message;
  };
  using Catch::Matchers::Contains;
  CHECK(refused([](Scenario&) {}).empty());
  CHECK_THAT(refused([](Scenario& s) { s.routing = RoutingPattern::zipf; }), Contains("'routing'"));
  CHECK_THAT(refused([](Scenario& s) { s.routing = RoutingPattern::all_to_one; }), Contains("'routing'"));
  CHECK_THAT(refused([](Scenario& s) { s.faults = "nic3=0.5"; }), Contains("'faults'"));
  CHECK_THAT(refused([](Scenario& s) { s.send_topk = true; }), Contains("'send_topk'"));
  CHECK_THAT(refused([](Scenario& s) { s.notify = NotifyMode::full; }), Contains("'notify'"));
  CHECK_THAT(refused([](Scenario& s) {
               s.kernel = KernelFamily::low_latency_dispatch;
               s.revision = KernelRevision::a;
             }),
             Contains("'mirror'"));
}
