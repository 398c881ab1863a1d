#include "sim/cli/command_line.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <sstream>
#include <string_view>

#include "models/machines/quantity.hpp"
#include "sim/cli/command_options.hpp"
#include "support/nearest.hpp"

namespace ptxwire::cli {
namespace {

constexpr std::string_view kAbout =
    "Simulates PTX communication kernels on modelled GPU nodes: runs the kernels' own PTX, checks what\n"
    "they compute, and predicts how long they take and what bounds them.";
constexpr std::string_view kFooter =
    "Exit codes: 0 done; 1 a wrong result (run, measure), a row beyond its threshold (check), errors\n"
    "in PTX (lint); 2 bad input, no GPU (measure); 130 stopped.\n"
    "Results of check and predict are kept in ${PTXWIRE_CACHE:-.cache}/results.sqlite and not computed\n"
    "twice.";

constexpr std::array<std::string_view, 4> kLaterCommands = {"tune", "calibrate", "diff", "report"};
constexpr uint32_t kMostRepeats = 100000, kMostDevices = 1023;
struct LaterOption {
  std::string_view command, option;
};
constexpr std::array<LaterOption, 1> kLaterOptions = {{{"run", "--trace"}}};

Error not_in_this_version(std::string_view what) {
  return Error{.message = "'" + std::string(what) + "' is not in this version of ptxwire"};
}

/// "50 ms" in microseconds.
Expected<double> simulated_us(const std::string& text) {
  const auto refused = [&](const std::string& why) {
    return Error{.message = "--max-time '" + text + "': " + why};
  };
  const Expected<models::WrittenQuantity> time = models::split_quantity(text);
  if (!time) return refused("expected a time, as in '50 ms'");
  const Expected<double> picoseconds = models::unit_factor(time->unit, models::Dimension::time);
  if (!picoseconds) return refused(picoseconds.error().message);
  constexpr double kLongest = 9e18;  // picoseconds in 64 bits
  const double total = time->value * *picoseconds;
  if (!(total >= 1 && total <= kLongest)) return refused("expected 1 ps to 9e6 s");
  return total / 1e6;
}

/// The parser and the places it fills.
class Parser {
 public:
  Parser() {
    app_.set_version_flag("--version", "ptxwire " PTXWIRE_VERSION);
    app_.require_subcommand(1);
    app_.footer(std::string(kFooter));
    app_.get_formatter()->column_width(34);
    add_check_options(app_, check_, common_);
    add_sweep_options(app_, sweep_, common_);
    add_run();
    add_predict();
    add_measure();
    add_lint();
    add_annotate();
    add_extract();
    add_machine();
    add_isa();
    add_topology();
  }

  Expected<Invocation> parse(int argc, const char* const* argv) {
    const std::vector<std::string_view> words(argv + std::min(argc, 1), argv + argc);
    if (const std::optional<Error> later = refuse_later(words)) return *later;
    try {
      app_.parse(argc, argv);
    } catch (const CLI::Success& help) {  // --help and --version
      std::ostringstream text, unused;
      app_.exit(help, text, unused);
      return Invocation{.command = TextCommand{text.str()}};
    } catch (const CLI::ParseError& failed) {
      return explain(failed, words);
    }
    return result();
  }

 private:
  void add_scenario(CLI::App* command, ScenarioOptions& options) {
    command->add_option("scenario", options.scenario, "Scenario file, or a name in traces/scenarios")
        ->required()
        ->check(refuse_empty)
        ->type_name("SCENARIO");
    command->add_option("--machine", options.machine, "Machine file, or a name in models/machines")
        ->check(refuse_empty)
        ->type_name("MACHINE");
    command
        ->add_option("--max-time", max_time_, "Stop with an error after this simulated time, as in '50 ms'")
        ->check(refuse_empty)
        ->type_name("TIME");
    command->add_flag("--sampled", options.sampled,
                      "Cut the long steady phase short and extrapolate; the result states its error");
    command
        ->add_option("--ptxas-log", ptxas_log_,
                     "Output of ptxas -v: the registers that kernels take in it decide occupancy")
        ->check(refuse_empty)
        ->type_name("FILE");
    add_common_options(command, common_, options.json, options.threads, options.check_results);
  }

  void add_run() {
    CLI::App* command =
        app_.add_subcommand("run", "Simulate one scenario: result, time, bandwidth, bottleneck");
    add_scenario(command, run_.options);
    add_settings_option(command, "--set", run_.settings, "Change a setting of the scenario; may be repeated");
    command->add_option("--ranks", ranks_, "Short for --set ranks=N")->type_name("N");
  }

  void add_predict() {
    CLI::App* command =
        app_.add_subcommand("predict", "What changed settings do to a scenario, and what binds");
    add_scenario(command, predict_.options);
    add_settings_option(command, "--set", predict_.settings, "A changed setting; may be repeated");
    command->get_option("--set")->required();
    add_settings_option(command, "--base-set", predict_.base_settings,
                        "A setting of both, base and changed; may be repeated");
    add_cache_option(command, predict_.cache);
  }

