#include "sim/report/accuracy_document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/report/table.hpp"

namespace ptxwire::sim {
namespace {

/// Text in a cell of a table.
std::string cell(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '|') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result;
}

std::string accuracy_cells(const Accuracy& accuracy) {
  if (accuracy.rows == 0) return "0 | | | |";
  return fmt::format("{} | {:.1f} % | {:.1f} % | {} | {}", accuracy.rows, accuracy.mape_pct,
                     accuracy.median_pct, signed_percent(accuracy.bias_pct),
                     signed_percent(accuracy.worst_pct));
}

constexpr const char* kAccuracyHeader =
    "| | rows | MAPE | median | bias | worst |\n|---|--:|--:|--:|--:|--:|\n";

std::string means_table(const CheckReport& report) {
  if (report.means.empty()) return "";
  std::string text = "| mean over | rows | MAPE | at most | |\n|---|--:|--:|--:|---|\n";
  for (const CheckedMean& mean : report.means) {
    const char* verdict = mean.failed()     ? "**over**"
                          : mean.complete() ? "met"
                                            : "not judged, rows are missing";
    text += fmt::format("| {} | {} of {} | {} | {:.0f} % | {} |\n", cell(mean.name), mean.accuracy.rows,
                        mean.planned, mean.accuracy.rows != 0 ? fixed(mean.accuracy.mape_pct, 1) + " %" : "",
                        mean.max_mape_pct, verdict);
  }
  return text + '\n';
}

std::string role_words(Role role) {
  switch (role) {
    case Role::fit:
      return "fit: parameters were fitted on them";
    case Role::test:
      return "test: left out of every fit";
    case Role::report:
      return "report: of unclear origin, or not gated";
  }
  return "";
}

std::string summary_table(const CheckReport& report) {
  std::string text = kAccuracyHeader;
  text += fmt::format("| **all** | {} |\n", accuracy_cells(report.all));
  for (const auto& [role, accuracy] : report.roles)
    text += fmt::format("| {} | {} |\n", role_words(role), accuracy_cells(accuracy));
  return text + '\n';
}

std::string families_table(const CheckReport& report) {
  std::string text = kAccuracyHeader;
  std::map<std::string, std::vector<double>> left_out;
  for (const CheckedRow& row : report.rows)
    if (row.measurement.role == Role::test) left_out[row.measurement.family].push_back(row.error_pct);
  for (const auto& [family, accuracy] : report.families) {
    text += fmt::format("| {} | {} |\n", family, accuracy_cells(accuracy));
    if (const auto found = left_out.find(family);
        found != left_out.end() && found->second.size() < accuracy.rows)
      text += fmt::format("| {}, left out | {} |\n", family, accuracy_cells(accuracy_of(found->second)));
  }
  return text + '\n';
}

std::string known_misses(const CheckReport& report) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<const CheckedRow*>> by_physics;
  for (const CheckedRow& row : report.rows) {
    if (row.known_physics.empty()) continue;
    if (by_physics[row.known_physics].empty()) order.push_back(row.known_physics);
    by_physics[row.known_physics].push_back(&row);
  }
  std::string text;
  for (const std::string& physics : order) {
    text += "- " + physics + "  \n  ";
    bool first = true;
    for (const CheckedRow* row : by_physics[physics]) {
      text +=
          fmt::format("{}`{}` {}", first ? "" : ", ", row->measurement.id, signed_percent(row->error_pct));
      first = false;
    }
    text += '\n';
  }
  return text.empty() ? "None is named.\n\n" : text + '\n';
}

std::string basis_of(const CheckedRow& row) {
  std::string text =
      row.outcome.sampled ? "sampled +-" + fixed(row.outcome.sampled->error_pct, 1) + " %" : "simulated";
  if (!row.outcome.surrogate.empty()) text += ", surrogate";
  if (row.outcome.result == ResultState::wrong) text += ", **wrong result**";
  return text;
}

/// Settings beyond those of the measured row itself, and rows that repeat it.
std::string notes_of(const CheckedRow& row) {
  std::string text;
  const auto add = [&](const std::string& words) { text += (text.empty() ? "" : "; ") + words; };
  for (size_t i = row.measurement.settings.size(); i < row.settings.size(); ++i) add(row.settings[i]);
  if (row.scenario != row.measurement.scenario) add("as " + row.scenario);
  if (!row.repeats.empty()) add("repeated by " + joined(row.repeats));
  return text;
}

