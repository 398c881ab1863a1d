// `sweep`: many points, on all cores or many machines, resumable.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "sim/study/sweep_plan.hpp"
#include "sim/study/sweep_store.hpp"

namespace ptxwire::sim {

/// Runs one point. A failure that another try would repeat (a deadlock, settings that exclude each other) is
/// a result; only being stopped is an Error.
Expected<SweepResult> run_point(Runner& runner, const Job& job, const JobControl& control);

/// Hands out points and keeps what comes back. For any number of threads, and for other processes through one
/// of them.
class SweepQueue {
 public:
  /// All must outlive this. `pending` are indices into the points of the plan.
  SweepQueue(const SweepPlan& plan, SweepStore& store, std::vector<size_t> pending)
      : plan_(plan), store_(store), pending_(std::move(pending)) {}

  /// The next point to run; nothing when all are handed out, or after stop().
  std::optional<size_t> take();
  /// Stores a result. A store that fails stops the sweep; problem() then says why.
  void put(const SweepResult& result);
  /// A point came back without a result.
  void give_up(const Error& error);
  void stop();

  [[nodiscard]] size_t done() const;
  [[nodiscard]] size_t taken() const;
  [[nodiscard]] size_t pending() const { return pending_.size(); }
  [[nodiscard]] const Job& job(size_t point) const { return plan_.points[point]; }
  [[nodiscard]] bool stopped() const;
  [[nodiscard]] std::optional<Error> problem() const;

 private:
  const SweepPlan& plan_;
  SweepStore& store_;
  const std::vector<size_t> pending_;
  mutable std::mutex mutex_;
  size_t next_ = 0, done_ = 0;
  bool stopped_ = false;
  std::optional<Error> problem_;
};

struct SweepOptions {
  uint32_t jobs = 0;  ///< points at a time, one thread each; 0: one per core
  bool check_results = true;
  /// Makes a runner for each thread.
  std::function<std::unique_ptr<Runner>()> make_runner;
  /// Called some times a second; returning false stops the sweep.
  std::function<bool(const SweepQueue&)> progress;
  /// Called in turn with it: serves other processes. Returns whether some of them are still at work.
  std::function<bool(SweepQueue&)> serve;
};

struct SweepReport {
  std::vector<std::optional<SweepResult>> results;  ///< by point of the plan
  size_t from_file = 0;                             ///< that were there before
  double wall_s = 0;
};

/// Runs the points that the store does not have. Errors: stopped; the store cannot be read or written.
Expected<SweepReport> run_sweep(const SweepPlan& plan, SweepStore& store, const SweepOptions& options);

}  // namespace ptxwire::sim
