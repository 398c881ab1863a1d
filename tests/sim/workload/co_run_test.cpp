// Pairs of kernels: reading, settings of parts, and slowdowns that follow from held SMs in closed form.
#include "sim/workload/co_run.hpp"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "sim/workload/run.hpp"

using namespace ptxwire;
using namespace ptxwire::sim;
using Catch::Matchers::Contains;

namespace {

// Both sides only hold SMs: 256 threads with 255 registers leave no room for another CTA. The compute kernel
// takes 20 us per wave.
const std::string kPair = R"(
machine = "h800-node"
kernel = "co_run"
split = false
[communication]
scenario = "hold_sms"
set = ["values.ctas=20", "values.threads=256", "registers=255", "values.cycles=396000"]
[[compute]]
scenario = "hold_sms"
set = ["values.threads=256", "registers=255", "values.cycles=39600"]
launches = 1
[baselines.half]
scenario = "hold_sms"
set = ["values.ctas=66", "values.threads=256", "registers=255", "values.cycles=396000"]
)";

Expected<Scenario> load_text(const std::string& text) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("ptxwire_co_run_test_" + std::to_string(getpid()) + ".toml");
  std::ofstream(path) << text;
  return load_scenario(path);
}

std::string replaced(const std::string& from, const std::string& to) {
  std::string text = kPair;
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

ScenarioResult run_with(const std::vector<std::string>& settings) {
  auto scenario = load_text(kPair);
  REQUIRE(scenario);
  for (const std::string& setting : settings) {
    const auto applied = apply_override(*scenario, setting);
    if (!applied) FAIL(applied.error().to_string());
  }
  auto result = run_scenario(*scenario, {.threads = 1});
  if (!result) FAIL(result.error().to_string());
  return *std::move(result);
}

auto about(double us) { return Approx(us).margin(2.0); }

}  // namespace

TEST_CASE("co-run: a kernel that fits beside the held SMs loses nothing, a larger one a wave",
          "[workload][analytic]") {
  struct Case {
    const char *grid, *baseline;
    double alone_us, together_us;
  };
  const Case c = GENERATE(Case{"112x1x1", "none", 20, 20}, Case{"132x1x1", "none", 20, 40},
                          Case{"14x4x4", "none", 40, 40}, Case{"67", "half", 40, 20});
  const ScenarioResult result =
      run_with({"grid=" + std::string(c.grid), "baseline=" + std::string(c.baseline)});
  REQUIRE(result.parts.size() == 2);
  CHECK(result.parts[0].side == "communication");
  CHECK(result.parts[0].alone_us == about(205));  // a launch of 4.9 us, then 396,000 clk of 1.98 GHz
  CHECK(result.parts[0].slowdown() == Approx(1).epsilon(0.01));
  const PairPart& compute = result.parts[1];
  CHECK(compute.alone_us == about(c.alone_us));
  CHECK(compute.together_us == about(c.together_us));
  CHECK(compute.overlap == Approx(1));
  CHECK(result.time_us == compute.together_us);
  CHECK(result.result == ResultState::correct);
}

TEST_CASE("co-run: causes add up to the loss, and held SMs are the only one here", "[workload][analytic]") {
  const ScenarioResult result = run_with({"grid=132", "split=true"});
  const PairPart& compute = result.parts.at(1);
  double sum = 0;
  for (const LossShare& loss : compute.losses) sum += loss.us;
  CHECK(sum == Approx(compute.together_us - compute.alone_us));
  REQUIRE(compute.losses.size() == 6);
  CHECK(compute.losses[0].cause == "SMs");
  CHECK(compute.losses[0].us == about(20));
}

TEST_CASE("co-run: settings reach the parts", "[workload]") {
  const ScenarioResult result = run_with({"communication.values.ctas=64", "compute.values.ctas=69",
                                          "compute.values.cycles=19800", "compute.launches=3"});
  CHECK(result.parts[1].alone_us == about(10));
  CHECK(result.parts[1].together_us == about(20));  // 68 SMs are left
  CHECK(result.parts[1].launches == 2);             // the first one does not count
}

