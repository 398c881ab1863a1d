// Runs logical processes window by window on threads. A window is as long as the smallest message latency
// between processes (the lookahead), so no message can arrive inside the window that sends it. Messages are
// delivered at window ends in order of source and sequence: the result is the same for any number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "models/base/logical_process.hpp"

namespace ptxwire::sim {

/// Why a run ended.
enum class RunEnd : uint8_t { idle, stopped, out_of_time };

struct WindowRunnerOptions {
  models::Picoseconds lookahead{};
  models::Picoseconds max_time = models::kNever;
  uint32_t threads = 1;
  /// Asked at every window end, on the calling thread: true stops the run.
  std::function<bool(models::Picoseconds)> stop;
};

/// Handles events until none is left, `stop` says so, or the next event lies beyond max_time.
RunEnd run_windows(const std::vector<models::LogicalProcess*>& processes, const WindowRunnerOptions& options);

}  // namespace ptxwire::sim
