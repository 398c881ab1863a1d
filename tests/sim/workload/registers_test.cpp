// Registers per thread decide how many CTAs an SM holds: as a number, and from the text of `ptxas -v`.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "sim/workload/run.hpp"

using namespace ptxwire;
using namespace ptxwire::sim;
using Catch::Matchers::Contains;

namespace {

std::string temporary_file(const std::string& name, const std::string& text) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("ptxwire_registers_" + std::to_string(getpid()) + "_" + name);
  std::ofstream(path) << text;
  return path;
}

/// Every thread waits 10,000 clocks; one of each CTA writes a record.
const std::string kSpin = R"(.version 8.0
.target sm_90a
.address_size 64
.visible .entry spin(.param .u64 report) {
  .reg .pred %p<3>; .reg .b32 %r<4>; .reg .b64 %rd<9>;
  mov.u64 %rd1, %clock64;
WAIT:
  mov.u64 %rd2, %clock64; sub.s64 %rd3, %rd2, %rd1; setp.lt.s64 %p1, %rd3, 10000;
  @%p1 bra WAIT;
  mov.u32 %r1, %tid.x; setp.ne.u32 %p2, %r1, 0;
  @%p2 bra DONE;
  ld.param.u64 %rd4, [report]; mov.u32 %r2, %ctaid.x; mul.wide.u32 %rd5, %r2, 32; add.s64 %rd6, %rd4, %rd5;
  mov.b64 %rd7, 1;
  st.global.u64 [%rd6], %rd3; st.global.u64 [%rd6+8], %rd7;
DONE:
  ret;
}
)";

Scenario spin_scenario() {
  const std::string ptx = temporary_file("spin.ptx", kSpin);
  const std::string path =
      temporary_file("spin.toml", "machine = \"h800-node\"\nkernel = \"micro\"\nptx = \"" + ptx +
                                      "\"\nentry = \"spin\"\nfigure = \"clk_per_access\"\nranks = 1\n"
                                      "calls = 1\nvalues.ctas = 264\nvalues.threads = 1024\n"
                                      "checksum = { kind = \"value\", value = 0 }\n"
                                      "launches = [{ arguments = [\"report\"] }]\n");
  auto scenario = load_scenario(path);
  if (!scenario) FAIL(scenario.error().to_string());
  return *scenario;
}

/// Waits of 10,000 clocks, one after the other, that the kernel took.
double waves(const std::vector<std::string>& settings) {
  Scenario scenario = spin_scenario();
  for (const std::string& setting : settings)
    if (const auto set = apply_override(scenario, setting); !set) FAIL(set.error().to_string());
  const auto result = run_scenario(scenario, {.threads = 1});
  if (!result) FAIL(result.error().to_string());
  return result->kernels.front().max_us * 1e-6 * 1.98e9 / 10000;
}

std::string error_of(const std::string& setting) {
  Scenario scenario = spin_scenario();
  if (const auto set = apply_override(scenario, setting); !set) return set.error().to_string();
  const auto result = run_scenario(scenario, {.threads = 1});
  return result ? "" : result.error().to_string();
}

std::string log_of(const std::string& entry, int registers) {
  return "ptxas info    : Compiling entry function '" + entry + "' for 'sm_90a'\nptxas info    : Used " +
         std::to_string(registers) + " registers, used 1 barriers\n";
}

}  // namespace

// 264 CTAs of 1024 threads on 132 SMs of 65,536 registers and 2048 threads.
TEST_CASE("registers: CTAs that do not fit beside each other run one after the other", "[analytic]") {
  CHECK(waves({"registers=32"}) == Approx(1).epsilon(0.15));
  CHECK(waves({"registers=64"}) == Approx(2).epsilon(0.15));
  CHECK(waves({"ptxas_log=" + temporary_file("a.log", log_of("spin", 64))}) == Approx(2).epsilon(0.15));
  CHECK(waves({"ptxas_log=" + temporary_file("b.log", log_of("other", 40) + log_of("spin", 24))}) ==
        Approx(1).epsilon(0.15));
  // The number goes before the log.
  CHECK(waves({"registers=64", "ptxas_log=" + temporary_file("b.log", log_of("spin", 24))}) ==
        Approx(2).epsilon(0.15));
}

TEST_CASE("registers: what cannot be is refused with the reason", "[contract]") {
  CHECK_THAT(error_of("registers=256"), Contains("'registers' is 256, expected at most 255"));
  CHECK_THAT(error_of("registers=100"), Contains("does not fit"));  // 102,400 of 65,536
  CHECK_THAT(error_of("ptxas_log=/nowhere.log"), Contains("/nowhere.log"));
  const std::string other = temporary_file("c.log", log_of("spin_twice", 40));
  CHECK_THAT(error_of("ptxas_log=" + other), Contains(other) && Contains("no entry 'spin'"));
  CHECK_THAT(error_of("ptxas_log=" + temporary_file("d.log", "ninja: no work to do.\n")),
             Contains("ptxas -v"));
}
