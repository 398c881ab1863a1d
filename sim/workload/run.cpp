#include "sim/workload/run.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "models/machines/machine.hpp"
#include "models/machines/toml_file.hpp"
#include "sim/workload/co_run.hpp"
#include "sim/workload/expectation.hpp"
#include "sim/workload/intranode.hpp"
#include "sim/workload/micro_run.hpp"
#include "sim/workload/ring_broadcast.hpp"
#include "sim/workload/run_parts.hpp"
#include "support/data_path.hpp"

namespace ptxwire::sim {

namespace {

Expected<std::string> machine_path(const Scenario& scenario) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(scenario.machine, ignored)) return scenario.machine;
  if (scenario.machine.find('/') == std::string::npos) {
    std::string file = scenario.machine;
    if (!file.ends_with(".toml")) file += ".toml";
    if (auto found = find_data_file("models/machines/" + file)) return found;
  }
  return Error{.message = "no such machine file or machine name: '" + scenario.machine + "'",
               .hint = "names are the files of models/machines without .toml, such as h800-node"};
}

Expected<models::Machine> load_scenario_machine(const Scenario& scenario, const RunOptions& options) {
  const auto path = machine_path(scenario);
  if (!path) return path.error();
  auto machine = models::load_machine(*path);
  if (!machine) return machine.error();
  for (const std::string& parameter : scenario.machine_parameters) {
    const size_t equals = std::min(parameter.find('='), parameter.size());
    const std::string_view text = parameter;
    const auto set = models::set_machine_parameter(*machine, text.substr(0, equals),
                                                   text.substr(std::min(equals + 1, text.size())));
    if (!set) {
      Error error = set.error();
      error.path = "setting machine." + parameter;
      return error;
    }
  }
  if (options.untimed) models::make_untimed(*machine);
  return machine;
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

RoutingShape routing_shape(const Scenario& s) {
  return {.ranks = s.ranks,
          .tokens = s.tokens,
          .topk = s.topk,
          .experts = s.experts,
          .nodes = 1,
          .pattern = s.routing,
          .seed = s.seed};
}

/// Payload of the busiest GPU and direction over the rate of its links.
double bound_us(const Routing& routing, const Scenario& s, const models::Machine& machine) {
  uint64_t busiest_rows = 0;
  for (uint32_t a = 0; a < s.ranks; ++a) {
    uint64_t out = 0, in = 0;
    for (uint32_t b = 0; b < s.ranks; ++b)
      if (a != b) {
        out += routing.count(a, b);
        in += routing.count(b, a);
      }
    busiest_rows = std::max({busiest_rows, out, in});
  }
  const double rate = machine.nvlink.links_per_gpu * machine.nvlink.link_bytes_per_second;
  return static_cast<double>(busiest_rows * s.row_bytes()) / rate * 1e6;
}

struct TimedRun {
  std::vector<RankCall> calls;                 ///< of the timed call, per rank
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
      node.cluster().flush_l2();
      if (const auto delayed = node.enqueue_delay(); !delayed) return delayed.error();
    }
    auto enqueued = node.enqueue_call(call);
    if (!enqueued) return enqueued.error();
    timed.calls = std::move(*enqueued);
  }
  if (const auto done = run(options); !done) return done.error();
  return timed;
}

