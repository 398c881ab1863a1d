#include "sim/workload/steady_phase.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

using namespace ptxwire::sim;

namespace {

constexpr double kRowBytes = 100;

/// Rings that are served at speeds of their own, in rows per microsecond, from 10 us on.
struct Rings {
  std::vector<uint32_t> rows;
  std::vector<double> speed;
};

/// Runs them to their end and returns when that was.
double run(SteadyPhase& phase, const Rings& rings) {
  std::vector<uint32_t> produced(rings.rows.size());
  for (double us = 0;; us += 0.5) {
    double total = 0;
    bool done = true;
    for (size_t i = 0; i < rings.rows.size(); ++i) {
      const double rows = std::min<double>(rings.rows[i], std::max(0.0, us - 10) * rings.speed[i]);
      produced[i] = static_cast<uint32_t>(rows);
      total += rows;
      done = done && rows >= rings.rows[i];
    }
    phase.observe(us, static_cast<uint64_t>(total * kRowBytes), produced);
    if (done) return us;
  }
}

/// When the last of them ends: in closed form.
double end_of(const Rings& rings) {
  double end = 0;
  for (size_t i = 0; i < rings.rows.size(); ++i) end = std::max(end, 10 + rings.rows[i] / rings.speed[i]);
  return end;
}

Rings alike(uint32_t rows) { return {std::vector<uint32_t>(20, rows), std::vector<double>(20, 1.0)}; }

}  // namespace

TEST_CASE("steady phase: of rings that are alike, only the time at full rate is added") {
  SteadyPhase phase(alike(200).rows, 1);
  const double end = run(phase, alike(200));
  const LongerCall longer = phase.extrapolate(end, end, alike(600).rows);
  CHECK(longer.us == Approx(end_of(alike(600))).epsilon(0.001));
  CHECK(longer.steady);
  CHECK(longer.error_pct < 4);  // what calls differ by is stated in any case
}

TEST_CASE("steady phase: what one ring has more is worked off once, not in proportion") {
  Rings shorter = alike(200), whole = alike(600);
  shorter.rows[7] += 30;
  whole.rows[7] += 30;
  SteadyPhase phase(shorter.rows, 1);
  const double end = run(phase, shorter);
  CHECK(phase.extrapolate(end, end, whole.rows).us == Approx(end_of(whole)).epsilon(0.003));
}

TEST_CASE("steady phase: rows in proportion take time in proportion") {
  Rings shorter = alike(200), whole = alike(600);
  shorter.rows[7] = 240;
  whole.rows[7] = 720;
  SteadyPhase phase(shorter.rows, 1);
  const double end = run(phase, shorter);
  CHECK(phase.extrapolate(end, end, whole.rows).us == Approx(end_of(whole)).epsilon(0.003));
}

TEST_CASE("steady phase: a ring that is slower than the others falls behind in proportion to the rows") {
  Rings shorter = alike(200), whole = alike(600);
  shorter.speed[3] = whole.speed[3] = 0.9;
  SteadyPhase phase(shorter.rows, 1);
  const double end = run(phase, shorter);
  CHECK(end == Approx(end_of(shorter)).margin(1));
  CHECK(phase.extrapolate(end, end, whole.rows).us == Approx(end_of(whole)).epsilon(0.01));
}

TEST_CASE("steady phase: a rate that keeps changing is not steady and its error says so") {
  SteadyPhase phase(std::vector<uint32_t>(4, 100), 1);
  const std::vector<uint32_t> produced(4, 50);
  for (double us = 0; us <= 100; ++us) phase.observe(us, static_cast<uint64_t>(us * us), produced);
  const LongerCall longer = phase.extrapolate(100, 100, std::vector<uint32_t>(4, 200));
  CHECK_FALSE(longer.steady);
  CHECK(longer.error_pct > 5);
}

TEST_CASE("steady phase: without anything observed nothing is claimed") {
  const SteadyPhase phase(std::vector<uint32_t>(4, 100), 1);
  const LongerCall longer = phase.extrapolate(100, 100, std::vector<uint32_t>(4, 200));
  CHECK_FALSE(longer.steady);
  CHECK(longer.error_pct == 100);
}
