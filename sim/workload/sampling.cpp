#include "sim/workload/sampling.hpp"

#include <algorithm>
#include <cmath>

#include "sim/workload/intranode_run.hpp"
#include "sim/workload/routing_file.hpp"
#include "support/stopwatch.hpp"

namespace ptxwire::sim {

namespace {

/// Windows of this share of the payload, so that the pipelines' filling spans several.
constexpr uint64_t kWindows = 100;
/// A rate counts as steady when the mean of this many windows and of as many before them differ by less than
/// kAgreement.
constexpr size_t kCompared = 7;
constexpr double kAgreement = 0.02;
/// Share of the payload after which an unsteady run is given up, counted from where it may settle.
constexpr double kPatience = 0.20;

/// Tokens of the shortest call.
constexpr uint32_t kFewestTokens = 32;
/// By how much the whole shorter call is shorter than the full one. What is missed in drift grows with it;
/// what it costs is to be a small part of the calls of the exact run.
uint32_t shortening(uint32_t calls) { return calls >= 3 ? 3 : 6; }
/// Below this a call is too short to have a steady phase, and cheap.
constexpr uint32_t kLeastTokens = 1024;

uint64_t payload_bytes(const Scenario& scenario, const Routing& routing) {
  uint64_t rows = 0;
  for (uint32_t a = 0; a < scenario.ranks; ++a)
    for (uint32_t b = 0; b < scenario.ranks; ++b)
      if (a != b) rows += routing.count(a, b);
  return rows * scenario.row_bytes();
}

/// Pipelines fill first; and senders do not wait for receivers before the rings have turned once. Rings that
/// turn three times at most give a call no long phase after that.
double settled_share(const Scenario& scenario, const Routing& routing) {
  constexpr double kPipelines = 0.04, kThirdTurn = 1.0 / 3;
  const auto rings = static_cast<double>(uint64_t{scenario.ranks} * scenario.ranks * scenario.channels());
  uint64_t rows = 0;
  for (uint32_t rank = 0; rank < scenario.ranks; ++rank) rows += routing.received(rank);
  const double turn = scenario.ring_slots * rings / static_cast<double>(std::max<uint64_t>(1, rows));
  return turn < kThirdTurn ? std::max(turn, kPipelines) : kPipelines;
}

struct Part {
  uint32_t tokens = 0;
  double us = 0, bytes = 0;
};

/// The model of the header, solved and put together for `tokens`.
struct Extrapolation {
  double us = 0;
  double drift_us = 0;   ///< the last term
  double steady_us = 0;  ///< the middle term, beyond the shorter call
};

Extrapolation extrapolate(const Part& tiny, const Part& shorter, double bytes_per_us, uint32_t tokens,
                          double bytes) {
  const auto roots = [](uint32_t larger, uint32_t smaller) {
    return std::sqrt(static_cast<double>(larger)) - std::sqrt(static_cast<double>(smaller));
  };
  const double drift_per_root = (shorter.us - tiny.us - (shorter.bytes - tiny.bytes) / bytes_per_us) /
                                roots(shorter.tokens, tiny.tokens);
  Extrapolation result;
  result.drift_us = drift_per_root * roots(tokens, 0);
  result.steady_us = (bytes - shorter.bytes) / bytes_per_us;
  result.us = shorter.us + result.steady_us + drift_per_root * roots(tokens, shorter.tokens);
  return result;
}

double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

}  // namespace

SteadyRate::SteadyRate(uint64_t total_bytes, double settled_share)
    : total_bytes_(total_bytes),
      window_bytes_(std::max<uint64_t>(1, total_bytes / kWindows)),
      settled_share_(settled_share) {}

bool SteadyRate::observe(double now_us, uint64_t delivered_bytes) {
  last_bytes_ = delivered_bytes;
  if (!started_) {
    if (share() >= settled_share_) {
      started_ = true;
      window_begin_bytes_ = delivered_bytes;
      window_begin_us_ = now_us;
    }
    return false;
  }
  if (delivered_bytes - window_begin_bytes_ < window_bytes_) return false;
  windows_.push_back({now_us - window_begin_us_, delivered_bytes - window_begin_bytes_});
  window_begin_us_ = now_us;
  window_begin_bytes_ = delivered_bytes;
  if (windows_.size() < 2 * kCompared) return false;
  const double newer = rate(windows_.size() - kCompared, kCompared);
  const double older = rate(windows_.size() - 2 * kCompared, kCompared);
  steady_ = std::abs(newer - older) <= kAgreement * newer;
  return steady_ || share() >= settled_share_ + kPatience;
}

double SteadyRate::rate(size_t first, size_t count) const {
  double us = 0, bytes = 0;
  for (size_t i = first; i < first + count; ++i) {
    us += windows_[i].us;
    bytes += static_cast<double>(windows_[i].bytes);
  }
  return us > 0 ? bytes / us : 0;
}

double SteadyRate::bytes_per_us() const {
  const size_t count = std::min(windows_.size(), 2 * kCompared);
  return rate(windows_.size() - count, count);
}

double SteadyRate::error_pct() const {
  const size_t count = std::min(windows_.size(), 2 * kCompared);
  if (count < 2) return 100;
  const double mean = bytes_per_us();
  const size_t first = windows_.size() - count;
  double squares = 0;
  for (size_t i = first; i < windows_.size(); ++i) squares += std::pow(rate(i, 1) / mean - 1, 2);
  const double standard_error =
      std::sqrt(squares / static_cast<double>(count - 1) / static_cast<double>(count));
  const double halves =
      std::abs(rate(first, count / 2) - rate(first + count / 2, count - count / 2)) / (2 * mean);
  return 100 * std::max(standard_error, halves);
}

double SteadyRate::share() const {
  return total_bytes_ != 0 ? static_cast<double>(last_bytes_) / static_cast<double>(total_bytes_) : 1;
}

Expected<void> can_sample(const Scenario& scenario) {
  const bool intranode = scenario.kernel == KernelFamily::intranode_dispatch ||
                         scenario.kernel == KernelFamily::intranode_combine;
  if (!intranode)
    return Error{.message = "this kernel family cannot be sampled",
                 .path = scenario.path,
                 .hint = "intranode dispatch and combine have a long steady phase; run this one exactly"};
  if (scenario.tokens < kLeastTokens)
    return Error{.message = "'tokens' is " + std::to_string(scenario.tokens) +
                            ": too few to sample, expected " + std::to_string(kLeastTokens) + " or more",
                 .path = scenario.path,
                 .hint = "run it exactly: it is short"};
  if (scenario.ranks < 2)
    return Error{.message = "one rank sends nothing over NVLink: nothing to sample", .path = scenario.path};
  return {};
}

Expected<ScenarioResult> run_sampled(const Scenario& scenario, const RunOptions& options) {
  const Stopwatch watch;
  if (const auto possible = can_sample(scenario); !possible) return possible.error();
  const auto with = [&scenario](uint32_t tokens, uint32_t calls) {
    Scenario part = scenario;
    part.tokens = tokens;
    part.calls = calls;
    return part;
  };
  // What launches cost is hidden behind earlier calls where there are some, so the shortest run keeps its
  // calls; the others differ from it by a call's own work only.
  const Scenario few = with(kFewestTokens, scenario.calls), few_once = with(kFewestTokens, 1),
                 fewer = with(scenario.tokens / shortening(scenario.calls), 1),
                 full = with(scenario.tokens, 1);
  const auto routing = scenario_routing(full, routing_shape(full)),
             shorter_routing = scenario_routing(fewer, routing_shape(fewer)),
             tiny_routing = scenario_routing(few, routing_shape(few));
  for (const auto* drawn : {&routing, &shorter_routing, &tiny_routing})
    if (!*drawn) return drawn->error();
  const uint64_t bytes = payload_bytes(full, *routing);
  if (bytes == 0)
    return Error{.message = "this routing sends nothing over NVLink: nothing to sample",
                 .path = scenario.path};
  const auto steady = run_scenario(few, options);
  if (!steady) return steady.error();
  auto result = run_scenario(fewer, options);
  if (!result) return result;
  Part tiny{few.tokens, steady->time_us, 0}, shorter{fewer.tokens, result->time_us, 0};
  uint64_t instructions = steady->warp_instructions + result->warp_instructions;
  uint64_t events = steady->events + result->events;
  if (scenario.calls > 1) {
    const auto once = run_scenario(few_once, options);
    if (!once) return once.error();
    shorter.us += tiny.us - once->time_us;
    instructions += once->warp_instructions;
    events += once->events;
  }
  tiny.bytes = static_cast<double>(payload_bytes(few, *tiny_routing));
  shorter.bytes = static_cast<double>(payload_bytes(fewer, *shorter_routing));
  SteadyRate rate(bytes, settled_share(full, *routing));
  bool enough = false;
  RunOptions watched = options;
  watched.check_results = false;
  watched.progress = [&](const RunProgress& state) {
    enough = rate.observe(state.now.us(), state.nvlink_payload_bytes);
    return !enough && (!options.progress || options.progress(state));
  };
  const auto start = run_scenario(full, watched);
  if (!start && !enough) return start.error();

  const Extrapolation whole =
      extrapolate(tiny, shorter, rate.bytes_per_us(), full.tokens, static_cast<double>(bytes));
  // Two standard errors of each. Calls of one size differ by about half of what drift costs them in the mean,
  // as the largest of several random sums does.
  const double rate_error = 2 * rate.error_pct() * whole.steady_us / whole.us;
  const double drift_error = percent(std::abs(whole.drift_us), whole.us);
  result->time_us = result->time_us_rank0 = whole.us;
  result->sampled = Sampled{.error_pct = std::hypot(rate_error, drift_error),
                            .executed_share = rate.share(),
                            .steady = rate.steady()};
  const double links =
      static_cast<double>(busiest_rows(*shorter_routing) * fewer.row_bytes()) / result->bound_us * 1e6;
  fill_rates(*result, full, *routing, links);
  result->warp_instructions = instructions;
  result->events = events;
  if (steady->result == ResultState::wrong) {
    result->result = steady->result;
    result->first_mismatch = steady->first_mismatch;
  }
  result->wall_s = watch.seconds();
  return result;
}

}  // namespace ptxwire::sim
