#include "sim/workload/run.hpp"

#include <algorithm>
#include <filesystem>

#include "models/machines/machine.hpp"
#include "models/machines/toml_file.hpp"
#include "sim/workload/co_run.hpp"
#include "sim/workload/expert_calls.hpp"
#include "sim/workload/internode_run.hpp"
#include "sim/workload/intranode_run.hpp"
#include "sim/workload/low_latency.hpp"
#include "sim/workload/low_latency_run.hpp"
#include "sim/workload/micro_run.hpp"
#include "sim/workload/network.hpp"
#include "sim/workload/ring_broadcast.hpp"
#include "sim/workload/run_parts.hpp"
#include "support/data_path.hpp"
#include "support/stopwatch.hpp"

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

}  // namespace

Expected<models::Machine> scenario_machine(const Scenario& scenario) {
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
  return machine;
}

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
    case KernelFamily::internode_dispatch:
    case KernelFamily::internode_combine:
      return run_internode(scenario, machine, options);
    case KernelFamily::low_latency_dispatch:
    case KernelFamily::low_latency_combine:
      return run_low_latency(scenario, machine, options);
    default:
      return run_intranode(scenario, machine, options);
  }
}

Expected<ScenarioResult> run_scenario(const Scenario& scenario, const RunOptions& options) {
  const Stopwatch watch;
  if (const auto valid = validate(scenario); !valid) return valid.error();
  auto machine = scenario_machine(scenario);
  if (!machine) return machine.error();
  if (options.untimed) models::make_untimed(*machine);
  auto result = run_family(scenario, *machine, options);
  if (result) result->wall_s = watch.seconds();
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
    if (micro && uses_rdma(scenario.micro)) {
      const auto network = network_path(scenario);
      if (!network) return network.error();
      add(*network);
    }
    return paths;
  }
  add(scenario.routing_file);
  if (is_internode(scenario.kernel) || low_latency_uses_network(scenario)) {
    const auto network = network_path(scenario);
    if (!network) return network.error();
    add(*network);
  }
  if (is_low_latency(scenario.kernel)) {
    const auto programs = low_latency_programs(scenario);
    if (!programs) return programs.error();
    add(programs->dispatch_path);
    add(programs->combine_path);
    add(programs->delay_path);
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
