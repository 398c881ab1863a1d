#include "sim/study/check.hpp"

#include <algorithm>
#include <cmath>

#include "support/stopwatch.hpp"

namespace ptxwire::sim {
namespace {

/// Seconds left from the estimates in the rows, corrected by what the simulated rows took.
class TimeLeft {
 public:
  explicit TimeLeft(const Plan& plan) {
    for (const PlannedRow& row : plan.rows) estimates_.push_back(estimate(row));
  }

  void row_done(size_t row, double seconds, bool from_cache) {
    if (!from_cache) {
      estimated_ += estimates_[row];
      taken_ += seconds;
    }
  }

  /// From the middle of `row`, of which `share` is done.
  [[nodiscard]] std::optional<double> left(size_t row, double share, double seconds_in_row) const {
    double estimated = estimated_, taken = taken_;
    if (estimated == 0) {
      if (share < 0.05) return std::nullopt;
      estimated = share * estimates_[row];
      taken = seconds_in_row;
    }
    double rest = (1 - share) * estimates_[row];
    for (size_t next = row + 1; next < estimates_.size(); ++next) rest += estimates_[next];
    return rest * taken / estimated;
  }

 private:
  static double estimate(const PlannedRow& row) {
    return row.measurement->cost_s.value_or(1) * static_cast<double>(row.candidates.size());
  }

  std::vector<double> estimates_;
  double estimated_ = 0, taken_ = 0;
};

/// Runs one check; holds what its steps share.
class Check {
 public:
  Check(const Suite& suite, const Plan& plan, Runner& runner, const CheckOptions& options)
      : suite_(suite), plan_(plan), runner_(runner), options_(options), time_left_(plan) {}

  Expected<CheckReport> run() {
    const Stopwatch watch;
    report_.suite = suite_.path;
    for (size_t row = 0; row < plan_.rows.size(); ++row) {
      const Stopwatch row_watch;
      run_row(row);
      if (stopped_) return Error{.message = "stopped"};
      const bool from_cache = !report_.rows.empty() && report_.rows.back().from_cache;
      time_left_.row_done(row, row_watch.seconds(), from_cache);
    }
    for (const ExcludedRow& row : plan_.not_run) {
      report_.not_run.push_back({row.measurement->id, row.reason, false});
    }
    summarise();
    report_.wall_s = watch.seconds();
    return std::move(report_);
  }

 private:
  void run_row(size_t row) {
    const PlannedRow& planned = plan_.rows[row];
    const Measurement& measurement = *planned.measurement;
    std::optional<CheckedRow> best;
    bool all_from_cache = true;
    for (size_t i = 0; i < planned.candidates.size(); ++i) {
      Expected<Outcome> outcome = run_candidate(row, i);
      if (stopped_) return;
      if (!outcome)
        return not_run(measurement, options_.recall ? outcome.error().message : outcome.error().to_string());
      const Expected<double> predicted = metric_value(*outcome, measurement);
      if (!predicted) return not_run(measurement, predicted.error().message);
      all_from_cache = all_from_cache && outcome->from_cache;
      if (best && best->outcome.time_us <= outcome->time_us) continue;
      best = CheckedRow{.measurement = measurement,
                        .scenario = planned.scenario,
                        .repeats = planned.repeats,
                        .settings = planned.candidates[i],
                        .outcome = *std::move(outcome),
                        .predicted = *predicted,
                        .error_pct = error_pct(*predicted, measurement.value),
                        .max_error_pct = suite_.max_error_pct(measurement.id)};
    }
    best->from_cache = all_from_cache;
    if (const KnownMiss* miss = suite_.known_miss(measurement.id)) best->known_physics = miss->physics;
    report_.rows.push_back(*std::move(best));
  }

