#include "sim/workload/intranode_run.hpp"

#include <algorithm>

#include "sim/workload/expectation.hpp"
#include "sim/workload/internode_handle.hpp"
#include "sim/workload/intranode.hpp"
#include "sim/workload/routing_file.hpp"
#include "sim/workload/run_parts.hpp"
#include "sim/workload/timed_calls.hpp"

namespace ptxwire::sim {

RoutingShape routing_shape(const Scenario& s) {
  return {.ranks = s.ranks,
          .tokens = s.tokens,
          .topk = s.topk,
          .experts = s.experts,
          .nodes = is_internode(s.kernel) ? s.ranks / kGpusPerNode : 1,
          .pattern = s.routing,
          .zipf_exponent = s.zipf_exponent,
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

Expected<void> check_rows_fit(const Scenario& scenario, const models::Machine& machine) {
  const uint64_t bytes = 2 * uint64_t{scenario.tokens} * scenario.row_bytes();
  const std::string what = "'tokens' is " + std::to_string(scenario.tokens) + ": input and output";
  return check_fits_gpu(scenario, machine, bytes, what);
}

Expected<ScenarioResult> run_intranode(const Scenario& scenario, const models::Machine& machine,
                                       const RunOptions& options) {
  if (const auto fits = check_rows_fit(scenario, machine); !fits) return fits.error();
  const auto routing = scenario_routing(scenario, routing_shape(scenario));
  if (!routing) return routing.error();
  return run_intranode(scenario, machine, options, *routing, {});
}

Expected<ScenarioResult> run_intranode(const Scenario& scenario, const models::Machine& machine,
                                       const RunOptions& options, const Routing& routing,
                                       const IntranodeObserver& observe) {
  auto cluster = Cluster::create(machine, scenario.ranks);
  if (!cluster) return cluster.error();
  const TestData data(scenario.seed);
  auto node = IntranodeNode::create(**cluster, scenario, routing, data);
  if (!node) return node.error();
  RunOptions observed = options;
  if (observe)
    observed.progress = [&](const RunProgress& state) {
      observe(**node, state);
      return !options.progress || options.progress(state);
    };
  auto timed = run_calls(**node, observed);
  if (!timed) return timed.error();

  ScenarioResult result;
  fill_times(result, **node, std::move(*timed));
  if (scenario.ptx.empty())
    result.cta_roles = {"senders", "receivers"};  // kernels/src: the even CTA of a channel sends
  const models::NvlinkParameters& nvlink = machine.nvlink;
  fill_rates(result, scenario, routing, nvlink.links_per_gpu * nvlink.link_bytes_per_second);
  if (options.check_results) {
    auto mismatch = is_dispatch(scenario) ? check_dispatch(**node, data) : check_combine(**node, data);
    if (!mismatch) return mismatch.error();
    judge(result, *std::move(mismatch));
  }
  return result;
}

}  // namespace ptxwire::sim
