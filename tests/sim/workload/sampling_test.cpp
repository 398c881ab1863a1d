#include "sim/workload/sampling.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <string>

using namespace ptxwire;
using namespace ptxwire::sim;

namespace {

Scenario dispatch_of(uint32_t tokens) {
  Scenario s;
  s.elements = ElementType::fp8;
  s.ranks = 2;
  s.tokens = tokens;
  s.hidden = 512;
  s.topk = 4;
  s.experts = 32;
  s.sms = 4;
  s.chunk = 4;
  s.ring_slots = 64;
  return s;
}

}  // namespace

TEST_CASE("sampling: what cannot be sampled is refused with the reason") {
  const auto refused = [](const Scenario& s) {
    const auto possible = can_sample(s);
    REQUIRE_FALSE(possible);
    return possible.error().to_string();
  };
  CHECK(refused(dispatch_of(1023)).find("'tokens' is 1023") != std::string::npos);
  Scenario broadcast = dispatch_of(4096);
  broadcast.kernel = KernelFamily::ring_broadcast;
  CHECK(refused(broadcast).find("cannot be sampled") != std::string::npos);
  Scenario lonely = dispatch_of(4096);
  lonely.ranks = 1;
  CHECK(refused(lonely).find("nothing to sample") != std::string::npos);
  CHECK(can_sample(dispatch_of(1024)));
  Scenario coarse = dispatch_of(1024);  // 38 % of the 512 tokens of a channel go to two ranks nearly all
  coarse.chunk = 80;
  CHECK(refused(coarse).find("in chunks of 80") != std::string::npos);
  Scenario narrow = dispatch_of(1030);  // 16 tokens for each of 66 channels leave nothing for the last ones
  narrow.sms = 132;
  CHECK(refused(narrow).find("the last of 66 channels has 0") != std::string::npos);
}

TEST_CASE(
    "sampling: the part that runs is a fifth of what the exact run executes, and half a call or so at most") {
  Scenario scenario = dispatch_of(4096);
  for (scenario.calls = 1; scenario.calls <= 10; ++scenario.calls) {
    CHECK(sampled_share(scenario) <= scenario.calls / 5.0);
    CHECK(sampled_share(scenario) < 0.6);
  }
}

TEST_CASE("sampling: agrees with the exact run of the same call", "[sim]") {
  if (std::getenv("PTXWIRE_TEST_SMALL") != nullptr) return;
  const auto kernel = GENERATE(KernelFamily::intranode_dispatch, KernelFamily::intranode_combine);
  Scenario scenario = dispatch_of(2048);
  scenario.kernel = kernel;
  if (kernel == KernelFamily::intranode_combine) scenario.elements = ElementType::bf16;
  const RunOptions options{.threads = 1};
  const auto exact = run_scenario(scenario, options);
  const auto sampled = run_sampled(scenario, options);
  if (!exact) FAIL(exact.error().to_string());
  if (!sampled) FAIL(sampled.error().to_string());
  REQUIRE(sampled->sampled);
  CHECK_FALSE(exact->sampled);
  CHECK(sampled->sampled->steady);
  CHECK(sampled->sampled->error_pct < 8);
  // Two standard errors are stated; a single pair may differ by three.
  CHECK(std::abs(sampled->time_us / exact->time_us - 1) * 100 <= 1.5 * sampled->sampled->error_pct);
  CHECK(sampled->logical_gb_per_s * sampled->time_us == Approx(exact->logical_gb_per_s * exact->time_us));
  CHECK(sampled->bound_us == Approx(exact->bound_us));
  CHECK(sampled->sampled->executed_share == Approx(sampled_share(scenario)).epsilon(0.01));
  CHECK(sampled->warp_instructions * 4 < exact->warp_instructions);
  CHECK(sampled->result == ResultState::correct);
}
