// Faults as what-if: results stay exact, times follow, and who is lost ends the run with a reason.
#include "sim/workload/faults.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>
#include <vector>

#include "sim/workload/network.hpp"
#include "sim/workload/run.hpp"

using namespace ptxwire;
using namespace ptxwire::sim;

namespace {

/// Under sanitizers everything is several times slower.
bool small_sizes() { return std::getenv("PTXWIRE_TEST_SMALL") != nullptr; }

Scenario small(KernelFamily family) {
  Scenario s;
  s.kernel = family;
  s.revision = is_low_latency(family) ? KernelRevision::c : KernelRevision::b;
  s.elements = family == KernelFamily::internode_combine ? ElementType::bf16 : ElementType::fp8;
  s.ranks = 16;
  s.tokens = small_sizes() ? 4 : 12;
  s.hidden = 512;
  s.topk = 4;
  s.experts = 32;
  s.sms = 4;
  s.calls = 1;
  return s;
}

Expected<ScenarioResult> attempt(const Scenario& scenario, uint32_t threads = 1) {
  for (const auto& [key, value] : scenario_settings(scenario)) UNSCOPED_INFO(key << " = " << value);
  RunOptions options;
  options.threads = threads;
  return run_scenario(scenario, options);
}

ScenarioResult run(const Scenario& scenario, uint32_t threads = 1) {
  auto result = attempt(scenario, threads);
  if (!result) FAIL(result.error().to_string());
  INFO(result->first_mismatch);
  REQUIRE(result->result == ResultState::correct);
  return *result;
}

constexpr auto kDispatch = KernelFamily::internode_dispatch;
constexpr auto kLowLatency = KernelFamily::low_latency_dispatch;

}  // namespace

TEST_CASE("faults: links and ranks are told apart, with or without blanks") {
  Scenario s = small(kDispatch);
  s.faults = " nic3=0.5 ;node1.nic2=25 %; leaf0-spine1 = down;rank5=200us; rank6=never;rank7=1.5 ms; ";
  const auto faults = parse_faults(s);
  if (!faults) FAIL(faults.error().to_string());
  REQUIRE(faults->links.size() == 3);
  CHECK(faults->links[0].link == "nic3");
  CHECK(faults->links[0].factor == 0.5);
  CHECK(faults->links[1].link == "node1.nic2");
  CHECK(faults->links[1].factor == 0.25);
  CHECK(faults->links[2].link == "leaf0-spine1");
  CHECK_FALSE(faults->links[2].factor);
  REQUIRE(faults->ranks.size() == 3);
  CHECK(faults->ranks[0].rank == 5);
  CHECK(faults->ranks[0].by == models::microseconds(200));
  CHECK_FALSE(faults->ranks[1].by);
  CHECK(faults->ranks[2].by == models::microseconds(1500));
}

TEST_CASE("faults: parts that say nothing are refused, and quoted") {
  struct Row {
    std::string faults, words;
  };
  const std::vector<Row> rows = {
      {"nic3", "'nic3': expected NAME=VALUE"},
      {"=0.5", "'=0.5': expected NAME=VALUE"},
      {"nic3=0.5; nic4", "'nic4': expected NAME=VALUE"},
      {"nic3=", "'nic3=': expected 'down' or the share"},
      {"nic3=0", "'nic3=0': expected 'down' or the share"},
      {"nic3=1.5", "above 0 and at most 1"},
      {"nic3=-0.5", "above 0 and at most 1"},
      {"nic3=nan", "above 0 and at most 1"},
      {"nic3=200us", "times are for ranks"},
      {"rank5=0.5", "'rank5=0.5': expected 'never' or how late"},
      {"rank5=down", "expected 'never' or how late"},
      {"rank5=-1us", "expected 'never' or how late"},
      {"rank5=1e30 s", "expected 'never' or how late"},
      {"rank16=1us", "expected a rank below 16"},
      {"rank5=1us;rank5=never", "has a part already"},
  };
  for (const KernelFamily family : {kDispatch, kLowLatency})
    for (const Row& row : rows) {
      Scenario s = small(family);
      s.faults = row.faults;
      INFO(row.faults);
      const auto valid = validate(s);
      REQUIRE_FALSE(valid);
      CHECK_THAT(valid.error().message, Catch::Contains(row.words));
    }
}