TEST_CASE("co-run: settings are part of what determines the result", "[workload]") {
  auto scenario = load_text(kPair);
  REQUIRE(scenario);
  const auto before = scenario_settings(*scenario);
  REQUIRE(apply_override(*scenario, "compute.values.ctas=7"));
  CHECK(scenario_settings(*scenario) != before);
  const auto inputs = scenario_inputs(*scenario);
  REQUIRE(inputs);
  const auto has = [&](const std::string& name) {
    return std::any_of(inputs->begin(), inputs->end(),
                       [&](const std::string& path) { return path.find(name) != std::string::npos; });
  };
  CHECK(has("hold_sms.toml"));
  CHECK(has("compute/hold.ptx"));
}

TEST_CASE("co-run: files that make no sense are refused in a line", "[workload][contract]") {
  struct Case {
    const char *from, *to, *message;
  };
  const Case c =
      GENERATE(Case{"[communication]", "[comunication]", "unknown key 'comunication'"},
               Case{"launches = 1", "launches = 0", "'launches' must be a whole number from 1"},
               Case{"launches = 1", "launchs = 1", "unknown key 'launchs'"},
               Case{"launches = 1", "gpus = \"some\"", "'gpus' must be"},
               Case{"scenario = \"hold_sms\"\nset = [\"values.ctas=20\"",
                    "scenario = 5\nset = [\"values.ctas=20\"", "expected 'scenario'"},
               Case{"scenario = \"hold_sms\"\nset = [\"values.ctas=20\"",
                    "scenario = \"hold\"\nset = [\"values.ctas=20\"", "no scenario 'hold'"},
               Case{"scenario = \"hold_sms\"\nset = [\"values.threads",
                    "scenario = \"h800_intranode_dispatch_ep8\"\nset = [\"values.threads", "no value"},
               Case{"scenario = \"hold_sms\"\nset = [\"values.threads=256\", \"registers=255\", "
                    "\"values.cycles=39600\"]",
                    "scenario = \"h800_intranode_dispatch_ep8\"", "is no microbenchmark scenario"},
               Case{"scenario = \"hold_sms\"\nset = [\"values.threads=256\", \"registers=255\", "
                    "\"values.cycles=39600\"]",
                    "scenario = \"h800_overlap_dispatch_ep64\"", "is a pair itself"},
               Case{"split = false", "baseline = \"full\"", "expected one of: none, half"},
               Case{"split = false", "tokens = 5", "means nothing for kernel = \"co_run\""});
  const auto scenario = load_text(replaced(c.from, c.to));
  REQUIRE_FALSE(scenario.has_value());
  CHECK_THAT(scenario.error().to_string(), Contains(c.message));
}

TEST_CASE("co-run: overrides that make no sense are refused", "[workload][contract]") {
  struct Case {
    const char *setting, *message;
  };
  const Case c = GENERATE(Case{"grid=5x", "expected up to 3 whole numbers"}, Case{"grid=1x2x3x4", "up to 3"},
                          Case{"compute.launches=none", "expected 1 to"},
                          Case{"compute.gpus=2", "one of: all, first"}, Case{"tokens=4", "means nothing"});
  auto scenario = load_text(kPair);
  REQUIRE(scenario);
  const auto applied = apply_override(*scenario, c.setting);
  REQUIRE_FALSE(applied);
  CHECK_THAT(applied.error().message, Contains(c.message));
}

TEST_CASE("co-run: a background load that no GPU can carry is refused", "[workload][contract]") {
  struct Case {
    const char *setting, *message;
  };
  const Case c = GENERATE(Case{"background.footprint=200 GiB", "footprint of the background load"},
                          Case{"background.flops=1e30", "[background] takes"},
                          Case{"background.flops_per_clk=1e-6", "[background] takes"},
                          Case{"background.bytes_per_flop=1e12", "[background] takes"});
  auto scenario = load_text(kPair + R"(
[background]
footprint = "16 MiB"
flops = 1e10
flops_per_clk = 1000
bytes_per_flop = 0.03
)");
  REQUIRE(scenario);
  REQUIRE(apply_override(*scenario, c.setting));
  const auto run = run_scenario(*scenario);
  REQUIRE_FALSE(run);
  CHECK_THAT(run.error().to_string(), Contains(c.message));
}
