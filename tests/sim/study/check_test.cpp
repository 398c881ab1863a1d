#include "sim/study/check.hpp"

#include <catch2/catch.hpp>

#include "fake_runner.hpp"
#include "sim/study/predict.hpp"

using namespace ptxwire;
using namespace ptxwire::sim;

namespace {

Measurement timed_row(const std::string& id, std::string scenario, double value, std::string family = "f") {
  return {.id = id,
          .group = id,
          .family = std::move(family),
          .scenario = std::move(scenario),
          .settings = {"chunk=9"},
          .metric = "time",
          .unit = "us",
          .value = value};
}

Suite suite_of(const std::string& text) {
  Expected<Suite> suite = parse_suite("description = 'd'\n" + text, "s.toml");
  if (!suite) FAIL(suite.error().to_string());
  return *suite;
}

CheckReport checked(const Suite& suite, const std::vector<Measurement>& rows, Runner& runner) {
  const auto plan = plan_suite(suite, rows, "");
  REQUIRE(plan);
  auto report = run_check(suite, *plan, runner, {});
  if (!report) FAIL(report.error().to_string());
  return *report;
}

}  // namespace

TEST_CASE("check: predicted, measured, error and means") {
  FakeRunner runner;  // predicts 10 us for chunk=9
  const std::vector<Measurement> rows = {timed_row("a", "s", 8, "x"), timed_row("b", "s", 12.5, "y")};
  const CheckReport report = checked(suite_of("[[rows]]\nids = ['*']\n"), rows, runner);
  REQUIRE(report.rows.size() == 2);
  CHECK(report.rows[0].predicted == 10);
  CHECK(report.rows[0].error_pct == Approx(25));   // (10 - 8) / 8
  CHECK(report.rows[1].error_pct == Approx(-20));  // (10 - 12.5) / 12.5
  CHECK(report.families.at("x").mape_pct == Approx(25));
  CHECK(report.all.mape_pct == Approx(22.5));
  CHECK(report.passed());
}

TEST_CASE("check: a row beyond its threshold fails, one at it does not") {
  FakeRunner runner;
  const Suite suite =
      suite_of("[[rows]]\nids = ['*']\n[[threshold]]\nids = ['gated*']\nmax_error_pct = 25\n");
  CHECK(checked(suite, {timed_row("gated", "s", 8)}, runner).passed());
  CHECK_FALSE(checked(suite, {timed_row("gated", "s", 7.9)}, runner).passed());
  CHECK_FALSE(checked(suite, {timed_row("gated", "s", 20)}, runner).passed());  // too fast counts as well
  CHECK(checked(suite, {timed_row("free", "s", 1)}, runner).passed());
}

TEST_CASE("check: wrong values fail a row however good its time is") {
  FakeRunner runner;
  runner.result = ResultState::wrong;
  CHECK_FALSE(checked(suite_of("[[rows]]\nids = ['*']\n"), {timed_row("a", "s", 10)}, runner).passed());
}

TEST_CASE("check: a row that breaks is named with the reason and fails the check, the others go on") {
  FakeRunner runner;
  const CheckReport report = checked(suite_of("[[rows]]\nids = ['*']\n"),
                                     {timed_row("a", "broken", 10), timed_row("b", "s", 10)}, runner);
  REQUIRE(report.not_run.size() == 1);
  CHECK(report.not_run[0].id == "a");
  CHECK_THAT(report.not_run[0].reason, Catch::Contains("deadlocks"));
  CHECK(report.rows.size() == 1);
  CHECK_FALSE(report.passed());
}

TEST_CASE("check: of a search the fastest counts and is named") {
  FakeRunner runner;
  const CheckReport report = checked(
      suite_of("[[rows]]\nids = ['*']\nsearch = { chunk = [8, 2, 4] }\n"),
      {{.id = "a", .group = "a", .family = "f", .scenario = "s", .metric = "time", .unit = "us", .value = 3}},
      runner);
  REQUIRE(report.rows.size() == 1);
  CHECK(runner.runs == 3);
  CHECK(report.rows[0].predicted == 3);
  CHECK(report.rows[0].settings == std::vector<std::string>{"chunk=2"});
}

TEST_CASE("check: stopping ends it with an error") {
  FakeRunner runner;
  const std::vector<Measurement> rows = {timed_row("a", "s", 8), timed_row("b", "s", 8)};
  const Suite suite = suite_of("[[rows]]\nids = ['*']\n");
  const auto plan = plan_suite(suite, rows, "");
  REQUIRE(plan);
  int calls = 0;
  const auto report =
      run_check(suite, *plan, runner, {.progress = [&](const CheckProgress&) { return ++calls < 3; }});
  CHECK_FALSE(report);
  CHECK(calls == 3);
  CHECK(runner.runs == 1);
}

