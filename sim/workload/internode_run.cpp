#include "sim/workload/internode_run.hpp"

#include <algorithm>

#include "models/fabric/network_topology.hpp"
#include "sim/workload/faults.hpp"
#include "sim/workload/internode.hpp"
#include "sim/workload/internode_expectation.hpp"
#include "sim/workload/intranode_run.hpp"
#include "sim/workload/mirror.hpp"
#include "sim/workload/network.hpp"
#include "sim/workload/routing_file.hpp"
#include "sim/workload/run_parts.hpp"
#include "sim/workload/timed_calls.hpp"

namespace ptxwire::sim {

namespace {

/// Rows that a GPU puts on a kind of link, or gets from it.
struct LinkRows {
  uint64_t nic = 0, nvlink = 0;
};

/// The least time for one byte of each row, in seconds: that of the busiest GPU, kind of link and direction.
/// Dispatch and combine take the same ways, in opposite directions.
/// Of those that are simulated.
double least_seconds_per_byte(const Routing& routing, uint32_t simulated,
                              const models::NetworkTopology& network, double nvlink_rate) {
  const uint32_t ranks = routing.shape().ranks, nodes = ranks / kGpusPerNode;
  std::vector<LinkRows> out(ranks), in(ranks);
  for (uint32_t source = 0; source < ranks; ++source)
    for (uint32_t token = 0; token < routing.shape().tokens; ++token)
      for (uint32_t m = 0; m < nodes; ++m) {
        const uint32_t gpus = gpus_of_node(routing, source, token, m);
        if (gpus == 0) continue;
        const uint32_t forwarder = m * kGpusPerNode + source % kGpusPerNode;
        if (forwarder != source) {
          ++out[source].nic;
          ++in[forwarder].nic;
        }
        for (uint32_t g = 0; g < kGpusPerNode; ++g) {
          const uint32_t destination = m * kGpusPerNode + g;
          if ((gpus >> g & 1U) == 0 || destination == forwarder) continue;
          ++out[forwarder].nvlink;
          ++in[destination].nvlink;
        }
      }
  double busiest = 0;
  for (uint32_t rank = 0; rank < simulated; ++rank) {
    const auto nic = static_cast<double>(std::max(out[rank].nic, in[rank].nic));
    const auto nvlink = static_cast<double>(std::max(out[rank].nvlink, in[rank].nvlink));
    busiest = std::max({busiest, nic / nic_bytes_per_second(network, rank), nvlink / nvlink_rate});
  }
  return busiest;
}

/// As published: (token, node) pairs, the own node included, and received rows, the own rank included; both
/// of rank 0.
void fill_internode_rates(ScenarioResult& result, const Scenario& s, const Routing& routing,
                          const models::Machine& machine, const models::NetworkTopology& network) {
  const auto gb_per_s = [&](uint64_t bytes) {
    return result.time_us > 0 ? static_cast<double>(bytes) / result.time_us * 1e-3 : 0.0;
  };
  result.logical_bytes = node_pairs(routing, 0) * s.row_bytes();
  result.wire_bytes = pairs_off_node(routing, 0) * s.row_bytes();
  result.logical_gb_per_s = gb_per_s(result.logical_bytes);
  result.wire_gb_per_s = gb_per_s(result.wire_bytes);
  result.nvlink_logical_gb_per_s = gb_per_s(routing.received(0) * s.row_bytes());

  const double nvlink_rate = machine.nvlink.links_per_gpu * machine.nvlink.link_bytes_per_second;
  result.bound_us = least_seconds_per_byte(routing, simulated_ranks(s), network, nvlink_rate) *
                    static_cast<double>(s.row_bytes()) * 1e6;
  result.bound_share = result.time_us > 0 ? result.bound_us / result.time_us : 0;
}

/// kernels/src/internode_{dispatch,combine}_roles.cuh: even CTAs have slots from 0, odd ones from 32.
std::vector<WarpRole> internode_warp_roles(const Scenario& s) {
  constexpr uint32_t kOdd = 32, kRdmaSenders = 7;
  if (is_dispatch(s))
    return {{"forwarders", 0, kGpusPerNode - 1},
            {"forwarder coordinator", kGpusPerNode, kOdd - 1, "forwarders"},
            {"RDMA senders", kOdd, kOdd + kRdmaSenders - 1},
            {"sender coordinator", kOdd + kRdmaSenders, kOdd + kRdmaSenders, "RDMA senders"},
            {"NVLink receivers", kOdd + kRdmaSenders + 1, 2 * kOdd - 1}};
  const uint32_t forwarders = combine_forwarders(s);
  if (s.revision == KernelRevision::d)
    return {{"NVLink senders", 0, kGpusPerNode - 1},
            {"RDMA receivers", kGpusPerNode, forwarders - 1},
            {"receiver coordinator", forwarders, kOdd - 1, "RDMA receivers"},
            {"forwarders", kOdd, kOdd + forwarders - 1},
            {"forwarder coordinator", kOdd + forwarders, 2 * kOdd - 1, "forwarders"}};
  return {{"NVLink senders", 0, kGpusPerNode - 1},
          {"forwarders", kGpusPerNode, kGpusPerNode + forwarders - 1},
          {"forwarder coordinator", kGpusPerNode + forwarders, kOdd - 1, "forwarders"},
          {"RDMA receivers", kOdd, kOdd + kGpusPerNode + forwarders - 1},
          {"receiver coordinator", kOdd + kGpusPerNode + forwarders, 2 * kOdd - 1, "RDMA receivers"}};
}

std::array<std::string, 2> internode_cta_roles(const Scenario& s) {
  if (is_dispatch(s)) return {"forwarders", "RDMA senders and NVLink receivers"};
  if (s.revision == KernelRevision::d) return {"NVLink senders and RDMA receivers", "forwarders"};
  return {"NVLink senders and forwarders", "RDMA receivers"};
}

}  // namespace

Expected<ScenarioResult> run_internode(const Scenario& scenario, const models::Machine& machine,
                                       const RunOptions& options) {
  // Rows that came in and went out.
  const uint64_t bytes = 2 * uint64_t{scenario.tokens} * scenario.row_bytes();
  const std::string what = "'tokens' is " + std::to_string(scenario.tokens) + ": input and output";
  if (const auto fits = check_fits_gpu(scenario, machine, bytes, what); !fits) return fits.error();
  const auto network = scenario_network(scenario);
  if (!network) return network.error();
  auto cluster = Cluster::create(machine, simulated_ranks(scenario), &*network);
  if (!cluster) return cluster.error();
  auto routing = scenario_routing(scenario, routing_shape(scenario));
  if (!routing) return routing.error();
  if (scenario.mirror) routing = mirrored_routing(routing_shape(scenario), *routing);
  const TestData data(scenario.seed);
  auto host = InternodeCluster::create(**cluster, scenario, *routing, data);
  if (!host) return host.error();
  RunOptions limited = options;
  limited.max_time = time_budget(scenario, &*network, options.max_time);
  auto timed = run_calls(**host, limited);
  if (!timed) return timed.error();

  ScenarioResult result;
  fill_times(result, **host, std::move(*timed));
  result.surrogate = mirror_words(scenario);
  result.faults = fault_words(scenario, &*network);
  if (scenario.ptx.empty())  // kernels/src: what the even and the odd CTA of a channel do
    result.cta_roles = internode_cta_roles(scenario);
  if (scenario.ptx.empty()) result.warp_roles = internode_warp_roles(scenario);
  fill_internode_rates(result, scenario, *routing, machine, *network);
  if (options.check_results) {
    auto mismatch = is_dispatch(scenario) ? check_internode_dispatch(**host, data)
                                          : check_internode_combine(**host, data);
    if (!mismatch) return mismatch.error();
    judge(result, *std::move(mismatch));
  }
  return result;
}

}  // namespace ptxwire::sim
