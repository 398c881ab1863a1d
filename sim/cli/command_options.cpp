#include "sim/cli/command_options.hpp"

#include <charconv>

namespace ptxwire::cli {

std::string refuse_empty(const std::string& text) {
  return text.empty() ? "expected a value, found none" : "";
}

std::string refuse_thread_count(const std::string& text) {
  constexpr uint32_t kMostThreads = 4096;
  uint32_t threads = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), threads);
  const bool whole = failed == std::errc() && end == text.data() + text.size() && threads <= kMostThreads;
  return whole ? "" : "expected a whole number of 0 to 4096 threads, found '" + text + "'";
}

void add_common_options(CLI::App* command, CommonOptions& common, std::string& json, uint32_t& threads,
                        bool& check_results) {
  command
      ->add_option("--json", json, "Write the result as JSON; '-' for standard output instead of the table")
      ->check(refuse_empty)
      ->type_name("FILE");
  command
      ->add_option("--threads", threads,
                   "Threads of the simulation; 0: all cores. Results do not depend on it")
      ->check(refuse_thread_count)
      ->type_name("N");
  command->add_flag_callback(
      "--no-check", [&check_results] { check_results = false; },
      "Do not compare what the kernels compute with the expectation");
  command->add_flag("--progress", common.progress, "Show progress although standard error is no terminal");
}

void add_cache_option(CLI::App* command, bool& cache) {
  command->add_flag_callback(
      "--no-cache", [&cache] { cache = false; }, "Simulate everything anew and keep nothing");
}

void add_settings_option(CLI::App* command, const std::string& name, std::vector<std::string>& settings,
                         const std::string& what, const std::string& type) {
  command->add_option(name, settings, what)->type_name(type)->allow_extra_args(false);
}

void add_check_options(CLI::App& app, CheckCommand& check, CommonOptions& common) {
  CLI::App* command = app.add_subcommand("check", "Predicted against measured, row by row, with mean errors");
  command->add_option("--suite", check.suite, "quick, default, all, micro, accuracy, or a suite file")
      ->type_name("SUITE");
  command->add_option("--only", check.only, "Only rows whose id matches, as in 'h800*'")
      ->check(refuse_empty)
      ->type_name("GLOB");
  command->add_flag("--exact", check.exact, "Sample nothing, also where the suite would");
  add_common_options(command, common, check.json, check.threads, check.check_results);
  command->add_option("--junit", check.junit, "Write JUnit XML")->check(refuse_empty)->type_name("FILE");
  command->add_option("--summary", check.summary, "Write a summary in Markdown, for the page of a CI job")
      ->check(refuse_empty)
      ->type_name("FILE");
  command
      ->add_option("--document", check.document,
                   "Write every row, mean and known miss in Markdown, and a plot beside it (with gnuplot)")
      ->check(refuse_empty)
      ->type_name("FILE.md");
  CLI::Option* no_cache = command->add_flag_callback(
      "--no-cache", [&check] { check.cache = false; }, "Simulate everything anew and keep nothing");
  command
      ->add_flag("--cached", check.cached_only,
                 "Simulate nothing: rows without a kept result are listed as not run")
      ->excludes(no_cache);
}

void add_sweep_options(CLI::App& app, SweepCommand& sweep, CommonOptions& common) {
  CLI::App* command = app.add_subcommand("sweep", "Many points, on all cores or under mpirun; resumable");
  command->add_option("sweep", sweep.sweep, "Sweep file: scenario, [grid], [[point]] (docs/sweep.md)")
      ->required()
      ->check(refuse_empty)
      ->type_name("FILE.toml");
  command->add_option("--db", sweep.database, "Result file (SQLite); what it has is not run again")
      ->required()
      ->check(refuse_empty)
      ->type_name("FILE");
  command->add_option("--jobs", sweep.jobs, "Points at a time, a thread each; 0: one per core")
      ->check(refuse_thread_count)
      ->type_name("N");
  command
      ->add_option("--json", sweep.json,
                   "Write the result as JSON; '-' for standard output instead of the table")
      ->check(refuse_empty)
      ->type_name("FILE");
  command->add_flag_callback(
      "--no-check", [&sweep] { sweep.check_results = false; },
      "Do not compare what the kernels compute with the expectation");
  command->add_flag("--progress", common.progress, "Show progress although standard error is no terminal");
}

}  // namespace ptxwire::cli