std::string rows_tables(const CheckReport& report) {
  std::map<std::string, std::vector<const CheckedRow*>> families;
  for (const CheckedRow& row : report.rows) families[row.measurement.family].push_back(&row);
  std::string text;
  for (const auto& [family, rows] : families) {
    text += "### " + family +
            "\n\n| row | predicted | measured | unit | error | role | basis | source | notes |\n"
            "|---|--:|--:|---|--:|---|---|---|---|\n";
    for (const CheckedRow* row : rows) {
      const std::string error = signed_percent(row->error_pct);
      text += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", row->measurement.id,
                          fixed(row->predicted, 2), fixed(row->measurement.value, 2), row->measurement.unit,
                          row->failed() ? "**" + error + "**" : error, role_name(row->measurement.role),
                          basis_of(*row), row->measurement.source_id, cell(notes_of(*row)));
    }
    text += '\n';
  }
  return text;
}

std::string orders_table(const CheckReport& report) {
  if (report.orders.empty()) return "";
  std::string text =
      "## Does a knob act as measured?\n\nRank correlation of predicted and measured values where rows "
      "differ in one "
      "setting alone: +1 is the measured order.\n\n| knob | rows | rank correlation | of "
      "|\n|---|--:|--:|---|\n";
  for (const KnobOrder& order : report.orders)
    text += fmt::format("| {} | {} | {} | {} |\n", order.knob, order.ids.size(),
                        order.correlation ? fixed(*order.correlation, 2) : "none", cell(order.where));
  return text + '\n';
}

std::string not_run_table(const CheckReport& report) {
  if (report.not_run.empty()) return "";
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const NotRun& row : report.not_run) {
    if (by_reason[row.reason].empty()) order.push_back(row.reason);
    by_reason[row.reason].push_back(row.id);
  }
  std::string text = "## Not run\n\n| rows | reason | which |\n|--:|---|---|\n";
  constexpr size_t kMostNamed = 6;
  for (const std::string& reason : order) {
    std::vector<std::string> ids = by_reason[reason];
    const size_t count = ids.size();
    if (count > kMostNamed) ids.resize(kMostNamed);
    text += fmt::format("| {} | {} | {}{} |\n", count, cell(reason), joined(ids),
                        count > kMostNamed ? " ..." : "");
  }
  return text + '\n';
}

}  // namespace

std::string accuracy_document(const CheckReport& report, const AccuracyDocument& document) {
  std::string text = "# Accuracy\n\nWritten by `" + document.command + "`; do not edit.\n\n";
  text +=
      "An error is (predicted - measured) / measured. Rows that repeat one measurement count once. "
      "`predicted` is a "
      "simulated or sampled figure, as its basis says; `measured` has a source in "
      "`traces/measurements/sources.csv`. What a row may be used for (fit, test, report) was frozen before "
      "anything "
      "was fitted.\n\n## In all\n\n";
  text += summary_table(report) + means_table(report);
  if (!document.plot.empty())
    text += fmt::format("![Predicted against measured, one panel per unit]({})\n\n", document.plot);
  text += "## By family\n\n" + families_table(report);
  text += "## Known misses and the physics suspected behind them\n\n" + known_misses(report);
  text += orders_table(report) + "## Every row\n\n" + rows_tables(report) + not_run_table(report);
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

std::string check_summary(const CheckReport& report) {
  std::string text =
      fmt::format("### ptxwire check: {}\n\n", report.passed() ? "within the thresholds" : "FAILED");
  text += kAccuracyHeader;
  text += fmt::format("| **all** | {} |\n", accuracy_cells(report.all));
  for (const auto& [family, accuracy] : report.families)
    text += fmt::format("| {} | {} |\n", family, accuracy_cells(accuracy));
  text += '\n' + means_table(report);
  std::string failures;
  for (const CheckedRow& row : report.rows) {
    if (!row.failed()) continue;
    failures +=
        fmt::format("| {} | {} | {} | {} | {} |\n", row.measurement.id, fixed(row.predicted, 2),
                    fixed(row.measurement.value, 2), signed_percent(row.error_pct),
                    cell(row.outcome.result == ResultState::wrong ? "wrong result: " + row.outcome.mismatch
                                                                  : row.outcome.bottleneck.binding));
  }
  if (!failures.empty())
    text +=
        "| failed | predicted | measured | error | what binds |\n|---|--:|--:|--:|---|\n" + failures + '\n';
  size_t broken = 0, left_out = 0;
  for (const NotRun& row : report.not_run) {
    if (row.is_failure) text += fmt::format("- `{}` broke: {}\n", row.id, row.reason);
    (row.is_failure ? broken : left_out) += 1;
  }
  return text + fmt::format("{}{} rows in {}, {} not run.\n", broken != 0 ? "\n" : "", report.rows.size(),
                            duration(report.wall_s), left_out + broken);
}

}  // namespace ptxwire::sim
