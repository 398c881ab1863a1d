#include <unistd.h>

#include <cstdio>

#include "sim/cli/commands.hpp"
#include "sim/cli/output.hpp"
#include "sim/report/lint.hpp"

namespace ptxwire::cli {

Expected<int> lint_command(const LintCommand& command) {
  const std::vector<sim::LintedFile> files = sim::lint_files(command.files, 0);
  const bool colour = isatty(STDOUT_FILENO) != 0;
  const std::string text = command.format == "json"    ? sim::lint_json(files)
                           : command.format == "sarif" ? sim::lint_sarif(files)
                                                       : sim::lint_text(files, colour);
  if (Expected<void> written = write_output("", text, ""); !written) return written.error();
  return sim::lint_exit_code(files);
}

}  // namespace ptxwire::cli
