// Real compiler output: a committed module (its CUDA source lies beside it).
#include "tests/ptx_frontend/lower/lower_text.hpp"

namespace ptxwire::ptx {

using namespace test;  // NOLINT(google-build-using-namespace)

namespace {

const std::string kRoot = PTXWIRE_SOURCE_DIR;
const std::string kCalls = kRoot + "/tests/ptx_frontend/data/nvcc_calls.ptx";

Program load(const std::string& path) {
  Expected<Program> program = load_program({path});
  if (!program) FAIL(program.error().to_string());
  return *std::move(program);
}

}  // namespace

TEST_CASE("nvcc output: functions, memory and launch bounds are what the source says", "[contract]") {
  const Program program = load(kCalls);
  const ProgramFunction& calls = function_named(program, "calls");
  CHECK(program.find_entry("calls") != UINT32_MAX);
  CHECK(program.functions.size() == 4);
  CHECK(calls.static_shared_bytes == 33 * sizeof(double));
  CHECK(calls.uses_dynamic_shared);
  CHECK(calls.shared_align == 16);  // nvcc declares the dynamic array so
  CHECK(calls.directives.maxntid[0] == 256);
  CHECK(calls.directives.minnctapersm == 2);
  // int*, int*, struct of 41 words, int.
  REQUIRE(calls.parameters.size() == 4);
  CHECK(calls.parameters[2].offset == 16);
  CHECK(calls.parameters[2].bytes == 164);
  CHECK(calls.parameters[3].offset == 180);
  CHECK(calls.parameter_bytes == 184);
  CHECK(variable_named(program, "table").data == std::vector<uint8_t>{1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4});
  CHECK(variable_named(program, "constants").bytes == 32);
  const ProgramVariable& functions = variable_named(program, "functions");
  REQUIRE(functions.fixups.size() == 2);
  CHECK(program.functions[functions.fixups[0].symbol].name == "_Z9incrementi");
  CHECK(program.functions[functions.fixups[1].symbol].name == "_Z5twicei");
}

TEST_CASE("nvcc output: the spin is a poll loop, its time-out is not part of it", "[contract]") {
  const Program program = load(kCalls);
  REQUIRE(program.poll_loops.size() == 1);
  const PollLoop& loop = program.poll_loops[0];
  CHECK(loop.reads_clock);
  CHECK(loop.state.empty());
  uint32_t polls = 0;
  for (const auto& [begin, end] : loop.body)
    for (uint32_t pc = begin; pc < end; ++pc) {
      CHECK(program.code[pc].opcode != Opcode::call);
      polls += program.texts[pc] == "ld.acquire.sys.global.s32" ? 1 : 0;
    }
  CHECK(polls == 1);
}

TEST_CASE("nvcc output: every operand lies inside its file", "[contract]") {
  const Program program = load(kCalls);
  REQUIRE(program.texts.size() == program.code.size());
  for (const ProgramFunction& function : program.functions) {
    for (uint32_t pc = function.entry_pc; pc < function.end_pc; ++pc) {
      const Op& op = program.code[pc];
      CAPTURE(program.texts[pc], pc);
      const auto inside = [&](const Slot& slot) {
        if (slot.kind == Slot::Kind::reg) REQUIRE(uint32_t{slot.index} + slot.rows <= function.register_rows);
        if (slot.kind == Slot::Kind::predicate) REQUIRE(slot.index < function.predicates);
        if (slot.kind == Slot::Kind::constant) REQUIRE(slot.index < program.constants.size());
      };
      inside(op.guard);
      for (const Slot& slot : op.dst) inside(slot);
      for (const Slot& slot : op.src) inside(slot);
      if (op.opcode == Opcode::bra) {
        REQUIRE(op.target >= function.entry_pc);
        REQUIRE(op.target < function.end_pc);
      }
      if (op.frame_relative) REQUIRE(constant_value(program, op.src[0]) < function.frame_bytes);
    }
  }
}

}  // namespace ptxwire::ptx
