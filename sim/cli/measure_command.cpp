// measure: a scenario on a real GPU.
#include <fmt/core.h>

#include <array>
#include <cstdlib>
#include <ctime>

#include "sim/cli/commands.hpp"
#include "sim/cli/interrupt.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/progress.hpp"
#include "sim/measure/measured_rows.hpp"
#include "sim/report/files.hpp"
#include "sim/report/measure_report.hpp"
#include "sim/study/scenario_runner.hpp"
#include "sim/workload/run.hpp"

namespace ptxwire::cli {
namespace {

/// Another driver library than the system's; tests name their stand-in.
constexpr const char* kDriverVariable = "PTXWIRE_CUDA_DRIVER";

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  std::array<char, 16> text{};
  gmtime_r(&now, &utc);
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d", &utc)};
}

sim::Role role_of(const std::string& word) {
  for (const sim::Role role : {sim::Role::fit, sim::Role::test})
    if (word == sim::role_name(role)) return role;
  return sim::Role::report;
}

Expected<void> write_rows(const MeasureCommand& command, const sim::Scenario& scenario,
                          const sim::GpuRunResult& result) {
  const bool named = command.scenario.find('/') == std::string::npos && !command.scenario.ends_with(".toml");
  const std::vector<sim::Measurement> rows =
      sim::measured_rows(result, {.scenario = named ? command.scenario : scenario.path,
                                  .settings = command.settings,
                                  .machine = scenario.machine,
                                  .role = role_of(command.role),
                                  .date = today()});
  if (auto written = sim::write_file(command.output, sim::measurements_text(rows)); !written) return written;
  print_note(fmt::format("{} rows written to {}", rows.size(), command.output));
  return {};
}

}  // namespace

Expected<int> measure_command(const MeasureCommand& command, bool progress) {
  if (auto writable = sim::check_writable(command.output); !writable) return writable.error();
  const auto scenario = sim::scenario_of(
      {.scenario = command.scenario, .settings = command.settings, .machine = command.machine});
  if (!scenario) return scenario.error();
  const auto machine = sim::scenario_machine(*scenario);
  if (!machine) return machine.error();
  if (const auto fits = sim::check_measurable(*scenario); !fits) return fits.error();
  const char* library = std::getenv(kDriverVariable);
  const auto driver = sim::CudaDriver::open(library != nullptr ? library : "");
  if (!driver) return driver.error();
  const auto result = [&] {
    ProgressLine line(progress);
    return sim::run_on_gpu(*scenario, **driver,
                           {.first_device = command.device,
                            .repeats = command.repeats,
                            .check_results = command.check_results,
                            .progress = [&](uint32_t done) {
                              line.update_share("measuring " + command.scenario,
                                                done / (command.repeats + 1.0));
                              return !interrupted();
                            }});
  }();
  if (!result) return result.error();
  if (auto printed = write_output("", sim::measure_text(command.scenario, *result), ""); !printed)
    return printed.error();
  if (!result->mismatch.empty()) {
    print_note("no rows written");
    return 1;
  }
  const auto difference = sim::difference_from_machine(**driver, command.device, *machine);
  if (!difference) return difference.error();
  if (!difference->empty())
    print_note(fmt::format("warning: {} is not what machine '{}' describes: {}; name another with --machine",
                           result->gpu, machine->name, *difference));
  if (auto written = write_rows(command, *scenario, *result); !written) return written.error();
  return 0;
}

}  // namespace ptxwire::cli
