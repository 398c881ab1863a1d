#include <cstdio>
#include <string>
#include <vector>

#include "ptx_frontend/isa/instruction_form.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/output.hpp"
#include "sim/report/table.hpp"
#include "support/nearest.hpp"

namespace ptxwire::cli {
namespace {

/// "ptx 7.8, sm_90a"; what every target of today has is left out.
std::string needs_text(const ptx::Requirement& needs) {
  std::string text = "ptx " + std::to_string(needs.ptx / 10) + '.' + std::to_string(needs.ptx % 10);
  if (needs.sm != 0) text += ", sm_" + std::to_string(needs.sm) + (needs.arch_specific ? "a" : "");
  return text;
}

/// "add" names add and every add.x; "mbarrier.try_wait" only itself.
bool names(const std::string& instruction, std::string_view head) {
  return instruction.empty() || head == instruction || head.starts_with(instruction + '.');
}

void append(std::string& text, const ptx::InstructionForm& form) {
  const bool executed = form.support == ptx::Support::executed;
  text += std::string(form.head) + "  (" + needs_text(form.needs) +
          (executed ? "" : ", checked but not executed") + ")\n";
  if (!form.modifiers.empty()) text += "    modifiers  " + sim::wrapped(std::string(form.modifiers), 15, 15);
  if (!form.operands.empty()) text += "    operands   " + sim::wrapped(std::string(form.operands), 15, 15);
}

}  // namespace

Expected<int> isa_command(const IsaCommand& command) {
  std::string text;
  std::vector<std::string_view> heads;
  size_t forms = 0, executed = 0;
  for (const auto& category : ptx::instruction_categories()) {
    for (const ptx::InstructionForm& form : category) {
      heads.push_back(form.head);
      if (!names(command.instruction, form.head)) continue;
      append(text, form);
      ++forms;
      executed += form.support == ptx::Support::executed ? 1 : 0;
    }
  }
  if (forms == 0) {
    const std::string meant = nearest(command.instruction, heads);
    return Error{.message = "no instruction '" + command.instruction + "' in the table",
                 .hint = meant.empty() ? "'ptxwire isa' lists all" : "did you mean '" + meant + "'?"};
  }
  text += '\n' + std::to_string(forms) + " forms, " + std::to_string(executed) +
          " executed; the notation is explained in ptx_frontend/isa/instruction_form.hpp\n";
  if (Expected<void> written = write_output("", text, ""); !written) return written.error();
  return 0;
}

}  // namespace ptxwire::cli
