// Our kernels executed on a simulated node, every result compared with what the routing and the data
// functions say. Small, so that the rings wrap several times and every corner is reached in seconds.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/sim/workload/run_correct.hpp"

using namespace ptxwire;
using namespace ptxwire::sim;

namespace {

/// Under sanitizers everything is several times slower.
bool small_sizes() { return std::getenv("PTXWIRE_TEST_SMALL") != nullptr; }

/// 2 channels and chunks of 3 rows. Rings of 8 rows (dispatch) turn several times in a channel of 60 tokens;
/// combine needs 25 at least, which two ranks turn twice.
Scenario small(KernelFamily kernel, KernelRevision revision, uint32_t ranks) {
  Scenario s;
  s.kernel = kernel;
  s.revision = revision;
  s.elements = kernel == KernelFamily::intranode_dispatch ? ElementType::fp8 : ElementType::bf16;
  s.ranks = ranks;
  s.tokens = small_sizes() ? 40 : 120;
  s.hidden = kernel == KernelFamily::intranode_dispatch ? 1024 : 512;
  s.topk = 4;
  s.experts = 32;
  s.sms = 4;
  s.chunk = 3;
  s.ring_slots = kernel == KernelFamily::intranode_dispatch ? 8 : 25;
  s.calls = 2;
  return s;
}

using test::run;

constexpr auto kDispatch = KernelFamily::intranode_dispatch;
constexpr auto kCombine = KernelFamily::intranode_combine;

}  // namespace

TEST_CASE("intranode: dispatch and combine are exact on 2, 4 and 8 ranks in both revisions", "[sim]") {
  const auto kernel = GENERATE(kDispatch, kCombine);
  const auto revision = GENERATE(KernelRevision::a, KernelRevision::d);
  const auto ranks = GENERATE(2U, 4U, 8U);
  if (small_sizes() && ranks == 8) return;
  const ScenarioResult result = run(small(kernel, revision, ranks));
  CHECK(result.time_us > 0);
  CHECK(result.time_us_rank0 > 0);
  CHECK(result.bound_us < result.time_us);
}

TEST_CASE("intranode: the machine without time computes the same", "[sim]") {
  RunOptions options{.threads = 1};
  options.untimed = true;
  const auto result = run_scenario(
      small(GENERATE(kDispatch, kCombine), GENERATE(KernelRevision::a, KernelRevision::d), 4), options);
  REQUIRE(result);
  INFO(result->first_mismatch);
  CHECK(result->result == ResultState::correct);
}

TEST_CASE("intranode: notify and layout on the GPUs give the same results as the host's tables", "[sim]") {
  Scenario scenario = small(kDispatch, GENERATE(KernelRevision::a, KernelRevision::d), 4);
  scenario.notify = NotifyMode::full;
  scenario.calls = GENERATE(1U, 2U);
  run(scenario);
}

TEST_CASE("intranode: expert indices and weights travel with the rows", "[sim]") {
  Scenario scenario = small(GENERATE(kDispatch, kCombine), GENERATE(KernelRevision::a, KernelRevision::d), 4);
  scenario.send_topk = true;
  scenario.routing = GENERATE(RoutingPattern::random, RoutingPattern::masked);
  run(scenario);
}

TEST_CASE("intranode: corner routings", "[sim]") {
  Scenario scenario = small(GENERATE(kDispatch, kCombine), GENERATE(KernelRevision::a, KernelRevision::d), 4);
  scenario.routing =
      GENERATE(RoutingPattern::all_to_one, RoutingPattern::none_to_last, RoutingPattern::masked);
  run(scenario);
}

TEST_CASE("intranode: token counts that do not fit the channels", "[sim]") {
  Scenario scenario = small(GENERATE(kDispatch, kCombine), GENERATE(KernelRevision::a, KernelRevision::d), 4);
  scenario.sms = 6;
  scenario.tokens = GENERATE(0U, 1U, 2U, 41U);  // none, fewer than the 3 channels, not divisible by them
  run(scenario);
}

TEST_CASE("intranode: chunk as large as the ring, chunk of one, ring that is no power of two", "[sim]") {
  Scenario scenario = small(GENERATE(kDispatch, kCombine), GENERATE(KernelRevision::a, KernelRevision::d), 2);
  std::tie(scenario.chunk, scenario.ring_slots) =
      GENERATE(std::make_tuple(8U, 8U), std::make_tuple(1U, 2U), std::make_tuple(4U, 7U));
  if (scenario.kernel == kCombine) scenario.ring_slots += 22;
  run(scenario);
}

TEST_CASE("intranode: rows with and without a tail of the unrolled copy", "[sim]") {
  Scenario scenario = small(GENERATE(kDispatch, kCombine), GENERATE(KernelRevision::a, KernelRevision::d), 2);
  scenario.tokens = 20;
  scenario.hidden = GENERATE(512U, 2048U, 2560U, 7168U);
  run(scenario);
}

