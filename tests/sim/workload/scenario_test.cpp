#include "sim/workload/scenario.hpp"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>

#include "sim/workload/run.hpp"

using namespace ptxwire;
using namespace ptxwire::sim;
using Catch::Matchers::Contains;

namespace {

const std::string kScenarios = std::string(PTXWIRE_SOURCE_DIR) + "/traces/scenarios/";

Expected<Scenario> load_text(const std::string& text) {
  const std::string path = std::filesystem::temp_directory_path() /
                           ("ptxwire_scenario_test_" + std::to_string(getpid()) + ".toml");
  std::ofstream(path) << text;
  return load_scenario(path);
}

std::string error_of(const std::string& text) {
  const auto scenario = load_text(text);
  REQUIRE_FALSE(scenario.has_value());
  return scenario.error().to_string();
}

std::string override_error(const std::string& assignment) {
  Scenario scenario;
  const auto set = apply_override(scenario, assignment);
  REQUIRE_FALSE(set.has_value());
  return set.error().to_string();
}

}  // namespace

TEST_CASE("scenario: every committed file loads and runs what its name says") {
  const std::map<std::string, std::pair<KernelFamily, std::string>> files = {
      {"h800_intranode_dispatch_ep8", {KernelFamily::intranode_dispatch, "h800-node"}},
      {"h800_intranode_combine_ep8", {KernelFamily::intranode_combine, "h800-node"}},
      {"h100_intranode_dispatch_ep8", {KernelFamily::intranode_dispatch, "h100-node"}},
      {"h100_intranode_combine_ep8", {KernelFamily::intranode_combine, "h100-node"}},
      {"h800_nccl_broadcast_ep8", {KernelFamily::ring_broadcast, "h800-node"}},
  };
  for (const auto& [name, what] : files) {
    const auto scenario = load_scenario(kScenarios + name + ".toml");
    INFO((scenario ? "" : scenario.error().to_string()));
    REQUIRE(scenario.has_value());
    CHECK(scenario->name == name);
    CHECK(scenario->kernel == what.first);
    CHECK(scenario->machine == what.second);
    CHECK(scenario->ranks == 8);
    const auto found = find_scenario(name);
    REQUIRE(found.has_value());
    CHECK(std::filesystem::equivalent(*found, kScenarios + name + ".toml"));
  }
}

// The published accounting: an FP8 row is 7168 B and 56 scales of 4 B, a BF16 row 14336 B.
TEST_CASE("scenario: row bytes are the published ones") {
  Scenario scenario;
  scenario.hidden = 7168;
  scenario.elements = ElementType::fp8;
  CHECK(scenario.row_bytes() == 7392);
  scenario.elements = ElementType::bf16;
  CHECK(scenario.row_bytes() == 14336);
}

TEST_CASE("scenario: errors name file, line and what was expected") {
  CHECK_THAT(error_of("tokens = 5\nchunks = 4\n"),
             Contains(".toml:2:") && Contains("unknown key 'chunks'") && Contains("did you mean 'chunk'"));
  CHECK_THAT(error_of("tokens = -5\n"), Contains(".toml:1:") && Contains("'-5'") && Contains("negative"));
  CHECK_THAT(error_of("ring_slots = \"256 KiB\"\n"),
             Contains("unit 'KiB' does not fit 'ring_slots'") && Contains("rows"));
  CHECK_THAT(error_of("tokens = 1.5\n"), Contains("whole number"));
  CHECK_THAT(error_of("tokens = \"many\"\n"), Contains("'many'") && Contains("whole number"));
  CHECK_THAT(error_of("tokens = 99999999999\n"), Contains("at most"));
  CHECK_THAT(error_of("kernel = \"intranode_dispatched\"\n"), Contains("did you mean 'intranode_dispatch'"));
  CHECK_THAT(error_of("flush_l2 = 1\n"), Contains("true or false"));
  CHECK_THAT(error_of("machine = 8\n"), Contains("text in quotes"));
  CHECK_THAT(error_of("tokens = [1]\n"), Contains("an array"));
  CHECK_THAT(error_of("tokens = \n"), Contains(".toml:1:"));
  CHECK_THAT(error_of("machine_parameters = \"x\"\n"), Contains("list"));
  const auto missing = load_scenario("/nowhere/at/all.toml");
  REQUIRE_FALSE(missing.has_value());
  CHECK_THAT(missing.error().to_string(), Contains("/nowhere/at/all.toml"));
  CHECK_THAT(find_scenario("h800_intranode_dispatch").error().to_string(),
             Contains("h800_intranode_dispatch"));
}

