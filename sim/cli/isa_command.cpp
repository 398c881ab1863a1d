#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ptx_frontend/isa/instruction_form.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/output.hpp"
#include "sim/report/table.hpp"
#include "sim/study/outcome.hpp"
#include "support/nearest.hpp"

namespace ptxwire::cli {
namespace {

std::string version_text(const ptx::Requirement& needs) {
  return std::to_string(needs.ptx / 10) + '.' + std::to_string(needs.ptx % 10);
}

/// "sm_90a"; "all" for what every target has.
std::string target_text(const ptx::Requirement& needs) {
  return needs.sm == 0 ? "all" : "sm_" + std::to_string(needs.sm) + (needs.arch_specific ? "a" : "");
}

/// Everything in the table is parsed and checked; what is executed has its cost as well.
bool executed(const ptx::InstructionForm& form) { return form.support == ptx::Support::executed; }

/// "add" names add and every add.x; "mbarrier.try_wait" only itself.
bool names(const std::string& instruction, std::string_view head) {
  return instruction.empty() || head == instruction || head.starts_with(instruction + '.');
}

std::string text_of(const std::vector<const ptx::InstructionForm*>& forms) {
  std::string text;
  size_t count = 0;
  for (const ptx::InstructionForm* form : forms) {
    text += std::string(form->head) + "  (ptx " + version_text(form->needs) +
            (form->needs.sm == 0 ? "" : ", " + target_text(form->needs)) + ')' +
            (executed(*form) ? "  parsed, checked, executed, timed\n" : "  parsed, checked\n");
    if (!form->modifiers.empty())
      text += "    modifiers  " + sim::wrapped(std::string(form->modifiers), 15, 15);
    if (!form->operands.empty())
      text += "    operands   " + sim::wrapped(std::string(form->operands), 15, 15);
    count += executed(*form) ? 1 : 0;
  }
  return text + '\n' + std::to_string(forms.size()) + " forms, all parsed and checked, " +
         std::to_string(count) +
         " executed and timed; the notation is explained in ptx_frontend/isa/instruction_form.hpp\n";
}

std::string json_of(const std::vector<const ptx::InstructionForm*>& forms) {
  nlohmann::json list = nlohmann::json::array();
  for (const ptx::InstructionForm* form : forms) {
    list.push_back({{"instruction", std::string(form->head)},
                    {"modifiers", std::string(form->modifiers)},
                    {"operands", std::string(form->operands)},
                    {"ptx", version_text(form->needs)},
                    {"target", target_text(form->needs)},
                    {"parsed", true},
                    {"checked", true},
                    {"executed", executed(*form)},
                    {"timed", executed(*form)}});
  }
  return sim::json_text({{"forms", list}}, sim::JsonLayout::indented);
}

/// A cell of a table: its bars are words of the notation.
std::string cell(std::string_view words) {
  std::string text;
  for (const char c : words) text += c == '|' ? std::string("\\|") : std::string(1, c);
  return text.empty() ? "" : '`' + text + '`';
}

std::string markdown_of(const std::vector<const ptx::InstructionForm*>& forms) {
  size_t count = 0;
  std::string rows;
  for (const ptx::InstructionForm* form : forms) {
    count += executed(*form) ? 1 : 0;
    const std::string_view runs = executed(*form) ? "yes" : "no";
    rows += "| `" + std::string(form->head) + "` | " + cell(form->modifiers) + " | " + cell(form->operands) +
            " | " + version_text(form->needs) + " | " + target_text(form->needs) + " | yes | yes | " +
            std::string(runs) + " | " + std::string(runs) + " |\n";
  }
  return "# Instructions\n\nWritten by `ptxwire isa --format markdown`; a test compares the two. The "
         "notation is "
         "explained in\n`ptx_frontend/isa/instruction_form.hpp`. A form of a later target is parsed, and "
         "refused with "
         "the target it needs; a form that\nis not executed is refused at run time by name and line.\n\n" +
         std::to_string(forms.size()) + " forms, " + std::to_string(count) +
         " executed.\n\n| instruction | modifiers | operands | PTX | target | parsed | checked | executed | "
         "timed "
         "|\n|---|---|---|---|---|---|---|---|---|\n" +
         rows;
}

}  // namespace

Expected<int> isa_command(const IsaCommand& command) {
  std::vector<std::string_view> heads;
  std::vector<const ptx::InstructionForm*> forms;
  for (const auto& category : ptx::instruction_categories()) {
    for (const ptx::InstructionForm& form : category) {
      heads.push_back(form.head);
      if (names(command.instruction, form.head)) forms.push_back(&form);
    }
  }
  if (forms.empty()) {
    const std::string meant = nearest(command.instruction, heads);
    return Error{.message = "no instruction '" + command.instruction + "' in the table",
                 .hint = meant.empty() ? "'ptxwire isa' lists all" : "did you mean '" + meant + "'?"};
  }
  const std::string text = command.format == "json"       ? json_of(forms)
                           : command.format == "markdown" ? markdown_of(forms)
                                                          : text_of(forms);
  if (Expected<void> written = write_output("", text, ""); !written) return written.error();
  return 0;
}

}  // namespace ptxwire::cli
