// run and predict.
#include "sim/cli/cached_runner.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/interrupt.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/progress.hpp"
#include "sim/report/predict_report.hpp"
#include "sim/report/run_report.hpp"
#include "sim/study/predict.hpp"
#include "sim/study/scenario_runner.hpp"
#include "sim/study/simulator_id.hpp"

namespace ptxwire::cli {
namespace {

sim::Job job_of(const ScenarioOptions& options, std::vector<std::string> settings) {
  return {.scenario = options.scenario,
          .settings = std::move(settings),
          .machine = options.machine,
          .check_results = options.check_results,
          .sampling = options.sampled ? sim::Sampling::on : sim::Sampling::off};
}

sim::JobControl control_of(const ScenarioOptions& options, ProgressLine& line) {
  return {.threads = options.threads, .max_time_us = options.max_time_us, .progress = [&](double share) {
            line.update_share("simulating " + options.scenario, share);
            return !interrupted();
          }};
}

}  // namespace

Expected<int> run_command(const RunCommand& command, bool progress) {
  const ScenarioOptions& options = command.options;
  if (Expected<void> writable = check_output(options.json); !writable) return writable.error();
  sim::ScenarioRunner runner({});  // keeps nothing, so the build needs no name
  Expected<sim::Outcome> outcome = [&] {
    ProgressLine line(progress);
    return runner.run(job_of(options, command.settings), control_of(options, line));
  }();
  if (!outcome) return outcome.error();
  if (Expected<void> written = write_output(options.json, run_text(*outcome), run_json(*outcome)); !written) {
    return written.error();
  }
  return outcome->result == sim::ResultState::wrong ? 1 : 0;
}

Expected<int> predict_command(const PredictCommand& command, bool progress) {
  const ScenarioOptions& options = command.options;
  if (Expected<void> writable = check_output(options.json); !writable) return writable.error();
  sim::ScenarioRunner simulator(sim::simulator_id());
  CachedRunner cached(simulator, command.cache);
  std::vector<std::string> changed = command.base_settings;
  changed.insert(changed.end(), command.settings.begin(), command.settings.end());
  Expected<sim::Prediction> prediction = [&] {
    ProgressLine line(progress);
    return sim::predict(cached.runner(), job_of(options, command.base_settings), job_of(options, changed),
                        control_of(options, line));
  }();
  if (!prediction) return prediction.error();
  if (Expected<void> written =
          write_output(options.json, predict_text(*prediction), predict_json(*prediction));
      !written) {
    return written.error();
  }
  return 0;  // what changed is the answer, also where it is the result
}

}  // namespace ptxwire::cli
