#include <memory>

#include "sim/cli/commands.hpp"
#include "sim/cli/interrupt.hpp"
#include "sim/cli/mpi_team.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/progress.hpp"
#include "sim/report/sweep_report.hpp"
#include "sim/study/scenario_runner.hpp"
#include "sim/study/simulator_id.hpp"
#include "sim/study/sweep.hpp"
#include "sim/study/text_file.hpp"
#include "support/stopwatch.hpp"

namespace ptxwire::cli {
namespace {

/// Seconds left, when the points to come take as long as those before.
std::optional<double> seconds_left(const sim::SweepQueue& queue, double elapsed) {
  if (queue.done() == 0) return std::nullopt;
  return elapsed * static_cast<double>(queue.pending() - queue.done()) / static_cast<double>(queue.done());
}

Expected<sim::SweepReport> run_points(const sim::SweepPlan& plan, MpiTeam& team, const SweepCommand& command,
                                      bool progress) {
  Expected<sim::SweepStore> store = sim::SweepStore::open(command.database);
  if (!store) return store.error();
  ProgressLine line(progress);
  const Stopwatch watch;
  sim::SweepOptions options{.jobs = team.size() > 1 ? 1 : command.jobs};
  options.make_runner = [] { return std::make_unique<sim::ScenarioRunner>(sim::simulator_id()); };
  options.progress = [&](const sim::SweepQueue& queue) {
    line.update("point " + std::to_string(queue.done()) + " of " + std::to_string(queue.pending()),
                seconds_left(queue, watch.seconds()));
    return !interrupted();
  };
  options.serve = [&](sim::SweepQueue& queue) { return team.serve(queue); };
  return sim::run_sweep(plan, *store, options);
}

}  // namespace

Expected<int> sweep_command(const SweepCommand& command, bool progress) {
  Expected<MpiTeam> team = MpiTeam::join();
  if (!team) return team.error();
  if (!team->is_first()) {
    sim::ScenarioRunner runner(sim::simulator_id());
    const Expected<void> worked =
        team->work(runner, {.threads = 1, .progress = [](double) { return !interrupted(); }});
    return worked ? Expected<int>(0) : worked.error();
  }
  // Errors of the first process must still send the others home: they wait for work.
  Expected<sim::SweepPlan> plan = [&]() -> Expected<sim::SweepPlan> {
    if (Expected<void> writable = check_output(command.json); !writable) return writable.error();
    const Expected<std::string> text = sim::read_whole_file(command.sweep);
    if (!text) return text.error();
    return sim::parse_sweep(*text, command.sweep);
  }();
  if (plan)
    for (sim::Job& job : plan->points) job.check_results = command.check_results;
  Expected<sim::SweepReport> report =
      plan ? run_points(*plan, *team, command, progress) : Expected<sim::SweepReport>(plan.error());
  team->dismiss();
  if (!report) return report.error();
  if (Expected<void> written =
          write_output(command.json, sim::sweep_text(*plan, *report), sim::sweep_json(*plan, *report));
      !written) {
    return written.error();
  }
  return 0;
}

}  // namespace ptxwire::cli
