#include "sim/workload/steady_phase.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace ptxwire::sim {

namespace {

/// The steady phase, in shares of the payload. The first third and more is left out: caches fill, write-back
/// starts, and rings that all began at once spread over their chunks. The shortest ring ends after three
/// quarters.
constexpr double kEnd = 0.75, kLongest = 0.38;
constexpr double kAgreement = 0.05;
/// Lags are averages over some such share, or a period, up to here.
constexpr double kLagEnd = 0.80, kLagShare = 0.15;
/// One standard deviation of the rate over the rest of the call from that of the part, two of the tail, as
/// calls that ran exactly have them (docs/performance.md).
constexpr double kRateSpread = 0.025, kTailSpread = 0.25;

/// How many deviations the last of `count` independent rings is behind, in the mean (Cramer, Mathematical
/// Methods of Statistics, 28.6): 3.0 of 672.
double deviations_of_last(size_t count) {
  if (count < 3) return 0;
  const double root = std::sqrt(2 * std::log(static_cast<double>(count)));
  return root - (std::log(root * root / 2) + std::log(4 * std::numbers::pi)) / (2 * root);
}

double sum_of(const std::vector<uint32_t>& rows) { return std::accumulate(rows.begin(), rows.end(), 0.0); }

/// Rows of the largest ring beyond the mean.
double most_over_mean(const std::vector<uint32_t>& rows) {
  return *std::max_element(rows.begin(), rows.end()) - sum_of(rows) / static_cast<double>(rows.size());
}

}  // namespace

SteadyPhase::SteadyPhase(std::vector<uint32_t> rows, uint32_t chunk)
    : rows_(std::move(rows)), period_(kLongest), periods_(1) {
  const double mean = sum_of(rows_) / static_cast<double>(std::max<size_t>(1, rows_.size()));
  if (mean > 0) period_ = std::min(kLongest, chunk / mean);
  periods_ = static_cast<int>(kLongest / period_);
  if (periods_ > 1) periods_ -= periods_ % 2;  // two halves alike
}

void SteadyPhase::observe(double now_us, uint64_t payload_bytes, std::span<const uint32_t> produced) {
  points_.push_back(
      {now_us, static_cast<double>(payload_bytes), std::vector<uint32_t>(produced.begin(), produced.end())});
}

double SteadyPhase::time_of(double share) const {
  const double bytes = share * payload();
  const auto after = std::lower_bound(points_.begin(), points_.end(), bytes,
                                      [](const Point& point, double value) { return point.bytes < value; });
  if (after == points_.begin() || after == points_.end()) return points_.front().us;
  const Point& before = *(after - 1);
  return before.us + (after->us - before.us) * (bytes - before.bytes) / (after->bytes - before.bytes);
}

double SteadyPhase::rate(double from, double to) const {
  const double us = time_of(to) - time_of(from);
  return us > 0 ? (to - from) * payload() / us : 0;
}

double SteadyPhase::steady_rate() const { return rate(kEnd - periods_ * period_, kEnd); }

double SteadyPhase::halves_differ_by() const {
  const double half = periods_ * period_ / 2;
  return std::abs(rate(kEnd - 2 * half, kEnd - half) - rate(kEnd - half, kEnd)) / steady_rate();
}

/// Standard error over the periods, what the halves disagree by from their mean, or what calls differ by: the
/// largest of them.
double SteadyPhase::rate_error() const {
  double squares = 0;
  for (int i = 0; i < periods_; ++i)
    squares += std::pow(rate(kEnd - (i + 1) * period_, kEnd - i * period_) / steady_rate() - 1, 2);
  const double of_mean = periods_ > 1 ? std::sqrt(squares / (periods_ - 1) / periods_) : 0;
  return std::max({of_mean, halves_differ_by() / 2, kRateSpread});
}

SteadyPhase::Lags SteadyPhase::lags_at_end(double most_by_routing) const {
  std::vector<double> given(rows_.size(), 0.0);  // over the last periods in the mean
  double points = 0;
  const double begin = kLagEnd - std::max(1.0, std::floor(kLagShare / period_)) * period_;
  for (const Point& point : points_) {
    if (point.bytes < begin * payload() || point.bytes > kLagEnd * payload()) continue;
    ++points;
    for (size_t ring = 0; ring < given.size(); ++ring) given[ring] += point.produced[ring];
  }
  if (points == 0) return {};
  double most_left = 0, left = 0, running = 0, sum = 0, squares = 0;
  for (size_t ring = 0; ring < given.size(); ++ring) {
    given[ring] /= points;
    most_left = std::max(most_left, rows_[ring] - given[ring]);
    left += rows_[ring] - given[ring];
    if (given[ring] + 1 > rows_[ring]) continue;
    ++running;
    sum += given[ring];
    squares += given[ring] * given[ring];
  }
  const double to_end = 2 / (begin + kLagEnd);
  const double variance = running > 0 ? squares / running - (sum / running) * (sum / running) : 0;
  return {
      .most = std::max(0.0, most_left - left / static_cast<double>(given.size()) - most_by_routing) * to_end,
      .deviation = std::sqrt(std::max(0.0, variance)) * to_end};
}

LongerCall SteadyPhase::extrapolate(double end_us, double call_us,
                                    const std::vector<uint32_t>& longer_rows) const {
  if (points_.empty() || rows_.empty() || steady_rate() <= 0) return {.us = call_us, .error_pct = 100};
  const double ratio = sum_of(longer_rows) / sum_of(rows_);
  const double steady_us = (ratio - 1) * payload() / steady_rate();
  const double tail = std::max(0.0, end_us - time_of(kEnd) - (1 - kEnd) * payload() / steady_rate());
  const double most = most_over_mean(rows_), longer_most = most_over_mean(longer_rows);
  const Lags lags = lags_at_end(most);
  const double lag = lags.most;
  const double per_row = most + lag > 0 ? tail / (most + lag) : 0;
  // The last of them is that far behind by then, even if none of the part is. What it costs is as uncertain
  // as it is large: a ring that L2 has lost sight of takes three times as long for each row.
  const double drift = deviations_of_last(rows_.size()) * lags.deviation * ratio;
  const double reach = std::max(longer_most + lag * ratio, std::hypot(longer_most, drift));
  const double longer_tail = most + lag > 0 ? per_row * reach : tail;
  LongerCall result{.us = call_us + steady_us + longer_tail - tail,
                    .steady = halves_differ_by() <= kAgreement};
  const double error = std::hypot(2 * rate_error() * steady_us, kTailSpread * longer_tail, per_row * drift);
  result.error_pct = 100 * error / result.us;
  return result;
}

}  // namespace ptxwire::sim