  void add_measure() {
    CLI::App* command =
        app_.add_subcommand("measure", "Run a scenario on this machine's NVIDIA GPU, write rows for check");
    command->add_option("scenario", measure_.scenario, "Scenario file, or a name in traces/scenarios")
        ->required()
        ->check(refuse_empty)
        ->type_name("SCENARIO");
    command->add_option("-o,--output", measure_.output, "File for the rows (traces/measurements/README.md)")
        ->required()
        ->check(refuse_empty)
        ->type_name("ROWS.csv");
    command->add_option("--machine", measure_.machine, "Machine file that describes the GPU, for the rows")
        ->check(refuse_empty)
        ->type_name("MACHINE");
    add_settings_option(command, "--set", measure_.settings,
                        "Change a setting of the scenario; may be repeated");
    command->add_option("--repeat", measure_.repeats, "Calls that count, after one that does not (20)")
        ->check(CLI::Range(1U, kMostRepeats))
        ->type_name("N");
    command->add_option("--device", measure_.device, "First GPU, as the driver numbers them (0)")
        ->check(CLI::Range(0U, kMostDevices))
        ->type_name("I");
    command->add_option("--role", measure_.role, "What the rows may be used for: fit, test or report")
        ->check(CLI::IsMember({"fit", "test", "report"}))
        ->type_name("ROLE");
    command->add_flag_callback(
        "--no-check", [this] { measure_.check_results = false; },
        "Do not compare what the kernels compute with the expectation");
    command->add_flag("--progress", common_.progress, "Show progress although standard error is no terminal");
  }

  void add_lint() {
    CLI::App* command = app_.add_subcommand("lint", "All diagnostics of PTX files");
    command->add_option("files", lint_.files, "PTX files, or folders: every *.ptx in them")
        ->required()
        ->check(refuse_empty)
        ->type_name("FILE...");
    command->add_option("--format", format_, "text, json or sarif")->type_name("FORMAT");
  }

  void add_annotate() {
    app_.add_subcommand("annotate", "PTX with issue slots, latency class and live registers per line")
        ->add_option("file", annotate_.file,
                     "PTX file, or a binary with PTX in it (FILE@sm_80 picks a target)")
        ->required()
        ->check(refuse_empty)
        ->type_name("FILE");
  }

  void add_extract() {
    CLI::App* command =
        app_.add_subcommand("extract", "PTX out of a fatbin, object, library, executable or cubin");
    command->add_option("file", extract_.file, "The binary")
        ->required()
        ->check(refuse_empty)
        ->type_name("FILE");
    command->add_flag("--list", extract_.list, "Only list what there is");
    command->add_option("--target", extract_.target, "Which; the newest up to sm_90a if left out")
        ->check(refuse_empty)
        ->type_name("SM");
    command->add_option("--output", extract_.folder, "Folder for the texts; standard output if left out")
        ->check(refuse_empty)
        ->type_name("FOLDER");
  }

  void add_machine() {
    CLI::App* command = app_.add_subcommand("machine", "Machine files");
    command->require_subcommand(1);
    command->add_subcommand("show", "Every parameter with unit, kind and source")
        ->add_option("machine", machine_.machine, "Machine file, or a name in models/machines")
        ->required()
        ->type_name("MACHINE");
  }

  void add_isa() {
    CLI::App* command =
        app_.add_subcommand("isa", "The instruction table: what is parsed, checked, executed and timed");
    command
        ->add_option("instruction", isa_.instruction,
                     "Its name, as in 'add' or 'mbarrier.try_wait'; all if left out")
        ->type_name("NAME");
    command->add_option("--format", format_, "text, json or markdown")->type_name("FORMAT");
  }

  void add_topology() {
    CLI::App* command =
        app_.add_subcommand("topology", "How GPUs, NICs and switches are cabled; speed of light");
    command
        ->add_option("topology", topology_.topology, "Topology file, or a name in models/fabric/topologies")
        ->required()
        ->check(refuse_empty)
        ->type_name("TOPOLOGY");
    command->add_option("--svg", topology_.svg, "Draw it (with Graphviz)")
        ->check(refuse_empty)
        ->type_name("FILE");
    CLI::Option* traffic =
        command
            ->add_option("--traffic", topology_.traffic, "Speed of light of a matrix, rows 'from,to,bytes'")
            ->check(refuse_empty)
            ->type_name("FILE.csv");
    command
        ->add_option("--all-to-all", topology_.all_to_all,
                     "The same of as many bytes from each GPU to each other, as in '1 MB'")
        ->check(refuse_empty)
        ->excludes(traffic)
        ->type_name("BYTES");
    add_settings_option(command, "--fail", topology_.failed,
                        "nic3, node0.nic3, rail3, leaf0 or leaf0-spine1 is down", "NAME");
    add_settings_option(command, "--slow", topology_.slowed, "The same runs at a fraction of its rate",
                        "NAME=FACTOR");
    command
        ->add_option("--json", topology_.json,
                     "Write the figures as JSON; '-' for standard output instead of text")
        ->check(refuse_empty)
        ->type_name("FILE");
  }

