#include "sim/workload/sampling.hpp"

#include <algorithm>
#include <cmath>

#include "sim/workload/handle.hpp"
#include "sim/workload/intranode.hpp"
#include "sim/workload/intranode_run.hpp"
#include "sim/workload/routing_file.hpp"
#include "sim/workload/shorter_call.hpp"
#include "sim/workload/steady_phase.hpp"
#include "support/stopwatch.hpp"

namespace ptxwire::sim {

namespace {

/// Of the calls of the exact run, in tokens: a little less than a fifth. Never more than half a call.
constexpr double kShareOfExact = 0.19, kLargestShare = 0.5;
/// Below this a call is too short to have a steady phase, and cheap.
constexpr uint32_t kLeastTokens = 1024;
/// A ring is to be given at least this many chunks in the part that runs.
constexpr double kLeastChunks = 3;

/// Tokens per channel, the last one aside.
uint32_t channel_length(const Scenario& s) { return (s.tokens + s.channels() - 1) / s.channels(); }

uint32_t left_out_per_channel(const Scenario& s) {
  return static_cast<uint32_t>(std::lround((1 - sampled_share(s)) * channel_length(s)));
}

/// Rows in all rings of the node that cross NVLink, as the kernels count them.
void read_produced(const IntranodeNode& node, std::vector<uint32_t>& produced) {
  const uint32_t ranks = node.scenario().ranks;
  produced.clear();
  for (uint32_t to = 0; to < ranks; ++to) {
    const std::span<const int32_t> counters = node.produced(to);
    for (size_t ring = 0; ring < counters.size(); ++ring)
      if (ring % ranks != to) produced.push_back(static_cast<uint32_t>(std::max(0, counters[ring])));
  }
}

/// The call that runs. What a first call does once is not part of a later one's time.
Scenario part_of(const Scenario& scenario, uint32_t tokens) {
  Scenario part = scenario;
  part.tokens = tokens;
  if (scenario.calls > 1) part.notify = NotifyMode::cached;
  part.calls = 1;
  return part;
}

}  // namespace

double sampled_share(const Scenario& scenario) {
  return std::min(kLargestShare, kShareOfExact * scenario.calls);
}

Expected<void> can_sample(const Scenario& scenario) {
  const bool intranode = scenario.kernel == KernelFamily::intranode_dispatch ||
                         scenario.kernel == KernelFamily::intranode_combine;
  if (!intranode)
    return Error{.message = "this kernel family cannot be sampled",
                 .path = scenario.path,
                 .hint = "intranode dispatch and combine have a long steady phase; run this one exactly"};
  if (scenario.ranks < 2)
    return Error{.message = "one rank sends nothing over NVLink: nothing to sample", .path = scenario.path};
  const auto too_short = [&](const std::string& why) {
    return Error{.message = "'tokens' is " + std::to_string(scenario.tokens) + ": too few to sample, " + why,
                 .path = scenario.path,
                 .hint = "run it exactly: it is short"};
  };
  if (scenario.tokens < kLeastTokens)
    return too_short("expected " + std::to_string(kLeastTokens) + " or more");
  const TokenSpan last = channel_tokens(scenario.tokens, scenario.channels(), scenario.channels() - 1);
  if (last.end - last.begin <= left_out_per_channel(scenario))
    return too_short("the last of " + std::to_string(scenario.channels()) + " channels has " +
                     std::to_string(last.end - last.begin));
  const double rows_per_token =
      expected_distinct_ranks(scenario.ranks, scenario.experts, scenario.topk) / scenario.ranks;
  const double rows = rows_per_token * sampled_share(scenario) * channel_length(scenario);
  if (rows < kLeastChunks * scenario.chunk)
    return too_short("the part that would run gives each of " + std::to_string(scenario.channels()) +
                     " channels " + std::to_string(std::lround(rows)) + " rows for a rank, in chunks of " +
                     std::to_string(scenario.chunk));
  return {};
}

Expected<ScenarioResult> run_sampled(const Scenario& scenario, const RunOptions& options) {
  const Stopwatch watch;
  if (const auto valid = validate(scenario); !valid) return valid.error();
  if (const auto possible = can_sample(scenario); !possible) return possible.error();
  const auto machine = scenario_machine(scenario);
  if (!machine) return machine.error();
  if (const auto fits = check_rows_fit(scenario, *machine); !fits) return fits.error();
  const auto routing = scenario_routing(scenario, routing_shape(scenario));
  if (!routing) return routing.error();
  const bool back = !is_dispatch(scenario);
  const std::vector<uint32_t> rows = ring_rows(*routing, scenario.channels(), back);
  const Routing shorter = shorter_call(*routing, scenario.channels(), left_out_per_channel(scenario));
  const std::vector<uint32_t> shorter_rows = ring_rows(shorter, scenario.channels(), back);
  if (std::all_of(shorter_rows.begin(), shorter_rows.end(), [](uint32_t count) { return count == 0; }))
    return Error{.message = "this routing sends nothing over NVLink: nothing to sample",
                 .path = scenario.path};

  SteadyPhase phase(shorter_rows, scenario.chunk);
  std::vector<uint32_t> produced;
  auto result = run_intranode(part_of(scenario, shorter.shape().tokens), *machine, options, shorter,
                              [&](const IntranodeNode& node, const RunProgress& state) {
                                read_produced(node, produced);
                                phase.observe(state.now.us(), state.nvlink_payload_bytes, produced);
                              });
  if (!result) return result;
  const LongerCall whole = phase.extrapolate(result->timed.time.us(), result->time_us, rows);
  result->time_us = result->time_us_rank0 = whole.us;
  result->sampled = Sampled{.error_pct = whole.error_pct,
                            .executed_share = static_cast<double>(shorter.shape().tokens) / scenario.tokens,
                            .steady = whole.steady};
  const models::NvlinkParameters& nvlink = machine->nvlink;
  fill_rates(*result, scenario, *routing, nvlink.links_per_gpu * nvlink.link_bytes_per_second);
  result->wall_s = watch.seconds();
  return result;
}

}  // namespace ptxwire::sim