TEST_CASE("check: a metric that no scenario gives is reported, not guessed") {
  FakeRunner runner;
  Measurement row = timed_row("a", "s", 8);
  row.metric = "slowdown";
  const CheckReport report = checked(suite_of("[[rows]]\nids = ['*']\n"), {row}, runner);
  REQUIRE(report.not_run.size() == 1);
  CHECK_THAT(report.not_run[0].reason, Catch::Contains("slowdown"));
}

TEST_CASE("check: a microbenchmark row takes the scenario's first figure in its own unit") {
  FakeRunner runner;
  Measurement row = timed_row("a", "micro", 1.2);
  row.metric = "microbenchmark";
  row.unit = "TB/s";
  CheckReport report = checked(suite_of("[[rows]]\nids = ['*']\n"), {row}, runner);
  REQUIRE(report.rows.size() == 1);
  CHECK(report.rows[0].predicted == Approx(1.5));
  CHECK(report.rows[0].error_pct == Approx(25));
  row.unit = "clk";
  report = checked(suite_of("[[rows]]\nids = ['*']\n"), {row}, runner);
  REQUIRE(report.not_run.size() == 1);
  CHECK_THAT(report.not_run[0].reason, Catch::Contains("gb_per_s in GB/s"));
}

TEST_CASE("predict: the change is relative to the base") {
  FakeRunner runner;
  std::vector<double> seen;
  const auto prediction =
      predict(runner, {.scenario = "s", .settings = {"chunk=3"}}, {.scenario = "s", .settings = {"chunk=2"}},
              {.progress = [&](double share) { return seen.push_back(share), true; }});
  REQUIRE(prediction);
  CHECK(prediction->base.time_us == 4);
  CHECK(prediction->changed.time_us == 3);
  CHECK(prediction->delta_pct == Approx(-25));
  CHECK_FALSE(prediction->interval_low_pct.has_value());
  CHECK_FALSE(prediction->in_range.has_value());
  CHECK(seen == std::vector<double>{0.25, 0.75});
}

TEST_CASE("check: runs above the suite's cost are sampled where they can be, unless all is to be exact") {
  FakeRunner runner;
  Measurement row = timed_row("a", "s", 10);
  const Suite suite = suite_of("sample_above_s = 30\n[[rows]]\nids = ['*']\n");
  const auto sampling_at = [&](std::optional<double> cost_s, bool exact) {
    row.cost_s = cost_s;
    const std::vector<Measurement> rows = {row};
    const auto plan = plan_suite(suite, rows, "");
    REQUIRE(plan);
    REQUIRE(run_check(suite, *plan, runner, {.exact = exact}));
    return runner.last_sampling;
  };
  CHECK(sampling_at(31, false) == Sampling::if_possible);
  CHECK(sampling_at(31, true) == Sampling::off);
  CHECK(sampling_at(30, false) == Sampling::off);
  CHECK(sampling_at(std::nullopt, false) == Sampling::off);
}

TEST_CASE("check: a mean over its limit fails, unless rows of it are missing or were not asked for") {
  const Suite suite = suite_of(
      "[[rows]]\nids = ['*']\n[[mean_threshold]]\nname = 'left out'\nids = ['*']\nroles = "
      "['test']\nmax_mape_pct = 8\n");
  FakeRunner runner;  // predicts 10 us
  std::vector<Measurement> rows = {timed_row("a", "s", 8), timed_row("b", "s", 10), timed_row("c", "s", 10)};
  for (size_t i : {0, 1}) rows[i].role = Role::test;
  const CheckReport over = checked(suite, rows, runner);
  REQUIRE(over.means.size() == 1);
  CHECK(over.means[0].planned == 2);  // c has another role
  CHECK(over.means[0].accuracy.mape_pct == Approx(12.5));
  CHECK(over.roles.at(Role::test).rows == 2);
  CHECK_FALSE(over.passed());

  const auto plan = plan_suite(suite, rows, "");
  REQUIRE(plan);
  const auto selected = run_check(suite, *plan, runner, {.selected = true});
  REQUIRE(selected);
  CHECK(selected->passed());

  rows[1].scenario = "broken";
  const CheckReport partial = checked(suite, rows, runner);
  CHECK_FALSE(partial.means[0].complete());
  CHECK_FALSE(partial.means[0].failed());
}

TEST_CASE("check: recalling runs nothing, and what was not run before is no failure") {
  FakeRunner simulator;
  RecallingRunner recalling(simulator);
  const Suite suite = suite_of("[[rows]]\nids = ['*']\n");
  const std::vector<Measurement> rows = {timed_row("a", "s", 8)};
  const auto plan = plan_suite(suite, rows, "");
  REQUIRE(plan);
  const auto report = run_check(suite, *plan, recalling, {.recall = true});
  REQUIRE(report);
  CHECK(simulator.runs == 0);
  CHECK(report->rows.empty());
  CHECK(report->not_run.size() == 1);
  CHECK(report->passed());
}
