#include "sim/study/suite.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "sim/study/glob.hpp"
#include "sim/study/text_file.hpp"

using namespace ptxwire;
using namespace ptxwire::sim;

namespace {

Measurement row(const std::string& id, const std::string& group, Role role) {
  return {.id = id, .group = group.empty() ? id : group, .family = "f", .settings = {"sms=24"}, .role = role};
}

Suite suite_of(const std::string& text) {
  Expected<Suite> suite = parse_suite("description = 'd'\n" + text, "s.toml");
  if (!suite) FAIL(suite.error().to_string());
  return *suite;
}

}  // namespace

TEST_CASE("glob: stars, question marks and alternatives") {
  CHECK(glob_match("h800*", "h800-ep8"));
  CHECK(glob_match("*-sm{4,24}", "t1-sm24"));
  CHECK(glob_match("t{1,128}-sm{4,8}", "t128-sm4"));
  CHECK(glob_match("a*b*c", "aXXbYbZc"));
  CHECK(glob_match("", ""));
  CHECK_FALSE(glob_match("h800", "h800-ep8"));
  CHECK_FALSE(glob_match("t{1,128}-*", "t12-x"));
  CHECK_FALSE(glob_match("sm?", "sm24"));
  CHECK_FALSE(glob_match("a*b", "abX"));
}

TEST_CASE("suite: a group is planned once, by its row that is tested on") {
  const std::vector<Measurement> rows = {row("old", "g", Role::report), row("new", "g", Role::fit),
                                         row("alone", "", Role::test)};
  const auto plan = plan_suite(suite_of("[[rows]]\nids = ['*']\n"), rows, "");
  REQUIRE(plan);
  REQUIRE(plan->rows.size() == 2);
  CHECK(plan->rows[0].measurement->id == "new");
  CHECK(plan->rows[0].repeats == std::vector<std::string>{"old"});
  CHECK(plan->rows[1].measurement->id == "alone");
}

TEST_CASE("suite: settings of the row come first, then the suite's, then those searched") {
  const std::vector<Measurement> rows = {row("a", "", Role::test)};
  const auto plan = plan_suite(
      suite_of("[[rows]]\nids = ['a']\nset = ['seed=3']\nsearch = { chunk = [4, 6], hints = ['x', 'y'] }\n"),
      rows, "");
  REQUIRE(plan);
  const auto& candidates = plan->rows.at(0).candidates;
  REQUIRE(candidates.size() == 4);
  CHECK(candidates[0] == std::vector<std::string>{"sms=24", "seed=3", "chunk=4", "hints=x"});
  CHECK(candidates[3] == std::vector<std::string>{"sms=24", "seed=3", "chunk=6", "hints=y"});
}

TEST_CASE("suite: rows run their own scenario, or what the suite has in its place") {
  std::vector<Measurement> rows = {row("own", "", Role::report), row("other", "", Role::report)};
  for (Measurement& measurement : rows) measurement.scenario = "unstated_dispatch";
  const auto plan = plan_suite(
      suite_of("[[rows]]\nids = ['own']\n[[rows]]\nids = ['other']\nscenario = 'h800_dispatch'\n"), rows, "");
  REQUIRE(plan);
  CHECK(plan->rows.at(0).scenario == "unstated_dispatch");
  CHECK(plan->rows.at(1).scenario == "h800_dispatch");
}

TEST_CASE("suite: --only narrows what is run and what is listed as not run") {
  const std::vector<Measurement> rows = {row("h800-a", "", Role::test), row("h100-a", "", Role::test),
                                         row("h800-b", "", Role::test), row("h100-b", "", Role::test)};
  const Suite suite = suite_of("[[rows]]\nids = ['*-a']\n[[not_run]]\nids = ['*-b']\nreason = 'later'\n");
  const auto plan = plan_suite(suite, rows, "h800*");
  REQUIRE(plan);
  REQUIRE(plan->rows.size() == 1);
  CHECK(plan->rows[0].measurement->id == "h800-a");
  REQUIRE(plan->not_run.size() == 1);
  CHECK(plan->not_run[0].measurement->id == "h800-b");
  CHECK(plan->not_run[0].reason == "later");
}

