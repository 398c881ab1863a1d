#include "sim/workload/low_latency_run.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "models/fabric/network_topology.hpp"
#include "sim/workload/faults.hpp"
#include "sim/workload/low_latency.hpp"
#include "sim/workload/low_latency_expectation.hpp"
#include "sim/workload/network.hpp"
#include "sim/workload/routing_file.hpp"
#include "sim/workload/run_parts.hpp"

namespace ptxwire::sim {

namespace {

using Pair = std::vector<LowLatencyCall>;  ///< per rank

struct TimedPairs {
  std::vector<Pair> pairs;  ///< that count
  RunsSoFar runs;           ///< the last one holds them
};

Expected<TimedPairs> run_pairs(LowLatencyRun& job, const RunOptions& options) {
  const Scenario& s = job.scenario();
  TimedPairs timed;
  const bool alone = times_last_call_alone(s);
  if (const auto delayed = job.enqueue_delay(s.calls); !delayed) return delayed.error();
  for (uint32_t call = 0; call < s.calls; ++call) {
    if (alone && call + 1 == s.calls) {
      if (call > 0) {
        if (const auto done = timed.runs.run_alone(job.cluster(), options); !done) return done.error();
        timed.pairs.clear();
        if (s.flush_l2) job.cluster().flush_l2();
        if (const auto delayed = job.enqueue_delay(1); !delayed) return delayed.error();
      }
      if (const auto late = delay_late_ranks(s, job.cluster()); !late) return late.error();
    }
    auto enqueued = job.enqueue_pair();
    if (!enqueued) return enqueued.error();
    timed.pairs.push_back(std::move(*enqueued));
  }
  if (const auto done = timed.runs.run(job.cluster(), options); !done) return done.error();
  if (timed.pairs.size() > 1) timed.pairs.erase(timed.pairs.begin());
  return timed;
}

/// Duration of the kernels of one role: of a rank all phases of a pair together.
class Durations {
 public:
  explicit Durations(const RunReport& report) {
    for (const LaunchReport& launch : report.launches)
      us_[launch.id] = (launch.finished - launch.started).us();
  }
  [[nodiscard]] double of(const std::vector<LaunchId>& launches) const {
    double us = 0;
    for (const LaunchId id : launches) us += us_.at(id);
    return us;
  }
  [[nodiscard]] double of(LaunchId launch) const { return us_.at(launch); }

