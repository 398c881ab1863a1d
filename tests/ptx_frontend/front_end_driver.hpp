// Runs the front end on text in memory, for the tests of syntax/ and check/.
#pragma once

#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "ptx_frontend/frontend.hpp"

namespace ptxwire::ptx::test {

struct Checked {
  Module module;
  Diagnostics diagnostics;

  /// "line: id" of the diagnostics from `least` on, in order.
  [[nodiscard]] std::vector<std::string> places(Severity least = Severity::error) const {
    std::vector<std::string> list;
    for (const Diagnostic& d : diagnostics.list()) {
      if (d.severity < least) continue;
      list.push_back(std::to_string(line_column(*module.text, d.range.begin).line) + ": " +
                     std::string(d.id));
    }
    return list;
  }
  [[nodiscard]] std::string rendered() const {
    std::string text;
    for (const Diagnostic& d : diagnostics.list()) text += render(d, module.path, *module.text, false);
    return text;
  }
};

inline Checked parse_text(std::string text) {
  Checked result;
  result.module = parse(std::make_shared<const std::string>(std::move(text)), "test.ptx", result.diagnostics);
  return result;
}

inline Checked check_text(std::string text) {
  Checked result = parse_text(std::move(text));
  if (!result.diagnostics.has_errors()) check(result.module, result.diagnostics);
  return result;
}

inline std::string header(std::string_view version = "9.0", std::string_view target = "sm_90a") {
  return ".version " + std::string(version) + "\n.target " + std::string(target) + "\n.address_size 64\n";
}

/// A module with one kernel around the statements: registers %p %h %r %d %q %f %g of each size (0 to 131),
/// f16x2 registers %x, variables gm, cm, sm, lm, the parameter kp, a function fn, a call argument op, a label
/// L0 and a branch table ts.
inline std::string module_prefix(std::string_view version = "9.0", std::string_view target = "sm_90a") {
  return header(version, target) +
         ".global .align 16 .b8 gm[64]; .const .align 16 .b8 cm[64];\n"
         ".func fn() { ret; }\n"
         ".visible .entry k(.param .align 16 .b8 kp[64])\n"
         "{ .reg .pred %p<132>; .reg .b16 %h<132>; .reg .b32 %r<132>; .reg .b64 %d<132>; .reg .b128 "
         "%q<132>;\n"
         ".reg .f16x2 %x<4>; .reg .f32 %f<132>; .reg .f64 %g<132>; .shared .align 16 .b8 sm[64]; .local "
         ".align 16 .b8 lm[64];\n"
         ".param .align 16 .b8 op[64]; ts: .branchtargets L0;\n";
}
inline constexpr int kPrefixLines = 9;
inline std::string module_suffix() { return "\nL0: ret;\n}\n"; }

inline Checked check_statements(std::string_view statements, std::string_view version = "9.0",
                                std::string_view target = "sm_90a") {
  return check_text(module_prefix(version, target) + std::string(statements) + module_suffix());
}

/// The instruction of check_statements("...").
inline Instruction check_instruction(const std::string& text) {
  const Checked checked = check_statements(text);
  for (const Function& function : checked.module.functions) {
    if (function.is_entry && !checked.diagnostics.has_errors()) return function.body.at(0);
  }
  return {};
}

/// Lines of a data file without comments and blank lines.
inline std::vector<std::string> data_lines(const std::string& name) {
  std::ifstream file(std::string(PTXWIRE_SOURCE_DIR) + "/tests/ptx_frontend/data/" + name);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line[0] != '#') lines.push_back(line);
  }
  return lines;
}

}  // namespace ptxwire::ptx::test
