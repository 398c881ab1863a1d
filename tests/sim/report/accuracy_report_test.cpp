#include <catch2/catch.hpp>

#include "sim/report/accuracy_document.hpp"
#include "sim/report/accuracy_plot.hpp"
#include "sim/report/junit.hpp"

using namespace ptxwire::sim;
using Catch::Contains;

namespace {

CheckedRow row_of(const std::string& id, Role role, double predicted, double measured) {
  CheckedRow row{.measurement = {.id = id,
                                 .source_id = "S",
                                 .group = id,
                                 .family = "f",
                                 .scenario = "s",
                                 .settings = {"tokens=1"},
                                 .metric = "time",
                                 .unit = "us",
                                 .value = measured,
                                 .role = role},
                 .scenario = "s",
                 .settings = {"tokens=1", "chunk=6"},
                 .predicted = predicted,
                 .error_pct = error_pct(predicted, measured),
                 .max_error_pct = 18};
  row.outcome.bottleneck.binding = "a < b & \"c\"";
  return row;
}

/// One row within its threshold and one beyond it; one that broke and one that is left out.
CheckReport report() {
  CheckReport report;
  report.rows = {row_of("good", Role::fit, 11, 10), row_of("bad", Role::test, 15, 10)};
  report.rows[1].repeats = {"bad-again"};
  report.rows[1].known_physics = "queues are endless";
  report.not_run = {{"broken", "deadlock <here>", true}, {"later", "hours | per row", false}};
  report.all = accuracy_of({10, 50});
  report.families["f"] = report.all;
  report.roles = {{Role::fit, accuracy_of({10})}, {Role::test, accuracy_of({50})}, {Role::report, {}}};
  report.means = {{.name = "all of them", .max_mape_pct = 20, .accuracy = report.all, .planned = 2}};
  return report;
}

size_t times(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("junit: failures, errors and skipped rows are counted, text is escaped") {
  const std::string xml = check_junit(report());
  CHECK_THAT(xml, Contains("<testsuites name=\"ptxwire check\" tests=\"5\" failures=\"2\" errors=\"1\""));
  CHECK(times(xml, "<testcase ") == 5);
  CHECK(times(xml, "<failure ") == 2);  // the row and the mean
  CHECK(times(xml, "<error ") == 1);
  CHECK(times(xml, "<skipped ") == 1);
  CHECK_THAT(xml, Contains("deadlock &lt;here&gt;") && Contains("a &lt; b &amp; &quot;c&quot;"));
}

TEST_CASE("accuracy document: every row with its role, repeats, and the physics of a miss") {
  const std::string text = accuracy_document(report(), {"ptxwire check --suite accuracy", "accuracy.svg"});
  CHECK_THAT(text, Contains("Written by `ptxwire check --suite accuracy`; do not edit."));
  CHECK_THAT(text, Contains("| **all** | 2 | 30.0 % | 30.0 % | +30.0 % | +50.0 % |"));
  CHECK_THAT(text, Contains("| all of them | 2 of 2 | 30.0 % | 20 % | **over** |"));
  CHECK_THAT(text, Contains("](accuracy.svg)"));
  CHECK_THAT(text, Contains("| good | 11.00 | 10.00 | us | +10.0 % | fit | simulated | S | chunk=6 |"));
  CHECK_THAT(text, Contains("| **+50.0 %** | test |") && Contains("repeated by bad-again"));
  CHECK_THAT(text, Contains("- queues are endless  \n  `bad` +50.0 %"));
  CHECK_THAT(text, Contains("| f, left out | 1 | 50.0 %"));
  CHECK_THAT(text, Contains("hours \\| per row"));  // a bar would end the cell
}

TEST_CASE("accuracy summary: the verdict and what failed") {
  const std::string text = check_summary(report());
  CHECK_THAT(text, Contains("### ptxwire check: FAILED") && Contains("| bad | 15.00 | 10.00 | +50.0 % |"));
  CHECK_THAT(text, Contains("`broken` broke") && !Contains("| good |"));
}

TEST_CASE("accuracy plot: a panel per unit, a series per role, no row that has no logarithm") {
  CheckReport with_zero = report();
  with_zero.rows.push_back(row_of("zero", Role::fit, 0, 10));
  const std::string plot = accuracy_plot(with_zero);
  CHECK(times(plot, "\nplot ") == 1);
  CHECK_THAT(plot, Contains("10 11\n") && Contains("10 15\n") && !Contains("10 0\n"));
  CHECK_THAT(plot, Contains("title 'fit (1)'") && Contains("title 'test (1)'"));
  const auto svg = render_plot(plot);
  if (!svg) {
    CHECK_THAT(svg.error().message, Contains("'gnuplot' is not installed"));
    return;
  }
  CHECK_THAT(*svg, Contains("<svg") && Contains("predicted"));
}