  static std::optional<Error> refuse_later(const std::vector<std::string_view>& words) {
    if (words.empty()) return std::nullopt;
    const std::string_view command = words.front();
    if (std::find(kLaterCommands.begin(), kLaterCommands.end(), command) != kLaterCommands.end()) {
      return not_in_this_version(command);
    }
    for (const LaterOption& later : kLaterOptions) {
      const auto is_it = [&](std::string_view word) {
        return word == later.option || word.starts_with(std::string(later.option) + '=');
      };
      if (command == later.command && std::any_of(words.begin() + 1, words.end(), is_it)) {
        return not_in_this_version(std::string(command) + ' ' + std::string(later.option));
      }
    }
    return std::nullopt;
  }

  /// An error of the command line in our words; the parser's own where they say more.
  Error explain(const CLI::ParseError& failed, const std::vector<std::string_view>& words) {
    if (words.empty()) return Error{.message = "expected a command", .hint = "ptxwire --help"};
    std::vector<std::string> commands;
    for (const CLI::App* command : app_.get_subcommands({})) commands.push_back(command->get_name());
    const std::string name(words.front());
    if (name.starts_with('-')) return unknown("option", name, option_names(app_));
    if (std::find(commands.begin(), commands.end(), name) == commands.end()) {
      commands.insert(commands.end(), kLaterCommands.begin(), kLaterCommands.end());
      return unknown("command", name, commands);
    }
    const CLI::App* command = app_.get_subcommand(name);
    for (std::string_view word : words) {
      const std::string option(word.substr(0, word.find('=')));
      const bool looks_like_one = option.starts_with("--") && option.size() > 2;
      if (looks_like_one && command->get_option_no_throw(option) == nullptr) {
        return unknown("option", option, option_names(*command), "ptxwire " + name + " --help");
      }
    }
    if (name == "machine" && !command->got_subcommand("show")) {
      return Error{.message = "expected 'machine show MACHINE'", .hint = "ptxwire machine --help"};
    }
    return Error{.message = failed.what(), .hint = "ptxwire " + name + " --help"};
  }

  static Error unknown(const std::string& kind, const std::string& name,
                       const std::vector<std::string>& known, const std::string& help = "ptxwire --help") {
    const std::string meant = nearest(name, known);
    return Error{.message = "unknown " + kind + " '" + name + "'",
                 .hint = meant.empty() ? help : "did you mean '" + meant + "'?"};
  }

  static std::vector<std::string> option_names(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
    return names;
  }

  Expected<Invocation> result() {
    const std::string command = app_.get_subcommands().front()->get_name();
    Invocation invocation{.progress = common_.progress};
    if (!max_time_.empty()) {
      const Expected<double> us = simulated_us(max_time_);
      if (!us) return us.error();
      run_.options.max_time_us = predict_.options.max_time_us = *us;
    }
    if (command == "lint") {
      if (format_ != "text" && format_ != "json" && format_ != "sarif") {
        return Error{.message = "unknown format '" + format_ + "', expected 'text', 'json' or 'sarif'"};
      }
      lint_.format = format_;
      invocation.command = lint_;
    } else if (command == "annotate") {
      invocation.command = annotate_;
    } else if (command == "extract") {
      invocation.command = extract_;
    } else if (command == "run") {
      if (!ranks_.empty()) run_.settings.push_back("ranks=" + ranks_);
      if (!ptxas_log_.empty()) run_.settings.push_back("ptxas_log=" + ptxas_log_);
      invocation.command = run_;
    } else if (command == "predict") {
      if (!ptxas_log_.empty()) predict_.base_settings.push_back("ptxas_log=" + ptxas_log_);
      invocation.command = predict_;
    } else if (command == "check") {
      invocation.command = check_;
    } else if (command == "sweep") {
      invocation.command = sweep_;
    } else if (command == "measure") {
      invocation.command = measure_;
    } else if (command == "machine") {
      invocation.command = machine_;
    } else if (command == "topology") {
      invocation.command = topology_;
    } else {
      if (format_ != "text" && format_ != "json" && format_ != "markdown") {
        return Error{.message = "unknown format '" + format_ + "', expected 'text', 'json' or 'markdown'"};
      }
      isa_.format = format_;
      invocation.command = isa_;
    }
    return invocation;
  }

  CLI::App app_{std::string(kAbout), "ptxwire"};
  LintCommand lint_;
  AnnotateCommand annotate_;
  ExtractCommand extract_;
  RunCommand run_;
  PredictCommand predict_;
  CheckCommand check_;
  SweepCommand sweep_;
  MeasureCommand measure_;
  MachineCommand machine_;
  IsaCommand isa_;
  TopologyCommand topology_;
  std::string format_ = "text", ranks_, max_time_, ptxas_log_;
  CommonOptions common_;
};

}  // namespace

Expected<Invocation> parse_command_line(int argc, const char* const* argv) {
  return Parser().parse(argc, argv);
}

}  // namespace ptxwire::cli