  Expected<Outcome> run_candidate(size_t row, size_t candidate) {
    const PlannedRow& planned = plan_.rows[row];
    const Stopwatch watch;
    const double parts = static_cast<double>(planned.candidates.size());
    const auto progress = [&](double share) {
      const double row_share = (static_cast<double>(candidate) + std::clamp(share, 0.0, 1.0)) / parts;
      if (options_.progress &&
          !options_.progress({.row = row,
                              .rows = plan_.rows.size(),
                              .id = planned.measurement->id,
                              .seconds_left = time_left_.left(row, row_share, watch.seconds())})) {
        stopped_ = true;
      }
      return !stopped_;
    };
    if (!progress(0)) return Error{.message = "stopped"};
    const Job job{.scenario = planned.scenario,
                  .settings = planned.candidates[candidate],
                  .check_results = options_.check_results,
                  .sampling = planned.sample && !options_.exact ? Sampling::if_possible : Sampling::off};
    return runner_.run(job, {.threads = options_.threads, .progress = progress});
  }

  void not_run(const Measurement& measurement, std::string reason) {
    report_.not_run.push_back({measurement.id, std::move(reason), !options_.recall});
  }

  void summarise() {
    std::vector<std::pair<std::string, double>> by_family;
    std::vector<double> errors;
    std::vector<PredictedRow> predicted;
    for (const CheckedRow& row : report_.rows) {
      by_family.emplace_back(row.measurement.family, row.error_pct);
      errors.push_back(row.error_pct);
      predicted.push_back({&row.measurement, row.predicted});
    }
    report_.orders = knob_orders(predicted);
    report_.families = accuracy_by_family(by_family);
    report_.all = accuracy_of(errors);
    for (const Role role : {Role::fit, Role::test, Role::report})
      report_.roles[role] = accuracy_of(errors_of([&](const Measurement& row) { return row.role == role; }));
    if (!options_.selected) judge_means();
  }

  void judge_means() {
    for (const MeanThreshold& mean : suite_.mean_thresholds) {
      CheckedMean checked{.name = mean.name, .max_mape_pct = mean.max_mape_pct};
      checked.accuracy = accuracy_of(errors_of([&](const Measurement& row) { return mean.covers(row); }));
      for (const PlannedRow& row : plan_.rows) checked.planned += mean.covers(*row.measurement) ? 1 : 0;
      report_.means.push_back(std::move(checked));
    }
  }

  [[nodiscard]] std::vector<double> errors_of(const std::function<bool(const Measurement&)>& wanted) const {
    std::vector<double> errors;
    for (const CheckedRow& row : report_.rows)
      if (wanted(row.measurement)) errors.push_back(row.error_pct);
    return errors;
  }

  const Suite& suite_;
  const Plan& plan_;
  Runner& runner_;
  const CheckOptions& options_;
  TimeLeft time_left_;
  CheckReport report_;
  bool stopped_ = false;
};

}  // namespace

bool CheckedRow::failed() const {
  return outcome.result == ResultState::wrong || (max_error_pct && std::abs(error_pct) > *max_error_pct);
}

bool CheckReport::passed() const {
  return std::none_of(rows.begin(), rows.end(), [](const CheckedRow& row) { return row.failed(); }) &&
         std::none_of(means.begin(), means.end(), [](const CheckedMean& mean) { return mean.failed(); }) &&
         std::none_of(not_run.begin(), not_run.end(), [](const NotRun& row) { return row.is_failure; });
}

Expected<double> metric_value(const Outcome& outcome, const Measurement& row) {
  if (row.metric == "time") return outcome.time_us;
  if (row.metric == "logical_bandwidth" || row.metric == "rdma_logical_bandwidth")
    return outcome.logical_gb_per_s;
  if (row.metric == "microbenchmark" && !outcome.figures.empty())
    return figure_in_unit(outcome.figures.front(), row.unit);
  if (row.metric == "slowdown" && outcome.parts.size() > 1) return outcome.parts[1].slowdown();
  return Error{.message = "no scenario gives the metric '" + row.metric + "'"};
}

Expected<CheckReport> run_check(const Suite& suite, const Plan& plan, Runner& runner,
                                const CheckOptions& options) {
  return Check(suite, plan, runner, options).run();
}

}  // namespace ptxwire::sim