void fill_times(ScenarioResult& result, const IntranodeNode& node, TimedRun timed) {
  const Scenario& s = node.scenario();
  std::vector<LaunchId> notifies, mains;
  for (uint32_t rank = 0; rank < s.ranks; ++rank) {
    const RankCall& call = timed.calls[rank];
    const double us = (node.cluster().event_time(call.end) - node.cluster().event_time(call.start)).us();
    if (rank == 0) result.time_us = us;
    result.time_us_max = std::max(result.time_us_max, us);
    notifies.push_back(call.notify);
    mains.push_back(call.main);
  }
  if (!(s.notify == NotifyMode::full && s.calls == 1))
    result.kernels.push_back(kernel_time(timed.report, notifies));
  result.kernels.push_back(kernel_time(timed.report, mains));

  if (s.ptx.empty())
    result.cta_roles = {"senders", "receivers"};  // kernels/src: the even CTA of a channel sends

  const Routing& routing = node.routing();
  result.logical_bytes = routing.received(0) * s.row_bytes();
  result.wire_bytes = (routing.received(0) - routing.count(0, 0)) * s.row_bytes();
  const auto gb_per_s = [&](uint64_t bytes) {
    return result.time_us > 0 ? static_cast<double>(bytes) / result.time_us * 1e-3 : 0.0;
  };
  result.logical_gb_per_s = gb_per_s(result.logical_bytes);
  result.wire_gb_per_s = gb_per_s(result.wire_bytes);
  result.bound_us = bound_us(routing, s, node.cluster().machine());
  result.bound_share = result.time_us > 0 ? result.bound_us / result.time_us : 0;
  result.warp_instructions = timed.warp_instructions;
  result.events = timed.events;
  result.timed = std::move(timed.report);
}

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

}  // namespace

std::string_view result_state_name(ResultState state) {
  switch (state) {
    case ResultState::correct:
      return "correct";
    case ResultState::wrong:
      return "wrong";
    case ResultState::unchecked:
      return "unchecked";
  }
  return "unchecked";
}

Expected<ScenarioResult> run_family(const Scenario& scenario, const models::Machine& machine,
                                    const RunOptions& options) {
  switch (scenario.kernel) {
    case KernelFamily::micro:
      return run_micro(scenario, machine, options);
    case KernelFamily::co_run:
      return run_co_run(scenario, machine, options);
    case KernelFamily::ring_broadcast:
      return run_ring_broadcast(scenario, machine, options);
    default:
      return run_intranode(scenario, machine, options);
  }
}

Expected<ScenarioResult> run_scenario(const Scenario& scenario, const RunOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  if (const auto valid = validate(scenario); !valid) return valid.error();
  const auto machine = load_scenario_machine(scenario, options);
  if (!machine) return machine.error();
  auto result = run_family(scenario, *machine, options);
  if (result) result->wall_s = seconds_since(begin);
  return result;
}

Expected<std::vector<std::string>> scenario_inputs(const Scenario& scenario) {
  std::vector<std::string> paths;
  const auto add = [&paths](const std::string& path) {
    if (!path.empty() && std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(path);
  };
  const auto path = machine_path(scenario);
  if (!path) return path.error();
  const auto machine = models::load_machine(*path);  // also refuses a chain of bases without an end
  if (!machine) return machine.error();
  for (std::string file = *path; !file.empty();) {
    add(file);
    const auto table = models::parse_toml_file(file);
    if (!table) return table.error();
    const auto base = (*table)["base"].value<std::string>();
    file = base ? (std::filesystem::path(file).parent_path() / *base).string() : "";
  }
  add(machine->topology);
  if (scenario.kernel == KernelFamily::co_run) {
    const auto parts = co_run_scenarios(scenario);
    if (!parts) return parts.error();
    for (const auto* side : {&parts->communication, &parts->baseline, &parts->compute})
      for (const Scenario& part : *side) {
        const auto inputs = scenario_inputs(part);
        if (!inputs) return inputs.error();
        add(part.path);
        for (const std::string& input : *inputs) add(input);
      }
    return paths;
  }
  add(scenario.ptxas_log);
  const bool micro = scenario.kernel == KernelFamily::micro;
  if (micro || scenario.kernel == KernelFamily::ring_broadcast) {
    const auto program = micro ? micro_program_path(scenario) : ring_broadcast_program_path(scenario);
    if (!program) return program.error();
    add(*program);
    if (micro) add(scenario.path);  // buffers, launches and checksum are not among the settings
    return paths;
  }
  const auto programs = scenario_programs(scenario);
  if (!programs) return programs.error();
  add(programs->main_path);
  add(programs->notify_path);
  add(programs->full_notify_path);
  add(programs->layout_path);
  add(programs->delay_path);
  return paths;
}

}  // namespace ptxwire::sim
