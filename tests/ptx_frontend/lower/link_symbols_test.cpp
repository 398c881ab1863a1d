#include "tests/ptx_frontend/lower/lower_text.hpp"

namespace ptxwire::ptx {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

std::string function_returning(const std::string& linkage, const std::string& name, int value) {
  return linkage + " .func (.param .b32 r) " + name + "() { .reg .b32 %r1; mov.b32 %r1, " +
         std::to_string(value) + "; st.param.b32 [r], %r1; ret; }\n";
}

std::string entry_calling(const std::string& callee) {
  return ".visible .entry k() { .reg .b32 %r1; { .param .b32 x; call.uni (x), " + callee +
         ", (); ld.param.b32 %r1, [x]; } st.local.b32 [0], %r1; ret; }\n";
}

/// The number that the called function returns.
uint64_t called_value(const Program& program) {
  const CallSite& call = program.calls[only(program, Opcode::call).target];
  REQUIRE(call.function < program.functions.size());
  const ProgramFunction& callee = program.functions[call.function];
  for (uint32_t pc = callee.entry_pc; pc < callee.end_pc; ++pc)
    if (program.code[pc].opcode == Opcode::mov) return constant_value(program, program.code[pc].src[0]);
  return 0;
}

}  // namespace

TEST_CASE("link: a strong definition beats a weak one, whatever the order", "[contract]") {
  const std::string caller = ".extern .func (.param .b32 r) f();\n" + entry_calling("f");
  const std::pair<std::string, std::string> weak = {"weak.ptx", function_returning(".weak", "f", 1)};
  const std::pair<std::string, std::string> strong = {"strong.ptx", function_returning(".visible", "f", 2)};
  for (const auto& sources : {std::vector{weak, strong}, std::vector{strong, weak}}) {
    auto all = sources;
    all.emplace_back("caller.ptx", caller);
    const Expected<Program> program = link_texts(all);
    REQUIRE(program);
    CHECK(called_value(*program) == 2);
    CHECK(program->functions.size() == 2);  // the weak one is gone
  }
}

TEST_CASE("link: of several weak definitions the first is taken", "[contract]") {
  const Expected<Program> program =
      link_texts({{"a.ptx", function_returning(".weak", "f", 1) + entry_calling("f")},
                  {"b.ptx", function_returning(".weak", "f", 2)}});
  REQUIRE(program);
  CHECK(called_value(*program) == 1);
}

TEST_CASE("link: two strong definitions are an error that names symbol and modules", "[contract]") {
  const Expected<Program> program = link_texts(
      {{"a.ptx", function_returning(".visible", "f", 1)}, {"b.ptx", function_returning(".visible", "f", 2)}});
  REQUIRE_FALSE(program);
  CHECK(program.error().path == "b.ptx");
  CHECK(program.error().line == 4);
  CHECK(program.error().message == "symbol 'f' is defined twice, first in a.ptx");
}

TEST_CASE("link: a function and a variable of one name clash", "[contract]") {
  const Expected<Program> program = link_texts(
      {{"a.ptx", function_returning(".visible", "f", 1)}, {"b.ptx", ".visible .global .b32 f;\n"}});
  REQUIRE_FALSE(program);
  CHECK(program.error().message.find("'f'") != std::string::npos);
}

TEST_CASE("link: an undefined function that is called is an error, a merely declared one is not",
          "[contract]") {
  const std::string declaration = ".extern .func (.param .b32 r) missing();\n";
  CHECK(link_texts({{"a.ptx", declaration}}));
  const Expected<Program> program = link_texts({{"a.ptx", declaration + entry_calling("missing")}});
  REQUIRE_FALSE(program);
  CHECK(program.error().path == "a.ptx");
  CHECK(program.error().line == 5);
  CHECK(program.error().message == "undefined function 'missing', used by 'k'");
}

TEST_CASE("link: an undefined variable is an error", "[contract]") {
  const Expected<Program> program = link_texts(
      {{"a.ptx",
        ".extern .const .align 8 .b8 state[776];\n"
        ".visible .entry k() { .reg .b32 %r1; ld.const.b32 %r1, [state+4]; st.local.b32 [0], %r1; ret; }"}});
  REQUIRE_FALSE(program);
  CHECK(program.error().message == "undefined variable 'state', used by 'k'");
}

