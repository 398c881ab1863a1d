// What the user asked for, from argv. The only user of CLI11 is the .cpp beside this.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "support/error.hpp"

namespace ptxwire::cli {

struct LintCommand {
  std::vector<std::string> files;  ///< or folders
  std::string format = "text";     ///< or json, sarif
};

struct AnnotateCommand {
  std::string file;
};

struct ExtractCommand {
  std::string file, target;  ///< empty target: the newest up to sm_90a
  std::string folder;        ///< empty: standard output
  bool list = false;
};

/// What run and predict share.
struct ScenarioOptions {
  std::string scenario;  ///< name or path
  std::string machine;   ///< name or path, empty: the scenario's own
  std::string json;      ///< output path, empty: none, "-": standard output
  uint32_t threads = 0;
  bool check_results = true;
  bool sampled = false;
  double max_time_us = 0;  ///< simulated; 0: the default budget
};

struct RunCommand {
  ScenarioOptions options;
  std::vector<std::string> settings;
};

struct PredictCommand {
  ScenarioOptions options;
  std::vector<std::string> base_settings, settings;
  bool cache = true;
};

struct CheckCommand {
  std::string suite = "default";  ///< name or path
  std::string only;               ///< glob
  std::string json;
  uint32_t threads = 0;
  bool check_results = true;
  bool exact = false;
  bool cache = true;
  bool cached_only = false;
  std::string junit, summary, document;  ///< output paths, empty: none
};

struct SweepCommand {
  std::string sweep;     ///< path of the sweep file
  std::string database;  ///< path of the result file
  std::string json;
  uint32_t jobs = 0;  ///< points at a time; 0: one per core
  bool check_results = true;
};

struct MeasureCommand {
  std::string scenario, machine;
  std::vector<std::string> settings;
  std::string output;  ///< path of the rows
  std::string role = "report";
  uint32_t repeats = 20, device = 0;
  bool check_results = true;
};

struct MachineCommand {
  std::string machine;
};

struct IsaCommand {
  std::string instruction;      ///< empty: all
  std::string format = "text";  ///< or json, markdown
};

struct TopologyCommand {
  std::string topology;             ///< name or path
  std::string svg;                  ///< path of the picture, empty: none
  std::string traffic, all_to_all;  ///< path of a matrix; bytes; at most one of them is given
  std::string json;
  std::vector<std::string> failed, slowed;
};

/// Help or version: printed, then the program ends with 0.
struct TextCommand {
  std::string text;
};

struct Invocation {
  std::variant<TextCommand, LintCommand, AnnotateCommand, ExtractCommand, RunCommand, PredictCommand,
               CheckCommand, SweepCommand, MeasureCommand, MachineCommand, IsaCommand, TopologyCommand>
      command;
  bool progress = false;  ///< show progress even where standard error is no terminal
};

/// Errors: an unknown command or option (with the nearest one), one that this version does not have yet, a
/// missing or malformed value.
Expected<Invocation> parse_command_line(int argc, const char* const* argv);

}  // namespace ptxwire::cli
