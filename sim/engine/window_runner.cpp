#include "sim/engine/window_runner.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>

namespace ptxwire::sim {
namespace {

using models::LogicalProcess;
using models::Picoseconds;

/// Windows are some microseconds of host time long: spin first, then sleep until woken, since whoever is
/// waited for may need this very core.
class SpinBarrier {
 public:
  explicit SpinBarrier(uint32_t parties) : parties_(parties) {}
  void arrive_and_wait() {
    const uint32_t phase = phase_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == parties_) {
      arrived_.store(0, std::memory_order_relaxed);
      phase_.store(phase + 1, std::memory_order_release);
      phase_.notify_all();
      return;
    }
    for (uint32_t spins = 0; spins < kSpins; ++spins)
      if (phase_.load(std::memory_order_acquire) != phase) return;
    phase_.wait(phase, std::memory_order_acquire);
  }

 private:
  static constexpr uint32_t kSpins = 20000;  ///< about 10 us
  const uint32_t parties_;
  std::atomic<uint32_t> arrived_{0};
  std::atomic<uint32_t> phase_{0};
};

class Runner {
 public:
  Runner(const std::vector<LogicalProcess*>& processes, const WindowRunnerOptions& options)
      : processes_(processes),
        options_(options),
        threads_(std::clamp<uint32_t>(options.threads, 1, static_cast<uint32_t>(processes.size()))),
        barrier_(threads_) {}

  RunEnd run() {
    std::vector<std::thread> helpers;
    for (uint32_t t = 1; t < threads_; ++t) helpers.emplace_back([this, t] { work(t); });
    work(0);
    for (std::thread& helper : helpers) helper.join();
    if (failure_) std::rethrow_exception(failure_);
    return end_;
  }

 private:
  // Thread 0 plans each window between two barriers; all run their processes, then all take their messages.
  void work(uint32_t thread) {
    for (;;) {
      if (thread == 0) plan();
      barrier_.arrive_and_wait();
      if (done_) return;
      run(thread, threads_);
      barrier_.arrive_and_wait();
      deliver(thread, threads_);
      barrier_.arrive_and_wait();
      if (thread == 0) clear();
    }
  }

  // Windows in which only one process has anything to do are run here and now: others have nothing to wait
  // for.
  void plan() {
    next_window();
    while (!done_ && threads_ > 1 && lonely()) {
      run(0, 1);
      deliver(0, 1);
      clear();
      next_window();
    }
  }

  [[nodiscard]] bool lonely() const {
    return std::count_if(processes_.begin(), processes_.end(), [&](const LogicalProcess* process) {
             return process->next_time() < window_end_;
           }) <= 1;
  }

  /// Every `step`-th process from `first` on.
  void run(uint32_t first, uint32_t step) {
    for (size_t i = first; i < processes_.size(); i += step) run_one(*processes_[i], first);
  }

  void clear() {
    for (LogicalProcess* process : processes_) process->outbox().clear();
  }

  void run_one(LogicalProcess& process, uint32_t thread) {
    try {
      process.run_until(window_end_);
    } catch (...) {
      if (thread == 0 || !failed_.exchange(true)) failure_ = std::current_exception();
      failed_ = true;
    }
  }

  void next_window() {
    Picoseconds next = models::kNever;
    for (const LogicalProcess* process : processes_) next = models::min(next, process->next_time());
    if (failed_ || next == models::kNever) {
      end_ = RunEnd::idle;
      done_ = true;
    } else if (options_.stop && options_.stop(next)) {
      end_ = RunEnd::stopped;
      done_ = true;
    } else if (next > options_.max_time) {
      end_ = RunEnd::out_of_time;
      done_ = true;
    } else {
      window_end_ = next + options_.lookahead;
    }
  }

  // Every thread reads all outboxes and takes what is for its own processes, in source order.
  void deliver(uint32_t first, uint32_t step) {
    for (const LogicalProcess* source : processes_)
      for (const LogicalProcess::Message& message : const_cast<LogicalProcess*>(source)->outbox())
        if (message.destination->id() % step == first) {
          models::prefetch_lines(reinterpret_cast<const void*>(message.argument),
                                 1);  // often what it is about
          message.destination->at(message.arrival, *message.handler, message.argument);
        }
  }

  const std::vector<LogicalProcess*>& processes_;
  const WindowRunnerOptions& options_;
  const uint32_t threads_;
  SpinBarrier barrier_;
  Picoseconds window_end_{};
  RunEnd end_ = RunEnd::idle;
  bool done_ = false;
  std::atomic<bool> failed_{false};
  std::exception_ptr failure_;
};

}  // namespace

RunEnd run_windows(const std::vector<LogicalProcess*>& processes, const WindowRunnerOptions& options) {
  return Runner(processes, options).run();
}

}  // namespace ptxwire::sim
