// Real compiler output: a committed module (its CUDA source lies beside it), and, where ptxas is present, the
// static estimates against the machine code it makes of our kernels.
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>

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

namespace {

/// What ptxas made of an entry.
struct MachineCode {
  unsigned registers = 0, shared_bytes = 0, instructions = 0;
};

std::string output_of(const std::string& command) {
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return text;
  char buffer[4096];
  while (const size_t n = fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, n);
  return pclose(pipe) == 0 ? text : std::string();
}

/// Per entry: registers and shared memory from `ptxas -v`, instructions from the size of its code section.
std::map<std::string, MachineCode> compile(const std::string& path) {
  std::map<std::string, MachineCode> result;
  const std::string cubin = (std::filesystem::temp_directory_path() / "ptxwire_lower_test.cubin").string();
  std::istringstream log(output_of("ptxas -arch=sm_90a -v -c '" + path + "' -o " + cubin + " 2>&1"));
  std::string line, entry;
  while (std::getline(log, line)) {
    if (const size_t at = line.find("entry function '"); at != std::string::npos)
      entry = line.substr(at + 16, line.find('\'', at + 16) - at - 16);
    if (const size_t at = line.find("Used "); at != std::string::npos) {
      result[entry].registers = static_cast<unsigned>(std::stoul(line.substr(at + 5)));
      if (const size_t smem = line.find(" bytes smem"); smem != std::string::npos)
        result[entry].shared_bytes =
            static_cast<unsigned>(std::stoul(line.substr(line.rfind(' ', smem - 1) + 1)));
    }
  }
  std::istringstream sections(output_of("readelf -SW " + cubin + " 2>/dev/null"));
  while (std::getline(sections, line)) {
    const size_t at = line.find(".text.");
    if (at == std::string::npos) continue;
    std::istringstream fields(line.substr(at + 6));
    std::string name, type, address, offset, size;
    fields >> name >> type >> address >> offset >> size;
    if (const auto found = result.find(name); found != result.end() && type == "PROGBITS")
      found->second.instructions = static_cast<unsigned>(std::stoul(size, nullptr, 16) / 16);
  }
  std::filesystem::remove(cubin);
  return result;
}

}  // namespace

TEST_CASE("static facts: registers, shared memory and issue slots against ptxas", "[contract]") {
  if (std::system("ptxas --version >/dev/null 2>&1") != 0) {
    WARN("skipped: no ptxas");
    return;
  }
  std::vector<std::string> paths = {kCalls};
  for (const char* kernel : {"combine_a", "dispatch_a", "layout"})
    if (const std::string path = kRoot + "/kernels/" + kernel + ".ptx"; std::filesystem::exists(path))
      paths.push_back(path);
  for (const std::string& path : paths) {
    const Program program = load(path);
    for (const auto& [name, real] : compile(path)) {
      const ProgramFunction& function = function_named(program, name);
      uint32_t slots = 0;
      for (uint32_t pc = function.entry_pc; pc < function.end_pc; ++pc) slots += program.code[pc].issue_slots;
      CAPTURE(path, name, real.registers, function.registers_per_thread, real.instructions, slots);
      CHECK(function.static_shared_bytes == real.shared_bytes);
      // An estimate in steps of 8 that decides occupancy: a third off at most on kernels of this size.
      CHECK(function.registers_per_thread >= real.registers * 3 / 4);
      CHECK(function.registers_per_thread <= real.registers * 4 / 3 + 8);
      // The code section also has padding, convergence barriers and unrolled loops.
      if (real.instructions == 0) continue;  // no readelf
      CHECK(slots >= real.instructions * 6 / 10);
      CHECK(slots <= real.instructions * 12 / 10);
    }
  }
}

}  // namespace ptxwire::ptx