 private:
  std::map<LaunchId, double> us_;
};

const std::vector<LaunchId>& launches_of(const LowLatencyCall& call, bool dispatch) {
  return dispatch ? call.dispatch : call.combine;
}

/// One entry per launch of the last pair: a kernel, or its send and receive phases.
void append_kernels(ScenarioResult& result, const Durations& durations, const Pair& pair, bool dispatch,
                    PhaseMode phases) {
  const std::string word = dispatch ? "dispatch" : "combine";
  for (size_t i = 0; i < launches_of(pair.front(), dispatch).size(); ++i) {
    KernelTime time;
    time.role = phases == PhaseMode::together ? word : word + (i == 0 ? ", send" : ", receive");
    for (const LowLatencyCall& call : pair)
      time.max_us = std::max(time.max_us, durations.of(launches_of(call, dispatch)[i]));
    time.rank0_us = durations.of(launches_of(pair.front(), dispatch)[i]);
    result.kernels.push_back(std::move(time));
  }
}

/// Messages of one rank: to itself, to its node, to other nodes; sent or received.
struct Traffic {
  uint64_t own = 0, node = 0, others = 0;
};

Traffic selections(const Scenario& s, const Routing& routing, uint32_t rank) {
  Traffic traffic;
  const uint32_t local = s.experts / s.ranks;
  for (const int64_t expert : routing.experts(rank)) {
    if (expert < 0) continue;
    const auto owner = static_cast<uint32_t>(expert) / local;
    (owner == rank                                 ? traffic.own
     : owner / kGpusPerNode == rank / kGpusPerNode ? traffic.node
                                                   : traffic.others) += 1;
  }
  return traffic;
}

/// Published bandwidths count selections of a rank times message (dispatch) or row (combine).
void fill_rates(ScenarioResult& result, const LowLatencyRun& job, bool dispatch,
                const models::NetworkTopology* network) {
  const Scenario& s = job.scenario();
  const models::Machine& machine = job.cluster().machine();
  const uint64_t bytes = dispatch ? dispatch_message_bytes(s) : combine_row_bytes(s);
  const bool nic_alone = s.revision == KernelRevision::a;
  const double nvlink = machine.nvlink.links_per_gpu * machine.nvlink.link_bytes_per_second;
  double seconds_per_byte = 0;
  for (uint32_t rank = 0; rank < s.ranks; ++rank) {
    const Traffic sent = selections(s, job.routing(), rank);
    const uint64_t by_nic = sent.others + (nic_alone ? sent.node : 0), by_nvlink = nic_alone ? 0 : sent.node;
    seconds_per_byte = std::max(seconds_per_byte, static_cast<double>(by_nvlink) / nvlink);
    if (network != nullptr)
      seconds_per_byte =
          std::max(seconds_per_byte, static_cast<double>(by_nic) / nic_bytes_per_second(*network, rank));
    if (rank != 0) continue;
    result.logical_bytes = (sent.own + sent.node + sent.others) * bytes;
    result.wire_bytes = (sent.node + sent.others) * bytes;
  }
  const auto gb_per_s = [&](uint64_t of) {
    return result.time_us > 0 ? static_cast<double>(of) / result.time_us * 1e-3 : 0.0;
  };
  result.logical_gb_per_s = gb_per_s(result.logical_bytes);
  result.wire_gb_per_s = gb_per_s(result.wire_bytes);
  result.bound_us = seconds_per_byte * static_cast<double>(bytes) * 1e6;
  result.bound_share = result.time_us > 0 ? result.bound_us / result.time_us : 0;
}

/// Times of one of the two kernels.
void fill_times(ScenarioResult& result, const LowLatencyRun& job, const TimedPairs& timed, bool dispatch) {
  const Scenario& s = job.scenario();
  const Durations durations(timed.runs.report);
  double sum = 0;
  for (const Pair& pair : timed.pairs)
    for (const LowLatencyCall& call : pair) sum += durations.of(launches_of(call, dispatch));
  result.time_us = sum / static_cast<double>(timed.pairs.size() * s.ranks);
  result.time_us_rank0 = durations.of(launches_of(timed.pairs.back().front(), dispatch));
  append_kernels(result, durations, timed.pairs.back(), !dispatch, s.phases);
  append_kernels(result, durations, timed.pairs.back(), dispatch, s.phases);
  result.warp_instructions = timed.runs.warp_instructions;
  result.events = timed.runs.events;
  result.timed = timed.runs.report;
}

Expected<std::string> mismatch_of(const LowLatencyRun& job, const TestData& data) {
  auto mismatch = check_low_latency_dispatch(job, data);
  if (mismatch && mismatch->empty()) mismatch = check_low_latency_combine(job, data);
  return mismatch;
}

}  // namespace

Expected<ScenarioResult> run_low_latency(const Scenario& scenario, const models::Machine& machine,
                                         const RunOptions& options) {
  const LowLatencyLayout layout(scenario);
  const std::string what = "'tokens' is " + std::to_string(scenario.tokens) + ": the symmetric heap";
  if (const auto fits = check_fits_gpu(scenario, machine, layout.bytes, what); !fits) return fits.error();
  std::optional<models::NetworkTopology> network;
  if (low_latency_uses_network(scenario)) {
    auto loaded = scenario_network(scenario);
    if (!loaded) return loaded.error();
    network = *std::move(loaded);
  }
  auto cluster = Cluster::create(machine, scenario.ranks, network ? &*network : nullptr);
  if (!cluster) return cluster.error();
  const auto routing = scenario_routing(scenario, low_latency_routing(scenario));
  if (!routing) return routing.error();
  const TestData data(scenario.seed);
  auto job = LowLatencyRun::create(**cluster, scenario, *routing, data);
  if (!job) return job.error();
  RunOptions limited = options;
  limited.max_time = time_budget(scenario, network ? &*network : nullptr, options.max_time);
  auto timed = run_pairs(**job, limited);
  if (!timed) return timed.error();

  std::string mismatch;
  if (options.check_results) {
    auto found = mismatch_of(**job, data);
    if (!found) return found.error();
    mismatch = *std::move(found);
  }
  const auto result_of = [&](bool dispatch) {
    ScenarioResult result;
    fill_times(result, **job, *timed, dispatch);
    result.faults = fault_words(scenario, network ? &*network : nullptr);
    fill_rates(result, **job, dispatch, network ? &*network : nullptr);
    if (options.check_results) judge(result, mismatch);
    return result;
  };
  const bool dispatch = scenario.kernel == KernelFamily::low_latency_dispatch;
  ScenarioResult result = result_of(dispatch);
  if (scenario.ptx.empty() && scenario.entry.empty() && scenario.registers == 0 &&
      scenario.cache_hints.empty())
    result.other = std::make_shared<const ScenarioResult>(result_of(!dispatch));
  return result;
}

}  // namespace ptxwire::sim
