// The static estimates against the machine code that ptxas makes of our kernels.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "ptx_frontend/lower/ptxas_log.hpp"
#include "tests/ptx_frontend/lower/cubin.hpp"
#include "tests/ptx_frontend/lower/lower_text.hpp"

namespace ptxwire::ptx {

using namespace test;  // NOLINT(google-build-using-namespace)

namespace {

const std::string kRoot = PTXWIRE_SOURCE_DIR;

std::vector<std::string> all_kernel_files() {
  std::vector<std::string> paths = {kRoot + "/tests/ptx_frontend/data/nvcc_calls.ptx"};
  for (const auto& file : std::filesystem::recursive_directory_iterator(kRoot + "/kernels"))
    if (file.path().extension() == ".ptx") paths.push_back(file.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// An estimate of an entry over what ptxas says, less one.
struct Comparison {
  std::string entry;
  double error = 0;
};

std::string median_and_worst(std::vector<Comparison>& all) {
  std::sort(all.begin(), all.end(),
            [](const Comparison& a, const Comparison& b) { return std::abs(a.error) < std::abs(b.error); });
  const Comparison& median = all[all.size() / 2];
  const Comparison& worst = all.back();
  return fmt::format("{} entries, median error {:.1f} % ({}), worst {:.1f} % ({})", all.size(),
                     100 * median.error, median.entry, 100 * worst.error, worst.entry);
}

/// ptxas states static shared memory up to where the dynamic part starts.
uint64_t static_shared_bytes(const ProgramFunction& function) {
  const uint64_t align = function.uses_dynamic_shared ? function.shared_align : 1;
  return (function.static_shared_bytes + align - 1) / align * align;
}

size_t global_loads(const Program& program, const ProgramFunction& function) {
  size_t loads = 0;
  for (uint32_t pc = function.entry_pc; pc < function.end_pc; ++pc) {
    const Op& op = program.code[pc];
    loads += op.opcode == Opcode::ld && op.modifiers.space == Space::global ? 1 : 0;
  }
  return loads;
}

}  // namespace

TEST_CASE("static facts: code size, registers and shared memory against ptxas", "[contract]") {
  if (!has_ptxas()) {
    WARN("skipped: no ptxas in PATH");
    return;
  }
  std::vector<Comparison> sizes, registers;
  for (const std::string& path : all_kernel_files()) {
    const Expected<Program> program = load_program({path});
    if (!program) FAIL(program.error().to_string());
    const CompiledModule module = compile(path);
    const auto log = parse_ptxas_log(module.log, "log");
    if (!log) FAIL(log.error().to_string());
    for (const ProgramFunction& function : program->functions) {
      if (!function.is_entry) continue;
      const auto stated = find_ptxas_entry(*log, function.name, "log");
      if (!stated) FAIL(stated.error().to_string());
      const std::vector<MachineInstruction>& code = module.code.at(function.name);
      const double error = function.code_size / static_cast<double>(code.size()) - 1;
      sizes.push_back({function.name, error});
      registers.push_back(
          {function.name, function.registers_per_thread / static_cast<double>(stated->registers) - 1});
      CAPTURE(path, function.name, code.size(), function.code_size);
      CHECK(static_shared_bytes(function) == stated->shared_bytes);
      // A loop that ptxas unrolls is longer, but runs no more instructions: the estimate counts it once.
      const auto loads =
          std::count_if(code.begin(), code.end(), [](const auto& i) { return i.is_global_load(); });
      if (static_cast<size_t>(loads) <= 2 * global_loads(*program, function)) CHECK(std::abs(error) < 0.3);
    }
  }
  REQUIRE(sizes.size() > 80);
  INFO("code size: " << median_and_worst(sizes));
  INFO("registers: " << median_and_worst(registers));
  CHECK(std::abs(sizes[sizes.size() / 2].error) < 0.12);
  CHECK(std::abs(sizes.back().error) < 0.6);
  CHECK(std::abs(registers[registers.size() / 2].error) < 0.35);
}

}  // namespace ptxwire::ptx