TEST_CASE("link: functions of the loader stay open", "[contract]") {
  const Program program = lower_text(
      ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
      ".visible .entry k() { .reg .b32 %r1; .reg .b64 %rd1; mov.b64 %rd1, 0; {\n"
      ".param .b64 p0; .param .b64 p1; .param .b32 r0;\n"
      "st.param.b64 [p0], %rd1; st.param.b64 [p1], %rd1; call.uni (r0), vprintf, (p0, p1); ld.param.b32 %r1, "
      "[r0]; }\n"
      "ret; }");
  const CallSite& call = program.calls[only(program, Opcode::call).target];
  CHECK(call.intrinsic == "vprintf");
  CHECK(call.function == UINT32_MAX);
  REQUIRE(call.arguments.size() == 2);
  CHECK(call.arguments[0].callee_offset == 0);
  CHECK(call.arguments[1].callee_offset == 8);
  REQUIRE(call.results.size() == 1);
  CHECK(call.results[0].callee_offset == 0);
  CHECK(call.results[0].bytes == 4);
}

TEST_CASE("link: private symbols of the same name stay apart", "[contract]") {
  const auto module = [](int value) {
    return ".global .b32 table = " + std::to_string(value) + ";\n.visible .entry k" + std::to_string(value) +
           "() { .reg .b32 %r1; ld.global.b32 %r1, [table]; st.local.b32 [0], %r1; ret; }";
  };
  const Expected<Program> program = link_texts({{"a.ptx", module(1)}, {"b.ptx", module(2)}});
  REQUIRE(program);
  REQUIRE(program->variables.size() == 2);
  for (uint32_t value : {1U, 2U}) {
    const ProgramFunction& entry = function_named(*program, "k" + std::to_string(value));
    const Op& load = program->code[entry.entry_pc];
    REQUIRE(load.opcode == Opcode::ld);
    const Constant& base = program->constants[load.src[0].index];
    CHECK(base.relocation == RelocationKind::global);
    CHECK(program->variables[base.symbol].data.front() == value);
  }
}

TEST_CASE("link: common symbols merge into the largest, a definition beats them", "[contract]") {
  const std::pair<std::string, std::string> small = {"a.ptx", ".common .global .align 4 .b8 x[4];"};
  const std::pair<std::string, std::string> large = {"b.ptx", ".common .global .align 4 .b8 x[64];"};
  const std::pair<std::string, std::string> strong = {"c.ptx", ".visible .global .align 4 .b8 x[16] = {7};"};
  const Expected<Program> merged = link_texts({small, large});
  REQUIRE(merged);
  REQUIRE(merged->variables.size() == 1);
  CHECK(merged->variables[0].bytes == 64);
  const Expected<Program> beaten = link_texts({large, strong});
  REQUIRE(beaten);
  REQUIRE(beaten->variables.size() == 1);
  CHECK(beaten->variables[0].bytes == 16);
}

TEST_CASE("link: an alias stands for its function", "[contract]") {
  const Program program =
      lower_text(".visible .func (.param .b32 r) other();\n" + function_returning("", "f", 9) +
                 ".alias other, f;\n" + entry_calling("other"));
  CHECK(called_value(program) == 9);
}

TEST_CASE("link: initial data holds bytes and addresses", "[contract]") {
  const Program program = lower_text(
      ".global .align 4 .b8 text[6] = {104, 105, 0};\n"
      ".const .align 4 .u32 numbers[3] = {1, 0x01020304};\n"
      ".func f() { ret; }\n"
      ".global .align 8 .u64 table[4] = {generic(text), f, text+2, numbers};\n");
  const ProgramVariable& text = variable_named(program, "text");
  CHECK(text.bytes == 6);
  CHECK(std::vector<uint8_t>(text.data.begin(), text.data.begin() + 2) == std::vector<uint8_t>{104, 105});
  const ProgramVariable& numbers = variable_named(program, "numbers");
  CHECK(numbers.space == Space::constant);
  CHECK(numbers.bytes == 12);
  CHECK(numbers.data == std::vector<uint8_t>{1, 0, 0, 0, 4, 3, 2, 1});
  const ProgramVariable& table = variable_named(program, "table");
  REQUIRE(table.fixups.size() == 4);
  CHECK(table.fixups[0].kind == RelocationKind::global);
  CHECK(program.variables[table.fixups[0].symbol].name == "text");
  CHECK(table.fixups[0].offset == 0);
  CHECK(table.fixups[1].kind == RelocationKind::function);
  CHECK(program.functions[table.fixups[1].symbol].name == "f");
  CHECK(table.fixups[2].offset == 16);
  CHECK(table.fixups[2].addend == 2);
  CHECK(table.fixups[3].kind == RelocationKind::constant);
  CHECK(table.fixups[3].bytes == 8);
}

}  // namespace ptxwire::ptx
