// Runs the calls of an intranode scenario and says how long one takes.
#include "sim/workload/intranode_run.hpp"

#include <algorithm>

#include "sim/workload/expectation.hpp"
#include "sim/workload/intranode.hpp"
#include "sim/workload/run_parts.hpp"

namespace ptxwire::sim {

RoutingShape routing_shape(const Scenario& s) {
  return {.ranks = s.ranks,
          .tokens = s.tokens,
          .topk = s.topk,
          .experts = s.experts,
          .nodes = 1,
          .pattern = s.routing,
          .seed = s.seed};
}

uint64_t busiest_rows(const Routing& routing) {
  const uint32_t ranks = routing.shape().ranks;
  uint64_t busiest = 0;
  for (uint32_t a = 0; a < ranks; ++a) {
    uint64_t out = 0, in = 0;
    for (uint32_t b = 0; b < ranks; ++b)
      if (a != b) {
        out += routing.count(a, b);
        in += routing.count(b, a);
      }
    busiest = std::max({busiest, out, in});
  }
  return busiest;
}

void fill_rates(ScenarioResult& result, const Scenario& s, const Routing& routing,
                double link_bytes_per_second) {
  result.logical_bytes = routing.received(0) * s.row_bytes();
  result.wire_bytes = (routing.received(0) - routing.count(0, 0)) * s.row_bytes();
  const auto gb_per_s = [&](uint64_t bytes) {
    return result.time_us > 0 ? static_cast<double>(bytes) / result.time_us * 1e-3 : 0.0;
  };
  result.logical_gb_per_s = gb_per_s(result.logical_bytes);
  result.wire_gb_per_s = gb_per_s(result.wire_bytes);
  result.bound_us = static_cast<double>(busiest_rows(routing) * s.row_bytes()) / link_bytes_per_second * 1e6;
  result.bound_share = result.time_us > 0 ? result.bound_us / result.time_us : 0;
}

namespace {

struct TimedRun {
  std::vector<RankCall> first, last;           ///< calls of the run that holds the timed ones, per rank
  uint32_t calls = 0;                          ///< from first to last, both included
  RunReport report;                            ///< of the run that holds it
  uint64_t warp_instructions = 0, events = 0;  ///< of all runs
};

Expected<TimedRun> run_calls(IntranodeNode& node, const RunOptions& options) {
  const Scenario& s = node.scenario();
  TimedRun timed;
  RunOptions by_itself = options;
  by_itself.companion = nullptr;
  const auto run = [&](const RunOptions& how) -> Expected<void> {
    auto report = run_beside(node.cluster(), how);
    if (!report) return report.error();
    timed.report = std::move(*report);
    timed.warp_instructions += timed.report.warp_instructions;
    timed.events += timed.report.events;
    return {};
  };
  for (uint32_t call = 0; call < s.calls; ++call) {
    if (s.flush_l2 && call + 1 == s.calls) {
      if (call > 0)
        if (const auto done = run(by_itself); !done) return done.error();
      timed.calls = 0;
      node.cluster().flush_l2();
      if (const auto delayed = node.enqueue_delay(); !delayed) return delayed.error();
    }
    auto enqueued = node.enqueue_call(call);
    if (!enqueued) return enqueued.error();
    timed.last = std::move(*enqueued);
    if (timed.calls++ == 0) timed.first = timed.last;
  }
  if (const auto done = run(options); !done) return done.error();
  return timed;
}

Picoseconds end_of(const Cluster& cluster, const std::vector<RankCall>& call) {
  Picoseconds end{};
  for (const RankCall& rank : call) end = max(end, cluster.event_time(rank.end));
  return end;
}

/// From the end of the first call to the end of the last, where several ran back to back. A single one begins
/// with all ranks at the same point.
double time_per_call_us(const Cluster& cluster, const TimedRun& timed) {
  const Picoseconds end = end_of(cluster, timed.last);
  if (timed.calls > 1) return (end - end_of(cluster, timed.first)).us() / (timed.calls - 1);
  Picoseconds start = end;
  for (const RankCall& rank : timed.last) start = min(start, cluster.event_time(rank.start));
  return (end - start).us();
}

void fill_times(ScenarioResult& result, const IntranodeNode& node, TimedRun timed) {
  const Scenario& s = node.scenario();
  const Cluster& cluster = node.cluster();
  const RankCall& mine = timed.last.front();
  result.time_us = time_per_call_us(cluster, timed);
  result.time_us_rank0 = (cluster.event_time(mine.end) - cluster.event_time(mine.start)).us();
  std::vector<LaunchId> notifies, mains;
  for (const RankCall& call : timed.last) {
    notifies.push_back(call.notify);
    mains.push_back(call.main);
  }
  if (!(s.notify == NotifyMode::full && s.calls == 1))
    result.kernels.push_back(kernel_time(timed.report, notifies));
  result.kernels.push_back(kernel_time(timed.report, mains));

  if (s.ptx.empty())
    result.cta_roles = {"senders", "receivers"};  // kernels/src: the even CTA of a channel sends

  const models::NvlinkParameters& nvlink = cluster.machine().nvlink;
  fill_rates(result, s, node.routing(), nvlink.links_per_gpu * nvlink.link_bytes_per_second);
  result.warp_instructions = timed.warp_instructions;
  result.events = timed.events;
  result.timed = std::move(timed.report);
}

}  // namespace

Expected<ScenarioResult> run_intranode(const Scenario& scenario, const models::Machine& machine,
                                       const RunOptions& options) {
  // Rows that came in and went out.
  const uint64_t bytes = 2 * uint64_t{scenario.tokens} * scenario.row_bytes();
  const std::string what = "'tokens' is " + std::to_string(scenario.tokens) + ": input and output";
  if (const auto fits = check_fits_gpu(scenario, machine, bytes, what); !fits) return fits.error();
  auto cluster = Cluster::create(machine, scenario.ranks);
  if (!cluster) return cluster.error();
  const Routing routing(routing_shape(scenario));
  const TestData data(scenario.seed);
  auto node = IntranodeNode::create(**cluster, scenario, routing, data);
  if (!node) return node.error();
  auto timed = run_calls(**node, options);
  if (!timed) return timed.error();

  ScenarioResult result;
  fill_times(result, **node, std::move(*timed));
  if (options.check_results) {
    auto mismatch = scenario.kernel == KernelFamily::intranode_dispatch ? check_dispatch(**node, data)
                                                                        : check_combine(**node, data);
    if (!mismatch) return mismatch.error();
    judge(result, *std::move(mismatch));
  }
  return result;
}

}  // namespace ptxwire::sim
