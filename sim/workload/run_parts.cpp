#include "sim/workload/run_parts.hpp"

#include <algorithm>
#include <utility>

#include "ptx_frontend/frontend.hpp"
#include "ptx_frontend/lower/ptxas_log.hpp"

namespace ptxwire::sim {

RunLimits run_limits(const RunOptions& options) {
  RunLimits limits;
  limits.max_time = options.max_time;
  limits.threads = options.threads;
  limits.park_polls = options.park_polls;
  limits.spare_registers = options.spare_registers;
  limits.progress = options.progress;
  return limits;
}

Expected<RunReport> run_beside(Cluster& cluster, const RunOptions& options) {
  if (options.companion == nullptr) return cluster.run(run_limits(options));
  if (const auto enqueued = options.companion->enqueue(cluster); !enqueued) return enqueued.error();
  auto report = cluster.run(run_limits(options));
  if (!report) return report;
  if (const auto finished = options.companion->finish(*report); !finished) return finished.error();
  return report;
}

Expected<void> RunsSoFar::run(Cluster& cluster, const RunOptions& options) {
  auto next = run_beside(cluster, options);
  if (!next) return next.error();
  report = *std::move(next);
  warp_instructions += report.warp_instructions;
  events += report.events;
  return {};
}

Expected<void> RunsSoFar::run_alone(Cluster& cluster, RunOptions options) {
  options.companion = nullptr;
  return run(cluster, options);
}

Expected<void> check_fits_gpu(const Scenario& scenario, const models::Machine& machine, uint64_t bytes,
                              const std::string& what) {
  if (bytes <= machine.hbm.bytes) return {};
  return Error{.message = what + " of " + std::to_string(bytes) + " bytes do not fit the " +
                          std::to_string(machine.hbm.bytes) + " bytes of a GPU of '" + machine.name + "'",
               .path = scenario.path};
}

namespace {

Expected<void> take_register_counts(ptx::Program& program, const Scenario& scenario,
                                    std::string_view main_entry) {
  std::vector<ptx::PtxasEntry> log;
  if (!scenario.ptxas_log.empty()) {
    const auto text = ptx::read_text_file(scenario.ptxas_log);
    if (!text) return text.error();
    auto entries = ptx::parse_ptxas_log(**text, scenario.ptxas_log);
    if (!entries) return entries.error();
    log = *std::move(entries);
  }
  for (ptx::ProgramFunction& function : program.functions) {
    if (!function.is_entry) continue;
    const bool is_main = function.name == main_entry;
    if (!log.empty()) {
      const auto entry = ptx::find_ptxas_entry(log, function.name, scenario.ptxas_log);
      if (!entry && is_main) return entry.error();
      if (entry) function.registers_per_thread = entry->registers;
    }
    if (is_main && scenario.registers != 0) function.registers_per_thread = scenario.registers;
  }
  return {};
}

}  // namespace

Expected<LoadedProgram> load_on(Cluster& cluster, const Scenario& scenario, const std::string& path,
                                std::string_view main_entry) {
  auto program = ptx::load_program({path});
  if (!program) return program.error();
  if (!scenario.cache_hints.empty() && program->find_entry(main_entry) != UINT32_MAX) {
    const auto rules = ptx::parse_hint_rules(scenario.cache_hints);
    if (!rules) return rules.error();
    program = ptx::load_program({path}, *rules);
    if (!program) return program.error();
  }
  if (const auto taken = take_register_counts(*program, scenario, main_entry); !taken) return taken.error();
  LoadedProgram loaded{.program = std::make_shared<const ptx::Program>(*std::move(program))};
  const auto module = cluster.load(loaded.program);
  if (!module) return module.error();
  loaded.module = *module;
  return loaded;
}

KernelTime kernel_time(const RunReport& report, const std::vector<LaunchId>& launches) {
  KernelTime time;
  for (const LaunchReport& launch : report.launches) {
    if (std::find(launches.begin(), launches.end(), launch.id) == launches.end()) continue;
    const double us = (launch.finished - launch.started).us();
    time.role = launch.role;
    if (launch.gpu == GpuId{0}) time.rank0_us = us;
    time.max_us = std::max(time.max_us, us);
  }
  return time;
}

void judge(ScenarioResult& result, std::string mismatch) {
  result.result = mismatch.empty() ? ResultState::correct : ResultState::wrong;
  result.first_mismatch = std::move(mismatch);
}

}  // namespace ptxwire::sim
