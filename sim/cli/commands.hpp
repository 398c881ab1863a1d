// The commands. Each prints its result on standard output and returns the exit code; an Error is printed by
// main.
#pragma once

#include "sim/cli/command_line.hpp"
#include "support/error.hpp"

namespace ptxwire::cli {

Expected<int> lint_command(const LintCommand& command);
Expected<int> annotate_command(const AnnotateCommand& command);
Expected<int> extract_command(const ExtractCommand& command);
Expected<int> run_command(const RunCommand& command, bool progress);
Expected<int> predict_command(const PredictCommand& command, bool progress);
Expected<int> check_command(const CheckCommand& command, bool progress);
Expected<int> sweep_command(const SweepCommand& command, bool progress);
Expected<int> measure_command(const MeasureCommand& command, bool progress);
Expected<int> machine_command(const MachineCommand& command);
Expected<int> isa_command(const IsaCommand& command);
Expected<int> topology_command(const TopologyCommand& command);

}  // namespace ptxwire::cli