TEST_CASE("intranode: BF16 rows are dispatched as they are", "[sim]") {
  Scenario scenario = small(kDispatch, GENERATE(KernelRevision::a, KernelRevision::d), 2);
  scenario.elements = ElementType::bf16;
  run(scenario);
}

TEST_CASE("intranode: cache hints change no result", "[sim]") {
  Scenario scenario = small(GENERATE(kDispatch, kCombine), GENERATE(KernelRevision::a, KernelRevision::d), 2);
  scenario.hints = GENERATE(PayloadHints::no_prefetch, PayloadHints::plain, PayloadHints::safe);
  run(scenario);
}

TEST_CASE("intranode: a flush before the timed call, and many calls in a row", "[sim]") {
  Scenario scenario = small(GENERATE(kDispatch, kCombine), GENERATE(KernelRevision::a, KernelRevision::d), 2);
  scenario.tokens = 30;
  std::tie(scenario.flush_l2, scenario.calls) =
      GENERATE(std::make_tuple(true, 2U), std::make_tuple(false, 7U));
  run(scenario);
}

namespace {

std::string replace_all(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

/// A copy of a committed PTX file in which every occurrence of `from` reads `to`.
std::string renamed_ptx(const std::string& file, const std::string& from, const std::string& to) {
  std::ifstream in(std::string(PTXWIRE_SOURCE_DIR) + "/kernels/" + file);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  std::string path =
      std::filesystem::temp_directory_path() / ("ptxwire_renamed_" + std::to_string(getpid()) + "_" + file);
  std::ofstream(path) << replace_all(replace_all(text, from, to), "%r", "%left");
  return path;
}

}  // namespace

TEST_CASE("intranode: no number depends on the names in the PTX", "[sim]") {
  const auto kernel = GENERATE(kDispatch, kCombine);
  const auto revision = GENERATE(KernelRevision::a, KernelRevision::d);
  const std::string family = kernel == kDispatch ? "dispatch" : "combine";
  const std::string main = family + (revision == KernelRevision::a ? "_a" : "_d");
  Scenario scenario = small(kernel, revision, 2);
  const ScenarioResult original = run(scenario);
  scenario.ptx = renamed_ptx(main + ".ptx", family, "vector_add");
  scenario.entry = replace_all(main, family, "vector_add");
  scenario.notify_ptx = renamed_ptx("notify.ptx", "cached_notify", "gemm");
  scenario.notify_entry = "gemm_" + main;
  const ScenarioResult renamed = run(scenario);
  CHECK(renamed.time_us == original.time_us);
  CHECK(renamed.time_us_rank0 == original.time_us_rank0);
  CHECK(renamed.warp_instructions == original.warp_instructions);
  CHECK(renamed.events == original.events);
}

TEST_CASE("intranode: one and two threads, and two runs, give the same numbers", "[sim]") {
  const Scenario scenario = small(GENERATE(kDispatch, kCombine), KernelRevision::a, 4);
  const ScenarioResult one = run(scenario, 1), two = run(scenario, 2), again = run(scenario, 1);
  for (const ScenarioResult* other : {&two, &again}) {
    CHECK(other->time_us == one.time_us);
    CHECK(other->time_us_rank0 == one.time_us_rank0);
    CHECK(other->warp_instructions == one.warp_instructions);
    CHECK(other->events == one.events);
  }
}

TEST_CASE("intranode: logical bytes count own rows, wire bytes do not", "[sim]") {
  Scenario scenario = small(kDispatch, KernelRevision::a, 2);
  scenario.routing = RoutingPattern::all_to_one;
  scenario.tokens = 40;
  const ScenarioResult result = run(scenario);
  CHECK(result.logical_bytes == 80 * (1024 + 32));
  CHECK(result.wire_bytes == 40 * (1024 + 32));
  CHECK(result.logical_gb_per_s == Approx(80 * 1056 / result.time_us * 1e-3));
  // Rank 1 sends 40 rows over 8 links of 25 GB/s.
  CHECK(result.bound_us == Approx(40 * 1056 / 200e9 * 1e6));
}

TEST_CASE("intranode: a scenario that cannot run is refused", "[sim]") {
  Scenario scenario = small(kDispatch, KernelRevision::a, 2);
  scenario.machine = "h900-node";
  auto result = run_scenario(scenario);
  REQUIRE_FALSE(result.has_value());
  CHECK_THAT(result.error().message, Catch::Matchers::Contains("h900-node"));

  scenario.machine = "h800-node";
  scenario.entry = "dispatch_b";
  result = run_scenario(scenario);
  REQUIRE_FALSE(result.has_value());
  CHECK_THAT(result.error().to_string(), Catch::Matchers::Contains("dispatch_b"));

  scenario.entry.clear();
  scenario.sms = 1200;  // more CTAs of 256 threads than 132 SMs hold at once
  result = run_scenario(scenario);
  REQUIRE_FALSE(result.has_value());
}
