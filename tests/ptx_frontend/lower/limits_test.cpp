// Input beyond what the program form can hold is refused with one clear message.
#include "tests/ptx_frontend/lower/lower_text.hpp"

namespace ptxwire::ptx {

using namespace test;  // NOLINT(google-build-using-namespace)

TEST_CASE("limits: too many distinct constants", "[contract]") {
  std::string body = ".visible .entry k() { .reg .b32 %r1; mov.b32 %r1, 0;\n";
  for (int i = 0; i < 70000; ++i) body += "add.s32 %r1, %r1, " + std::to_string(i + 1) + ";\n";
  const Expected<Program> program = link_texts({{"many.ptx", body + "ret; }\n"}});
  REQUIRE_FALSE(program);
  CHECK(program.error().path == "many.ptx");
  CHECK(program.error().message == "the program has more than 65536 distinct constants");
}

TEST_CASE("limits: a very long function does not exhaust the stack", "[contract]") {
  std::string body =
      ".visible .entry k() { .reg .pred %p1; .reg .b32 %r1; mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, "
      "0;\nTOP:\n";
  for (int i = 0; i < 100000; ++i)
    body += "@%p1 bra L" + std::to_string(i) + ";\nL" + std::to_string(i) + ":\n";
  const Expected<Program> program = link_texts({{"blocks.ptx", body + "@%p1 bra TOP;\nret; }\n"}});
  REQUIRE(program);
  const Op& first = program->code[2];
  CHECK(first.opcode == Opcode::bra);
  CHECK(first.reconvergence == 3);
}

TEST_CASE("limits: a file that is missing or wrong gives an error with its path", "[contract]") {
  const Expected<Program> missing = load_program({"/nonexistent/kernel.ptx"});
  REQUIRE_FALSE(missing);
  CHECK(missing.error().path == "/nonexistent/kernel.ptx");
}

}  // namespace ptxwire::ptx
