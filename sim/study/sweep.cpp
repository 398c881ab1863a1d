#include "sim/study/sweep.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include "support/stopwatch.hpp"

namespace ptxwire::sim {
namespace {

constexpr std::chrono::milliseconds kTurn(5);

void work(SweepQueue& queue, Runner& runner) {
  const JobControl control{.threads = 1, .progress = [&](double) { return !queue.stopped(); }};
  while (const std::optional<size_t> point = queue.take()) {
    const Expected<SweepResult> result = run_point(runner, queue.job(*point), control);
    result ? queue.put(*result) : queue.give_up(result.error());
  }
}

}  // namespace

Expected<SweepResult> run_point(Runner& runner, const Job& job, const JobControl& control) {
  SweepResult result{.scenario = job.scenario, .settings = job.settings};
  bool stopped = false;
  JobControl watched = control;
  watched.progress = [&](double share) {
    stopped = stopped || (control.progress && !control.progress(share));
    return !stopped;
  };
  const Expected<std::string> key = runner.fingerprint(job);
  if (!key) {
    // No simulation has a name of its own here; the settings are refused before anything runs.
    result.error = key.error().message;
    return result;
  }
  result.key = *key;
  Expected<Outcome> outcome = runner.run(job, watched);
  if (stopped) return Error{.message = "stopped"};
  if (outcome) {
    result.outcome.emplace(*std::move(outcome));
  } else {
    result.error = outcome.error().message;
  }
  return result;
}

std::optional<size_t> SweepQueue::take() {
  const std::lock_guard lock(mutex_);
  if (stopped_ || next_ == pending_.size()) return std::nullopt;
  return pending_[next_++];
}

void SweepQueue::put(const SweepResult& result) {
  const std::lock_guard lock(mutex_);
  ++done_;
  if (result.key.empty()) return;
  if (const Expected<void> kept = store_.put(result); !kept) {
    problem_ = problem_ ? problem_ : kept.error();
    stopped_ = true;
  }
}

void SweepQueue::give_up(const Error& error) {
  const std::lock_guard lock(mutex_);
  problem_ = problem_ ? problem_ : error;
  stopped_ = true;
}

void SweepQueue::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
}

size_t SweepQueue::done() const {
  const std::lock_guard lock(mutex_);
  return done_;
}

size_t SweepQueue::taken() const {
  const std::lock_guard lock(mutex_);
  return next_;
}

bool SweepQueue::stopped() const {
  const std::lock_guard lock(mutex_);
  return stopped_;
}

std::optional<Error> SweepQueue::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

Expected<SweepReport> run_sweep(const SweepPlan& plan, SweepStore& store, const SweepOptions& options) {
  const Stopwatch watch;
  SweepReport report;
  report.results.resize(plan.points.size());
  const std::unique_ptr<Runner> namer = options.make_runner();
  std::vector<size_t> pending;
  std::vector<std::string> keys(plan.points.size());
  std::set<std::string> seen;
  for (size_t point = 0; point < plan.points.size(); ++point) {
    const Expected<std::string> key = namer->fingerprint(plan.points[point]);
    if (!key) {
      report.results[point] = SweepResult{.scenario = plan.points[point].scenario,
                                          .settings = plan.points[point].settings,
                                          .error = key.error().message};
      continue;
    }
    keys[point] = *key;
    Expected<std::optional<SweepResult>> known = store.find(*key);
    if (!known) return known.error();
    if (*known) {
      report.results[point] = **std::move(known);
      ++report.from_file;
    } else if (seen.insert(*key).second) {  // another way to write the same point is not run twice
      pending.push_back(point);
    }
  }
  SweepQueue queue(plan, store, std::move(pending));
  const size_t cores = options.jobs != 0 ? options.jobs : std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  std::atomic<size_t> working = 0;
  for (size_t i = 0; i < std::min(cores, queue.pending()); ++i) {
    ++working;
    threads.emplace_back([&] {
      const std::unique_ptr<Runner> runner = options.make_runner();
      work(queue, *runner);
      --working;
    });
  }
  while (true) {
    const bool others = options.serve && options.serve(queue);
    if (options.progress && !queue.stopped() && !options.progress(queue)) queue.stop();
    if (working == 0 && !others) break;
    std::this_thread::sleep_for(kTurn);
  }
  for (std::thread& thread : threads) thread.join();
  if (const std::optional<Error> problem = queue.problem()) return *problem;
  if (queue.stopped()) return Error{.message = "stopped"};
  for (size_t point = 0; point < plan.points.size(); ++point) {
    if (report.results[point] || keys[point].empty()) continue;
    Expected<std::optional<SweepResult>> known = store.find(keys[point]);
    if (!known) return known.error();
    report.results[point] = *std::move(known);
  }
  report.wall_s = watch.seconds();
  return report;
}

}  // namespace ptxwire::sim
