// `check`: predicted against measured, row by row.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/study/accuracy.hpp"
#include "sim/study/rank_order.hpp"
#include "sim/study/runner.hpp"
#include "sim/study/suite.hpp"

namespace ptxwire::sim {

struct CheckedRow {
  Measurement measurement;
  std::string scenario;               ///< that was run: the row's own, or what the suite has in its place
  std::vector<std::string> repeats;   ///< ids of rows that repeat the same measurement
  std::vector<std::string> settings;  ///< what the prediction ran with; of a search the best
  Outcome outcome;
  double predicted = 0;  ///< in the unit of the measurement
  double error_pct = 0;
  std::optional<double> max_error_pct;  ///< threshold, if the suite sets one
  std::string known_physics;            ///< suspected behind the error of a known miss
  bool from_cache = false;              ///< nothing was simulated for this row
  [[nodiscard]] bool failed()
      const;  ///< beyond the threshold, or the simulated kernels computed wrong values
};

struct NotRun {
  std::string id;
  std::string reason;
  bool is_failure = false;  ///< the suite asked for it and it broke, in contrast to: not in this version
};

/// A mean that the suite limits, over the rows that were run.
struct CheckedMean {
  std::string name;
  double max_mape_pct = 0;
  Accuracy accuracy;
  size_t planned = 0;  ///< rows that it is about, run or not
  [[nodiscard]] bool complete() const { return accuracy.rows == planned; }
  /// Judged only when complete: of some of the rows the mean is another.
  [[nodiscard]] bool failed() const { return complete() && accuracy.mape_pct > max_mape_pct; }
};

struct CheckReport {
  std::string suite;
  std::vector<CheckedRow> rows;
  std::vector<NotRun> not_run;
  std::map<std::string, Accuracy> families;
  std::map<Role, Accuracy> roles;
  std::vector<CheckedMean> means;
  Accuracy all;
  std::vector<KnobOrder> orders;  ///< rows that differ in one setting alone: is their order right?
  double wall_s = 0;
  [[nodiscard]] bool passed() const;
};

/// Where a check stands, for a progress line. Estimates come from the rows' cost_s, scaled by how long the
/// rows simulated so far really took.
struct CheckProgress {
  size_t row = 0, rows = 0;            ///< rows done, rows in all
  std::string id;                      ///< row being run
  std::optional<double> seconds_left;  ///< nothing is known before something was simulated
};

struct CheckOptions {
  uint32_t threads = 0;
  bool check_results = true;
  bool exact = false;     ///< nothing is sampled, whatever the suite says
  bool recall = false;    ///< the runner only knows what was run before: a row that it has not is no failure
  bool selected = false;  ///< the plan holds some rows of the suite only: means over it say nothing
  /// Called between rows and now and then within one; returning false stops the check with an Error.
  std::function<bool(const CheckProgress&)> progress;
};

/// Runs every planned row. A row that cannot run is listed in not_run with the reason; the others go on.
/// Error: stopped.
Expected<CheckReport> run_check(const Suite& suite, const Plan& plan, Runner& runner,
                                const CheckOptions& options);

/// The figure of an outcome that a row's metric names, in the row's unit. Error: no scenario gives it, or the
/// scenario gives it in a unit of another kind.
Expected<double> metric_value(const Outcome& outcome, const Measurement& row);

}  // namespace ptxwire::sim
