// From PTX text to a Program in tests.
#pragma once

#include <catch2/catch.hpp>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ptx_frontend/frontend.hpp"

namespace ptxwire::ptx::test {

inline constexpr const char* kHeader = ".version 8.6\n.target sm_90a\n.address_size 64\n";

/// Modules given as (path, text after the header); every one must be free of errors.
inline Expected<Program> link_texts(const std::vector<std::pair<std::string, std::string>>& sources) {
  std::deque<Module> modules;
  std::vector<const Module*> pointers;
  for (const auto& [path, body] : sources) {
    Diagnostics diagnostics;
    auto text = std::make_shared<const std::string>(kHeader + body);
    modules.push_back(parse(text, path, diagnostics));
    if (!diagnostics.has_errors()) check(modules.back(), diagnostics);
    for (const Diagnostic& d : diagnostics.list())
      if (d.severity == Severity::error) FAIL(render(d, path, *text, false));
    pointers.push_back(&modules.back());
  }
  return link_and_lower(pointers);
}

inline Program lower_text(const std::string& body) {
  Expected<Program> program = link_texts({{"test.ptx", body}});
  if (!program) FAIL(program.error().to_string());
  return *std::move(program);
}

/// `.visible .entry k(<parameters>) { <body> }` with registers of every class and a global `out`.
inline Program lower_body(const std::string& body, const std::string& parameters = "") {
  return lower_text(
      ".global .align 16 .b8 out[64];\n.visible .entry k(" + parameters +
      ") {\n.reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<32>; .reg .b64 %rd<32>; .reg .f32 %f<8>;\n"
      ".reg .f64 %fd<8>; .reg .b128 %q<4>;\n" +
      body + "\n}\n");
}

/// Positions of the ops with this opcode.
inline std::vector<uint32_t> find_ops(const Program& program, Opcode opcode) {
  std::vector<uint32_t> found;
  for (uint32_t pc = 0; pc < program.code.size(); ++pc)
    if (program.code[pc].opcode == opcode) found.push_back(pc);
  return found;
}

/// The only op with this opcode.
inline const Op& only(const Program& program, Opcode opcode) {
  const std::vector<uint32_t> found = find_ops(program, opcode);
  REQUIRE(found.size() == 1);
  return program.code[found.front()];
}

inline uint64_t constant_value(const Program& program, const Slot& slot) {
  REQUIRE(slot.kind == Slot::Kind::constant);
  return program.constants[slot.index].value;
}

inline const ProgramFunction& function_named(const Program& program, std::string_view name) {
  for (const ProgramFunction& function : program.functions)
    if (function.name == name) return function;
  FAIL("no function " << name);
  return program.functions.front();
}

inline const ProgramVariable& variable_named(const Program& program, std::string_view name) {
  for (const ProgramVariable& variable : program.variables)
    if (variable.name == name) return variable;
  FAIL("no variable " << name);
  return program.variables.front();
}

}  // namespace ptxwire::ptx::test