TEST_CASE("suite: mistakes name the line") {
  using Catch::Contains;
  const auto message = [](const std::string& text) {
    const auto suite = parse_suite("description = 'd'\n" + text, "s.toml");
    return suite ? std::string("accepted") : suite.error().to_string();
  };
  CHECK_THAT(message("[[row]]\nids = ['a']\n"), Contains("s.toml:2") && Contains("did you mean 'rows'"));
  CHECK_THAT(message("[[rows]]\nids = 'a'\n"), Contains("s.toml:3") && Contains("list of strings"));
  CHECK_THAT(message("[[rows]]\nids = ['a']\nset = [3]\n"), Contains("s.toml:4"));
  CHECK_THAT(message("[[threshold]]\nids = ['a']\nmax_error_pct = -1\n"), Contains("per cent"));
  CHECK_THAT(message("[[rows\n"), Contains("s.toml:2"));
  const auto plan = plan_suite(suite_of("[[rows]]\nids = ['nothing']\n"), {row("a", "", Role::fit)}, "");
  REQUIRE_FALSE(plan);
  CHECK_THAT(plan.error().message, Contains("'nothing'"));
}

TEST_CASE("suite: the committed suites name committed rows") {
  const auto rows = read_measurements(PTXWIRE_SOURCE_DIR "/traces/measurements");
  REQUIRE(rows);
  const auto planned = [&](const std::string& name) {
    const std::string path = PTXWIRE_SOURCE_DIR "/traces/suites/" + name + ".toml";
    const auto suite = read_suite(path);
    if (!suite) FAIL(suite.error().to_string());
    const auto plan = plan_suite(*suite, *rows, "");
    if (!plan) FAIL(plan.error().to_string());
    return std::pair(*suite, *plan);
  };
  const auto [suite, plan] = planned("default");
  // 3 of H800 on one node, 2 kernels x 3 token counts x 5 SM counts of H100, 8 of low latency
  CHECK(plan.rows.size() == 41);
  CHECK(suite.max_error_pct("h800-ep8-dispatch-fp8-0224") == 15.0);
  CHECK_FALSE(suite.max_error_pct("h100-ep8-dispatch-h7168-k8-e256-t1-sm4").has_value());
  CHECK_FALSE(plan.not_run.empty());
  // 2 of H800 on one node, 2 kernels x 2 hidden sizes x 5 token counts x 5 SM counts of H100, 3 broadcasts,
  // 49 of the trace, 14 of low latency
  CHECK(planned("all").second.rows.size() == 168);
  CHECK(planned("quick").second.rows.size() == 8);
  const auto [all_rows, everything] = planned("accuracy");
  CHECK(everything.rows.size() > planned("all").second.rows.size());
  CHECK(all_rows.mean_thresholds.size() == 3);
}

TEST_CASE("suite: one that includes others plans their rows after its own, each group once") {
  const std::filesystem::path place = std::filesystem::temp_directory_path() / "ptxwire-suite-include";
  std::filesystem::create_directories(place);
  const auto file = [&](const std::string& name, const std::string& text) {
    std::ofstream(place / (name + ".toml")) << "description = 'd'\n" << text;
    return (place / (name + ".toml")).string();
  };
  file("part",
       "sample_above_s = 5\n[[rows]]\nids = ['a', 'b']\nset = ['chunk=1']\n"
       "[[threshold]]\nids = ['*']\nmax_error_pct = 9\n");
  const std::string whole = file("whole",
                                 "include = ['part']\n[[rows]]\nids = ['b']\nset = ['chunk=2']\n"
                                 "[[known_miss]]\nids = ['a']\nphysics = 'p'\nmax_error_pct = 20\n");
  const auto suite = read_suite(whole);
  if (!suite) FAIL(suite.error().to_string());
  const std::vector<Measurement> rows = {{.id = "a", .group = "a", .cost_s = 10},
                                         {.id = "b", .group = "b", .cost_s = 10}};
  const auto plan = plan_suite(*suite, rows, "");
  REQUIRE(plan);
  REQUIRE(plan->rows.size() == 2);
  CHECK(plan->rows[0].candidates[0] == std::vector<std::string>{"chunk=2"});  // b, as its own suite has it
  CHECK_FALSE(plan->rows[0].sample);  // the limit of cost is the part's
  CHECK(plan->rows[1].sample);
  CHECK(suite->max_error_pct("a") == 20.0);  // of the known miss, not of the threshold
  CHECK(suite->max_error_pct("b") == 9.0);
  file("part", "include = ['whole']\n");
  const auto circle = read_suite(whole);
  REQUIRE_FALSE(circle);
  CHECK_THAT(circle.error().message, Catch::Contains("includes itself"));
  std::filesystem::remove_all(place);
}
