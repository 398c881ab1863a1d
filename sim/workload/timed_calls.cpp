#include "sim/workload/timed_calls.hpp"

#include <utility>

#include "sim/workload/faults.hpp"

namespace ptxwire::sim {

Expected<TimedCalls> run_calls(ExpertCalls& host, const RunOptions& options) {
  const Scenario& s = host.scenario();
  TimedCalls timed;
  const bool alone = times_last_call_alone(s);
  for (uint32_t call = 0; call < s.calls; ++call) {
    if (alone && call + 1 == s.calls) {
      if (call > 0)
        if (const auto done = timed.runs.run_alone(host.cluster(), options); !done) return done.error();
      timed.calls = 0;
      if (s.flush_l2) host.cluster().flush_l2();
      if (const auto late = delay_late_ranks(s, host.cluster()); !late) return late.error();
      if (const auto delayed = host.enqueue_delay(); !delayed) return delayed.error();
    }
    auto enqueued = host.enqueue_call(call);
    if (!enqueued) return enqueued.error();
    timed.last = std::move(*enqueued);
    if (timed.calls++ == 0) timed.first = timed.last;
  }
  if (const auto done = timed.runs.run(host.cluster(), options); !done) return done.error();
  return timed;
}

namespace {

Picoseconds end_of(const Cluster& cluster, const std::vector<RankCall>& call) {
  Picoseconds end{};
  for (const RankCall& rank : call) end = max(end, cluster.event_time(rank.end));
  return end;
}

/// From the end of the first call to the end of the last, where several ran back to back. A single one begins
/// with all ranks at the same point.
double time_per_call_us(const Cluster& cluster, const TimedCalls& timed) {
  const Picoseconds end = end_of(cluster, timed.last);
  if (timed.calls > 1) return (end - end_of(cluster, timed.first)).us() / (timed.calls - 1);
  Picoseconds start = end;
  for (const RankCall& rank : timed.last) start = min(start, cluster.event_time(rank.start));
  return (end - start).us();
}

}  // namespace

void fill_times(ScenarioResult& result, const ExpertCalls& host, TimedCalls timed) {
  const Scenario& s = host.scenario();
  const Cluster& cluster = host.cluster();
  const RankCall& mine = timed.last.front();
  result.time_us = time_per_call_us(cluster, timed);
  result.time_us_rank0 = (cluster.event_time(mine.end) - cluster.event_time(mine.start)).us();
  std::vector<LaunchId> notifies, mains;
  for (const RankCall& call : timed.last) {
    notifies.push_back(call.notify);
    mains.push_back(call.main);
  }
  if (!(s.notify == NotifyMode::full && s.calls == 1))
    result.kernels.push_back(kernel_time(timed.runs.report, notifies));
  result.kernels.push_back(kernel_time(timed.runs.report, mains));
  result.warp_instructions = timed.runs.warp_instructions;
  result.events = timed.runs.events;
  result.timed = std::move(timed.runs.report);
}

}  // namespace ptxwire::sim