TEST_CASE("scenario: settings that exclude each other are refused") {
  CHECK_THAT(error_of("ranks = 16\n"), Contains("'ranks' is 16"));
  CHECK_THAT(error_of("sms = 23\n"), Contains("'sms' is 23") && Contains("even"));
  CHECK_THAT(error_of("chunk = 300\n"), Contains("'chunk' is 300") && Contains("256"));
  CHECK_THAT(error_of("kernel = \"intranode_combine\"\nelements = \"bf16\"\nchunk = 4\nring_slots = 25\n"),
             Contains("'ring_slots' is 25") && Contains("needs 26"));
  CHECK_THAT(error_of("chunk = 0\n"), Contains("'chunk' is 0"));
  CHECK_THAT(error_of("hidden = 7000\n"), Contains("'hidden' is 7000") && Contains("512"));
  CHECK_THAT(error_of("experts = 255\n"), Contains("'experts' is 255"));
  CHECK_THAT(error_of("topk = 33\n"), Contains("'topk' is 33"));
  CHECK_THAT(error_of("kernel = \"intranode_combine\"\n"), Contains("fp8"));
  CHECK_THAT(error_of("revision = \"d\"\nelements = \"bf16\"\nhidden = 16384\n"), Contains("staging"));
}

TEST_CASE("scenario: overrides go through the same table") {
  Scenario scenario;
  REQUIRE(apply_override(scenario, "chunk=12").has_value());
  REQUIRE(apply_override(scenario, "ring_slots=512 rows").has_value());
  REQUIRE(apply_override(scenario, "hints=volatile").has_value());
  REQUIRE(apply_override(scenario, "flush_l2=true").has_value());
  REQUIRE(apply_override(scenario, "machine=h100-node").has_value());
  REQUIRE(apply_override(scenario, "machine.nvlink.header_bytes=20 B").has_value());
  CHECK(scenario.chunk == 12);
  CHECK(scenario.ring_slots == 512);
  CHECK(scenario.hints == PayloadHints::safe);
  CHECK(scenario.flush_l2);
  CHECK(scenario.machine == "h100-node");
  CHECK(scenario.machine_parameters == std::vector<std::string>{"nvlink.header_bytes=20 B"});

  CHECK_THAT(override_error("chnk=12"), Contains("did you mean 'chunk'"));
  CHECK_THAT(override_error("chunk"), Contains("key=value"));
  CHECK_THAT(override_error("chunk=-1"), Contains("negative"));
  CHECK_THAT(override_error("chunk=12 KiB"), Contains("unit 'KiB'"));
  CHECK_THAT(override_error("chunk="), Contains("whole number"));
}

TEST_CASE("scenario: settings written out and read back give the same scenario") {
  auto original = load_scenario(kScenarios + "h100_intranode_combine_ep8.toml");
  REQUIRE(original.has_value());
  REQUIRE(apply_override(*original, "machine.nvlink.header_bytes=20 B").has_value());
  Scenario copy;
  for (const auto& [key, value] : scenario_settings(*original))
    REQUIRE(apply_override(copy, key + "=" + value).has_value());
  CHECK(scenario_settings(copy) == scenario_settings(*original));
}

TEST_CASE("scenario: inputs are the PTX, the machine file and what they stand on") {
  Scenario scenario;
  scenario.machine = "h800-node";
  const auto inputs = scenario_inputs(scenario);
  INFO((inputs ? "" : inputs.error().to_string()));
  REQUIRE(inputs.has_value());
  const auto holds = [&](const std::string& ending) {
    return std::any_of(inputs->begin(), inputs->end(),
                       [&](const std::string& path) { return path.ends_with(ending); });
  };
  for (const char* file :
       {"h800-node.toml", "gh100-gpu.toml", "kernels/dispatch_a.ptx", "kernels/notify.ptx"}) {
    INFO(file);
    CHECK(holds(file));
  }
  for (const std::string& path : *inputs) CHECK(std::filesystem::is_regular_file(path));
}