TEST_CASE("faults: a name that the network has not is refused with the nearest one") {
  Scenario s = small(kDispatch);
  s.faults = "node1.nik2=down";
  const auto network = scenario_network(s);
  REQUIRE_FALSE(network);
  CHECK_THAT(network.error().message, Catch::Contains("nothing is called 'node1.nik2'"));
  CHECK_THAT(network.error().hint, Catch::Contains("node1.nic2"));
}

TEST_CASE("faults: links need a network") {
  Scenario s = small(kLowLatency);
  s.ranks = 8;
  s.faults = "nic3=0.5";
  const auto valid = validate(s);
  REQUIRE_FALSE(valid);
  CHECK_THAT(valid.error().message, Catch::Contains("uses no network"));
  s.faults = "rank3=1us";
  CHECK(validate(s));
}

TEST_CASE("faults: a slow NIC leaves results exact, takes time, and is in the report", "[sim]") {
  for (const KernelFamily family : {kDispatch, kLowLatency}) {
    Scenario s = small(family);
    const double healthy = run(s).time_us;
    // 500 MB/s: the rows of sixteen tokens take longer than latency can hide.
    s.faults = "nic3=0.01";
    const ScenarioResult slow = run(s);
    CHECK(slow.time_us > healthy);
    CHECK(slow.faults == std::vector<std::string>{"nic3 at 1 %"});
  }
}

// Ways round a link that is down, and packets that overtake each other.
TEST_CASE("faults: adaptive routing and a spine that is down leave results exact", "[sim]") {
  Scenario s = small(kDispatch);
  SECTION("adaptive") { s.adaptive_routing = true; }
  SECTION("spine") { s.faults = "spine0=down"; }
  SECTION("adaptive round a spine") {
    s.adaptive_routing = true;
    s.faults = "spine0=down; spine1=0.5";
  }
  run(s);
}

// Every rank waits for every other one in its first barrier, or for its messages: the call takes as long as
// the late rank is late, and not much longer than that and a call.
TEST_CASE("faults: a call takes as long as its latest rank is late", "[sim]") {
  for (const KernelFamily family : {kDispatch, kLowLatency}) {
    Scenario s = small(family);
    s.calls = 2;
    const ScenarioResult punctual = run(s);
    s.faults = "rank5=200us";
    const ScenarioResult late = run(s);
    CHECK(late.faults == std::vector<std::string>{"rank 5 starts 200 us late"});
    // Low latency: the mean of all ranks' kernels, of which one does not wait; the compute of a pair is late
    // as well.
    const double share = is_low_latency(family) ? 15.0 / 16 : 1;
    CHECK(late.time_us > 200 * share);
    CHECK(late.time_us < 200 * share + 2 * punctual.time_us + 30);
  }
}

TEST_CASE("faults: skewed routings leave results exact", "[sim]") {
  for (const KernelFamily family : {kDispatch, KernelFamily::internode_combine, kLowLatency}) {
    Scenario s = small(family);
    for (const RoutingPattern pattern : {RoutingPattern::zipf, RoutingPattern::hot}) {
      if (family == KernelFamily::internode_combine && pattern == RoutingPattern::hot) continue;
      s.routing = pattern;
      s.zipf_exponent = 1.5;
      run(s);
    }
  }
}

TEST_CASE("faults: the same bits for any number of threads", "[sim]") {
  Scenario s = small(kDispatch);
  s.faults = "nic3=0.5; rank5=20us";
  s.routing = RoutingPattern::zipf;
  CHECK(run(s, 1).time_us == run(s, 2).time_us);
}

TEST_CASE("faults: who waits for a rank that never starts ends with the reason", "[sim]") {
  for (const KernelFamily family : {kDispatch, kLowLatency}) {
    Scenario s = small(family);
    s.faults = "rank5=never";
    const auto result = attempt(s);
    REQUIRE_FALSE(result);
    CHECK_THAT(result.error().message, Catch::Contains("GPU 5: its host never starts"));
  }
}

TEST_CASE("faults: messages to a NIC that is down fail at the sender, and the run ends with them", "[sim]") {
  for (const KernelFamily family : {kDispatch, kLowLatency}) {
    Scenario s = small(family);
    s.faults = "nic3=down";
    const auto result = attempt(s);
    REQUIRE_FALSE(result);
    CHECK_THAT(result.error().message, Catch::Contains("transport retry counter exceeded"));
  }
}
