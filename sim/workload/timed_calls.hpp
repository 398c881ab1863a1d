// Runs the calls of a scenario back to back and says how long one takes.
#pragma once

#include <vector>

#include "sim/workload/expert_calls.hpp"
#include "sim/workload/run_parts.hpp"

namespace ptxwire::sim {

struct TimedCalls {
  std::vector<RankCall> first, last;  ///< calls of the run that holds the timed ones, per rank
  uint32_t calls = 0;                 ///< from first to last, both included
  RunsSoFar runs;                     ///< the last one holds the timed calls
};

Expected<TimedCalls> run_calls(ExpertCalls& host, const RunOptions& options);

/// Times, kernels and counts of what ran; `result` takes the report.
void fill_times(ScenarioResult& result, const ExpertCalls& host, TimedCalls timed);

}  // namespace ptxwire::sim
