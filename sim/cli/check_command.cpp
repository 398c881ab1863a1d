#include <filesystem>
#include <system_error>

#include "sim/cli/cached_runner.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/interrupt.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/progress.hpp"
#include "sim/report/check_report.hpp"
#include "sim/study/scenario_runner.hpp"
#include "sim/study/text_file.hpp"
#include "support/data_path.hpp"

namespace ptxwire::cli {
namespace {

/// A suite file by path, or by name in traces/suites.
Expected<sim::Suite> load_suite(const std::string& name) {
  std::error_code failed;
  std::string path = name;
  if (!std::filesystem::is_regular_file(name, failed)) {
    const Expected<std::string> found = find_data_file("traces/suites/" + name + ".toml");
    if (!found) {
      return Error{.message = "no suite '" + name + "'",
                   .hint = "quick, default, all, micro, or the path of a suite file"};
    }
    path = *found;
  }
  const Expected<std::string> text = sim::read_whole_file(path);
  if (!text) return text.error();
  return sim::parse_suite(*text, path);
}

std::string progress_words(const sim::CheckProgress& progress) {
  return "row " + std::to_string(progress.row + 1) + " of " + std::to_string(progress.rows) + ", " +
         progress.id;
}

}  // namespace

Expected<int> check_command(const CheckCommand& command, bool progress) {
  if (Expected<void> writable = check_output(command.json); !writable) return writable.error();
  const Expected<sim::Suite> suite = load_suite(command.suite);
  if (!suite) return suite.error();
  const Expected<std::string> folder = find_data_file("traces/measurements");
  if (!folder) return folder.error();
  const Expected<std::vector<sim::Measurement>> measurements = sim::read_measurements(*folder);
  if (!measurements) return measurements.error();
  const Expected<sim::Plan> plan = sim::plan_suite(*suite, *measurements, command.only);
  if (!plan) return plan.error();
  if (plan->rows.empty() && plan->not_run.empty()) {
    return Error{.message = "no row of the suite matches --only '" + command.only + "'"};
  }
  sim::ScenarioRunner simulator(sim::executable_build_id());
  CachedRunner cached(simulator, command.cache);
  Expected<sim::CheckReport> report = [&] {
    ProgressLine line(progress);
    return sim::run_check(*suite, *plan, cached.runner(),
                          {.threads = command.threads,
                           .check_results = command.check_results,
                           .exact = command.exact,
                           .progress = [&](const sim::CheckProgress& state) {
                             line.update(progress_words(state), state.seconds_left);
                             return !interrupted();
                           }});
  }();
  if (!report) return report.error();
  if (Expected<void> written = write_output(command.json, check_text(*report), check_json(*report));
      !written) {
    return written.error();
  }
  return report->passed() ? 0 : 1;
}

}  // namespace ptxwire::cli
