#include <filesystem>
#include <system_error>

#include "sim/cli/cached_runner.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/interrupt.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/progress.hpp"
#include "sim/report/accuracy_document.hpp"
#include "sim/report/accuracy_plot.hpp"
#include "sim/report/check_report.hpp"
#include "sim/report/files.hpp"
#include "sim/report/junit.hpp"
#include "sim/study/scenario_runner.hpp"
#include "sim/study/simulator_id.hpp"
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
                   .hint = "quick, default, all, micro, accuracy, or the path of a suite file"};
    }
    path = *found;
  }
  return sim::read_suite(path);
}

std::string progress_words(const sim::CheckProgress& progress) {
  return "row " + std::to_string(progress.row + 1) + " of " + std::to_string(progress.rows) + ", " +
         progress.id;
}

Expected<void> check_outputs(const CheckCommand& command) {
  for (const std::string& path : {command.junit, command.summary, command.document}) {
    if (path.empty()) continue;
    if (Expected<void> writable = sim::check_writable(path); !writable) return writable;
  }
  return check_output(command.json);
}

/// The document, and the plot beside it under the same name.
Expected<void> write_document(const sim::CheckReport& report, const CheckCommand& command) {
  const std::filesystem::path plot = std::filesystem::path(command.document).replace_extension(".svg");
  const Expected<std::string> picture = sim::render_plot(sim::accuracy_plot(report));
  if (!picture) return picture.error();
  if (Expected<void> written = sim::write_file(plot.string(), *picture); !written) return written;
  std::string words = "ptxwire check --suite " + command.suite;
  if (!command.only.empty()) words += " --only '" + command.only + "'";
  if (command.cached_only) words += " --cached";
  words += " --document " + command.document;
  return sim::write_file(command.document, sim::accuracy_document(report, {words, plot.filename().string()}));
}

Expected<void> write_outputs(const sim::CheckReport& report, const CheckCommand& command) {
  if (!command.junit.empty())
    if (Expected<void> written = sim::write_file(command.junit, sim::check_junit(report)); !written)
      return written;
  if (!command.summary.empty())
    if (Expected<void> written = sim::write_file(command.summary, sim::check_summary(report)); !written)
      return written;
  if (!command.document.empty())
    if (Expected<void> written = write_document(report, command); !written) return written;
  return write_output(command.json, sim::check_text(report), sim::check_json(report));
}

}  // namespace

Expected<int> check_command(const CheckCommand& command, bool progress) {
  if (Expected<void> writable = check_outputs(command); !writable) return writable.error();
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
  sim::ScenarioRunner simulator(sim::simulator_id());
  sim::RecallingRunner recalled(simulator);
  CachedRunner cached(command.cached_only ? static_cast<sim::Runner&>(recalled) : simulator, command.cache);
  Expected<sim::CheckReport> report = [&] {
    ProgressLine line(progress);
    return sim::run_check(*suite, *plan, cached.runner(),
                          {.threads = command.threads,
                           .check_results = command.check_results,
                           .exact = command.exact,
                           .recall = command.cached_only,
                           .selected = !command.only.empty(),
                           .progress = [&](const sim::CheckProgress& state) {
                             line.update(progress_words(state), state.seconds_left);
                             return !interrupted();
                           }});
  }();
  if (!report) return report.error();
  if (Expected<void> written = write_outputs(*report, command); !written) return written.error();
  return report->passed() ? 0 : 1;
}

}  // namespace ptxwire::cli
