// The options of the commands that study many runs. With command_line.cpp the only user of CLI11.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "sim/cli/command_line.hpp"

namespace ptxwire::cli {

/// Of the invocation, whatever the command.
struct CommonOptions {
  bool progress = false;
};

/// Refuses an empty path or pattern, which would pass for an option that was not given.
std::string refuse_empty(const std::string& text);
/// Refuses what is no number of threads before the parser does so in words of its own.
std::string refuse_thread_count(const std::string& text);

/// --json, --threads, --no-check and --progress.
void add_common_options(CLI::App* command, CommonOptions& common, std::string& json, uint32_t& threads,
                        bool& check_results);
void add_cache_option(CLI::App* command, bool& cache);
/// "--set KEY=VALUE", which may be repeated.
void add_settings_option(CLI::App* command, const std::string& name, std::vector<std::string>& settings,
                         const std::string& what, const std::string& type = "KEY=VALUE");

void add_check_options(CLI::App& app, CheckCommand& check, CommonOptions& common);
void add_sweep_options(CLI::App& app, SweepCommand& sweep, CommonOptions& common);

}  // namespace ptxwire::cli
