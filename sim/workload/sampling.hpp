// Long steady phases cut short: what a call of full size would take, from parts of it that were executed.
//
// A call of n tokens takes, to a good approximation,
//
//   T(n) = a + W(n) / R + c sqrt(n)
//
// where a is what launches, notify and barriers take, W(n) the payload that all GPUs send in it and R the
// rate at which it arrives while all of them are busy. The last term is what uneven progress costs: ranks and
// channels drift apart like sums of independent draws (the routing is one of them), and the call ends with
// the last. Three runs give the three unknowns: a call of very few tokens, a whole call of a sixth of the
// tokens (of a third where the exact run would have three calls or more), and the beginning of the call of
// full size, which is stopped when successive windows of it move the payload at the same rate.
#pragma once

#include "sim/workload/run.hpp"

namespace ptxwire::sim {

/// Payload that arrived over NVLink while a run is watched, in windows of equal payload. Exposed for its
/// test.
class SteadyRate {
 public:
  /// `total_bytes` is what the whole call moves; nothing counts before `settled_share` of it has arrived.
  explicit SteadyRate(uint64_t total_bytes, double settled_share = 0.04);

  /// Takes the state of the run; returns true once it has seen enough.
  bool observe(double now_us, uint64_t delivered_bytes);

  [[nodiscard]] double bytes_per_us() const;
  /// Standard error of the rate over its windows and disagreement of their two halves, the larger of them.
  [[nodiscard]] double error_pct() const;
  /// Share of the payload that had arrived when it was last told.
  [[nodiscard]] double share() const;
  /// Successive windows agreed; otherwise it gave up.
  [[nodiscard]] bool steady() const { return steady_; }

 private:
  struct Window {
    double us = 0;
    uint64_t bytes = 0;
  };
  [[nodiscard]] double rate(size_t first, size_t count) const;

  uint64_t total_bytes_, window_bytes_;
  double settled_share_;
  uint64_t window_begin_bytes_ = 0, last_bytes_ = 0;
  double window_begin_us_ = 0;
  bool started_ = false, steady_ = false;
  std::vector<Window> windows_;
};

/// Whether `scenario` can be sampled. Error: its family has no long steady phase that is known, or the call
/// is too short for one.
Expected<void> can_sample(const Scenario& scenario);

/// Runs parts of `scenario` and extrapolates. The result is marked as sampled, with its error; its verdict is
/// about the parts that ran to their end, and its waits and resources are those of the whole call of fewer
/// tokens.
Expected<ScenarioResult> run_sampled(const Scenario& scenario, const RunOptions& options = {});

}  // namespace ptxwire::sim
