// Every spelling that public communication kernels use, and verdicts against ptxas where it is installed.
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "ptx_frontend/isa/instruction_table.hpp"
#include "tests/ptx_frontend/front_end_driver.hpp"

namespace ptxwire::ptx {
namespace {

using namespace test;

bool have_ptxas() { return std::system("command -v ptxas > /dev/null 2>&1") == 0; }

std::string temporary_file(const std::string& name, const std::string& text) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("ptxwire_" + std::to_string(std::hash<std::string>{}(text)) + "_" + name);
  std::ofstream(path) << text;
  return path.string();
}

/// ptxas's word on a text: its messages, empty if it takes it. Its back end may crash on nonsense that its
/// front end has taken; that is no refusal.
std::string ptxas_messages(const std::string& text) {
  const std::string path = temporary_file("probe.ptx", text);
  std::string messages;
  FILE* pipe = popen(("ptxas -arch=sm_90a -O0 -c " + path + " -o /dev/null 2>&1").c_str(), "r");
  for (char line[4096]; pipe != nullptr && std::fgets(line, sizeof line, pipe) != nullptr;) messages += line;
  if (pipe != nullptr) pclose(pipe);
  const bool refused =
      messages.find("error") != std::string::npos || messages.find("fatal") != std::string::npos;
  std::filesystem::remove(path);
  return refused ? messages : "";
}

TEST_CASE("check: every spelling of the communication kernels is accepted", "[contract]") {
  const auto lines = data_lines("communication_kernel_forms.txt");
  REQUIRE(lines.size() == 665);
  for (const std::string& line : lines) {
    const Checked checked = check_statements(line);
    INFO(checked.rendered());
    CHECK_FALSE(checked.diagnostics.has_errors());
  }
}

TEST_CASE("check: ptxas accepts the same spellings", "[contract]") {
  if (!have_ptxas()) {
    WARN("skipped: no ptxas");
    return;
  }
  // In portions: one function with all of them brings ptxas's own back end down.
  constexpr size_t kPortion = 100;
  const auto lines = data_lines("communication_kernel_forms.txt");
  for (size_t begin = 0; begin < lines.size(); begin += kPortion) {
    std::string text = module_prefix();
    for (size_t i = begin; i < std::min(begin + kPortion, lines.size()); ++i) text += lines[i] + "\n";
    CHECK(ptxas_messages(text + module_suffix()) == "");
  }
}

TEST_CASE("check: forms that are easily refused by mistake", "[contract]") {
  const bool ptxas = have_ptxas();
  if (!ptxas) WARN("skipped the comparison: no ptxas");
  for (const std::string& line : data_lines("accepted_forms.txt")) {
    INFO(line);
    CHECK(check_statements(line).rendered() == "");
    if (ptxas) CHECK(ptxas_messages(module_prefix() + line + module_suffix()) == "");
  }
}

/// The form with the first word of each group that must be written.
std::string shortest_spelling(const CompiledForm& form) {
  std::string spelling(form.form->head);
  for (const ModifierGroup& group : form.groups) {
    if (group.optional) continue;
    std::string word(group.words.front().word);
    if (const size_t star = word.find('*'); star != std::string::npos) word.replace(star, 1, "8");
    spelling += '.' + word;
  }
  return spelling;
}

// Operands are left out: what is said about them does not matter here.
TEST_CASE("check: every row of the table takes its own words") {
  size_t rows = 0;
  for (const std::string_view head : InstructionTable::get().heads()) {
    for (const CompiledForm& form : InstructionTable::get().forms(head)) {
      ++rows;
      const std::string spelling = shortest_spelling(form);
      const Checked checked = check_statements(spelling + ";");
      INFO(checked.rendered());
      for (const Diagnostic& diagnostic : checked.diagnostics.list())
        CHECK(std::string(diagnostic.id).find("-modifier") == std::string::npos);
    }
  }
  CHECK(rows > 400);
}

TEST_CASE("check: an array index counts elements") {
  // PTX ISA 6.4.2; ptxas makes the same code of gd[3] and [gd+24].
  const std::string header_text = header() +
                                  ".global .b64 gd[8]; .global .align 8 .v2 .b32 gv[8];\n"
                                  ".entry k() { .reg .b64 %d<4>; .reg .b32 %r<4>;\n";
  const Checked checked = check_text(header_text +
                                     "ld.global.b64 %d1, gd[3];\nmov.u64 %d1, gd[2];\n"
                                     "st.global.b32 gv[1], %r1;\nret; }\n");
  INFO(checked.rendered());
  REQUIRE_FALSE(checked.diagnostics.has_errors());
  const auto& body = checked.module.functions.at(0).body;
  CHECK(body[0].operands[1].kind == OperandKind::address);
  CHECK(body[0].operands[1].offset == 24);
  CHECK(body[1].operands[1].offset == 16);
  CHECK(body[2].operands[0].offset == 4);
  CHECK(check_text(header_text + "ld.global.b64 %d1, gd[%d2];\nret; }\n").places() ==
        std::vector<std::string>{"6: unsupported-index"});
}

TEST_CASE("check: refused forms are refused with the expected id", "[contract]") {
  const bool ptxas = have_ptxas();
  if (!ptxas) WARN("skipped the comparison: no ptxas");
  const auto lines = data_lines("refused_forms.txt");
  REQUIRE(lines.size() >= 60);
  for (const std::string& line : lines) {
    const size_t bar = line.find(" # ");
    const std::string statement = line.substr(0, bar);
    INFO(statement);
    const Checked checked = check_statements(statement);
    REQUIRE(checked.places().size() == 1);
    CHECK(checked.places()[0] == std::to_string(kPrefixLines + 1) + ": " + line.substr(bar + 3));
    if (ptxas) CHECK(ptxas_messages(module_prefix() + statement + module_suffix()) != "");
  }
}

TEST_CASE("isa: every row of the table can be read", "[contract]") {
  const InstructionTable& table = InstructionTable::get();
  size_t rows = 0;
  for (std::string_view head : table.heads()) {
    for (const CompiledForm& form : table.forms(head)) {
      ++rows;
      INFO(head << " " << form.form->modifiers);
      CHECK(form.form->opcode != Opcode::invalid);
      for (const ModifierGroup& group : form.groups) {
        CHECK(group.field != ModifierField::count);
        CHECK_FALSE(group.words.empty());
        for (const ModifierWord& word : group.words) {
          INFO(word.word);
          Modifiers modifiers;
          CHECK(set_modifier(modifiers, group.field, word.word));
        }
      }
      for (const OperandSpec& spec : form.operands) {
        if (spec.type_source == TypeSource::fixed) CHECK(spec.fixed != Type::none);
      }
    }
  }
  CHECK(rows > 300);
}

TEST_CASE("isa: the longest head wins", "[contract]") {
  const InstructionTable& table = InstructionTable::get();
  std::string_view head;
  CHECK_FALSE(table.find("cp.async.bulk.wait_group.read", head).empty());
  CHECK(head == "cp.async.bulk.wait_group");
  CHECK_FALSE(table.find("cp.async.ca.shared.global", head).empty());
  CHECK(head == "cp.async");
  CHECK(table.find("frobnicate.u32", head).empty());
  CHECK(table.nearest_head("mbarier.arrive") == "mbarrier.arrive");
}

}  // namespace
}  // namespace ptxwire::ptx
