#include "sim/workload/sampling.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <string>

using namespace ptxwire;
using namespace ptxwire::sim;

namespace {

constexpr uint64_t kTotal = 1'000'000;

/// Feeds `bytes_at(us)` to a rate every microsecond until it has enough; returns when that was.
template <typename BytesAt>
double feed(SteadyRate& rate, BytesAt bytes_at) {
  for (double us = 0; us < 1e5; ++us)
    if (rate.observe(us, static_cast<uint64_t>(bytes_at(us)))) return us;
  return -1;
}

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

TEST_CASE("sampling: a constant rate after a start without traffic is found exactly") {
  SteadyRate rate(kTotal);
  const double end = feed(rate, [](double us) { return us < 50 ? 0.0 : (us - 50) * 500; });
  CHECK(rate.steady());
  CHECK(rate.bytes_per_us() == Approx(500));
  CHECK(rate.error_pct() == Approx(0).margin(1e-9));
  // 4 % of the payload are left out and 14 windows of 1 % seen, at 500 bytes per microsecond.
  CHECK(end == Approx(50 + 180'000 / 500.0).margin(10));
}

TEST_CASE("sampling: the ramp at the start does not count") {
  SteadyRate rate(kTotal);
  // The rate rises linearly over 200 us to 500 and stays there.
  feed(rate, [](double us) { return us < 200 ? us * us / 400 * 500 : 50'000 + (us - 200) * 500; });
  CHECK(rate.steady());
  CHECK(rate.bytes_per_us() == Approx(500).epsilon(0.01));
}

TEST_CASE("sampling: a rate that keeps changing is given up and its error says so") {
  SteadyRate rate(kTotal);
  feed(rate, [](double us) { return 10 * us * us; });
  CHECK_FALSE(rate.steady());
  CHECK(rate.share() == Approx(0.24).margin(0.02));
  CHECK(rate.error_pct() > 1);
}

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
  // A twentieth of it is launches and notify, ten times the share in a call of full size.
  CHECK(sampled->time_us == Approx(exact->time_us).epsilon(0.04));
  CHECK(sampled->logical_gb_per_s * sampled->time_us == Approx(exact->logical_gb_per_s * exact->time_us));
  CHECK(sampled->bound_us == Approx(exact->bound_us));
  CHECK(sampled->sampled->executed_share < 0.3);
  CHECK(sampled->warp_instructions * 2 < exact->warp_instructions);
  CHECK(sampled->result == ResultState::correct);
}
