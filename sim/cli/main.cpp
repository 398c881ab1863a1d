// ptxwire: the only place that prints and exits.
#include <cstdio>
#include <exception>
#include <variant>

#include "sim/cli/command_line.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/interrupt.hpp"
#include "sim/cli/output.hpp"

namespace {

using ptxwire::Error;
using ptxwire::Expected;
namespace cli = ptxwire::cli;

constexpr int kBadInput = 2;

int print_error(const Error& error) {
  std::fputs((error.to_string() + '\n').c_str(), stderr);
  return kBadInput;
}

struct Dispatch {
  bool progress;
  Expected<int> operator()(const cli::TextCommand& command) const {
    const Expected<void> written = cli::write_output("", command.text, "");
    return written ? Expected<int>(0) : written.error();
  }
  Expected<int> operator()(const cli::LintCommand& command) const { return cli::lint_command(command); }
  Expected<int> operator()(const cli::AnnotateCommand& command) const {
    return cli::annotate_command(command);
  }
  Expected<int> operator()(const cli::ExtractCommand& command) const { return cli::extract_command(command); }
  Expected<int> operator()(const cli::RunCommand& command) const {
    return cli::run_command(command, progress);
  }
  Expected<int> operator()(const cli::PredictCommand& command) const {
    return cli::predict_command(command, progress);
  }
  Expected<int> operator()(const cli::CheckCommand& command) const {
    return cli::check_command(command, progress);
  }
  Expected<int> operator()(const cli::SweepCommand& command) const {
    return cli::sweep_command(command, progress);
  }
  Expected<int> operator()(const cli::MeasureCommand& command) const {
    return cli::measure_command(command, progress);
  }
  Expected<int> operator()(const cli::MachineCommand& command) const { return cli::machine_command(command); }
  Expected<int> operator()(const cli::IsaCommand& command) const { return cli::isa_command(command); }
  Expected<int> operator()(const cli::TopologyCommand& command) const {
    return cli::topology_command(command);
  }
};

int run(int argc, char** argv) {
  const Expected<cli::Invocation> invocation = cli::parse_command_line(argc, argv);
  if (!invocation) return print_error(invocation.error());
  cli::install_interrupt_handler();
  const Expected<int> code = std::visit(Dispatch{invocation->progress}, invocation->command);
  if (cli::interrupted()) {
    std::fputs("interrupted\n", stderr);
    return cli::kInterruptedExitCode;
  }
  return code ? *code : print_error(code.error());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc&) {
    return print_error({.message = "out of memory"});
  } catch (const std::exception& failed) {
    // Libraries below may throw where we do not expect it; the user gets a message, not a core dump.
    return print_error({.message = "internal error: " + std::string(failed.what())});
  }
}
