// Microbenchmark scenarios: reading, contents and checksums, figures, and every committed one run to a
// correct result.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>

#include "sim/workload/micro_memory.hpp"
#include "sim/workload/micro_result.hpp"
#include "sim/workload/run.hpp"

using namespace ptxwire;
using namespace ptxwire::sim;
using Catch::Matchers::Contains;

namespace {

const std::string kScenarios = std::string(PTXWIRE_SOURCE_DIR) + "/traces/scenarios/";

const std::string kSmall = R"(
machine = "h800-pcie"
kernel = "micro"
ptx = "micro/chase.ptx"
entry = "chase_l1"
figure = "clk_per_access"
ranks = 1
calls = 1
values.accesses = 64
values.nodes = 32
buffers.ring.bytes = ["nodes", "128 B"]
buffers.ring.content = { fill = "chase", stride = 128 }
checksum = { kind = "chase", buffer = "ring", accesses = "accesses" }
launches = [{ arguments = ["ring", 128, 0, "nodes", "accesses", "report"] }]
)";

Expected<Scenario> load_text(const std::string& text) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("ptxwire_micro_test_" + std::to_string(getpid()) + ".toml");
  std::ofstream(path) << text;
  return load_scenario(path);
}

std::string replaced(const std::string& from, const std::string& to) {
  std::string text = kSmall;
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::string error_of(const std::string& text) {
  const auto scenario = load_text(text);
  REQUIRE_FALSE(scenario.has_value());
  return scenario.error().to_string();
}

Scenario small_scenario() {
  auto scenario = load_text(kSmall);
  if (!scenario) FAIL(scenario.error().to_string());
  return *scenario;
}

ScenarioResult run(const Scenario& scenario) {
  auto result = run_scenario(scenario, {.threads = 1});
  if (!result) FAIL(result.error().to_string());
  return *result;
}

}  // namespace

TEST_CASE("micro: errors name file, line and what was expected") {
  CHECK_THAT(error_of(replaced("values.nodes", "value.nodes")),
             Contains(".toml:10:") && Contains("did you mean 'values'"));
  CHECK_THAT(error_of(replaced("\"128 B\"]", "\"128 clk\"]")), Contains("128 clk"));
  CHECK_THAT(error_of(replaced("[\"nodes\", \"128 B\"]", "[\"node\", 128]")),
             Contains("did you mean 'nodes'"));
  CHECK_THAT(error_of(replaced("values.nodes = 32", "values.nodes = \"nodes\"")),
             Contains("stands for itself"));
  CHECK_THAT(error_of(replaced("fill = \"chase\"", "fill = \"chas\"")), Contains("did you mean 'chase'"));
  CHECK_THAT(error_of(replaced("stride = 128 }", "stride = 12 }")), Contains("multiple of 8"));
  CHECK_THAT(error_of(replaced("clk_per_access", "clk_per_acces")),
             Contains("did you mean 'clk_per_access'"));
  CHECK_THAT(error_of(replaced("buffer = \"ring\"", "buffer = \"rung\"")), Contains("'rung'"));
  CHECK_THAT(error_of(replaced("[{ arg", "[{ gpu = 1, arg")), Contains("GPU 1"));
  CHECK_THAT(error_of(kSmall + "chunk = 4\n"), Contains(".toml:15:") && Contains("'chunk' means nothing"));
  CHECK_THAT(error_of("values.x = 1\n"), Contains("'values' means nothing"));

  Scenario scenario = small_scenario();
  CHECK_THAT(apply_override(scenario, "values.acesses=3").error().to_string(),
             Contains("did you mean 'accesses'"));
  CHECK_THAT(apply_override(scenario, "tokens=3").error().to_string(), Contains("'tokens' means nothing"));
  CHECK(apply_override(scenario, "values.accesses=32").has_value());
  CHECK(evaluate(scenario.micro, MicroCount{{"accesses", "2 KiB"}}).operator*() == 65536);

  Scenario large = small_scenario();
  REQUIRE(apply_override(large, "values.nodes=1000000000").has_value());
  CHECK_THAT(run_scenario(large).error().to_string(), Contains("does not fit"));

  Scenario argument = small_scenario();
  argument.micro.launches[0].arguments.pop_back();
  const auto result = run_scenario(argument);
  REQUIRE_FALSE(result.has_value());
  CHECK_THAT(result.error().to_string(), Contains("takes 6 arguments"));
}

TEST_CASE("micro: a ring is one cycle through all nodes") {
  for (const uint64_t nodes : {1, 2, 3, 100, 4096}) {
    MicroMemory memory{.bytes = nodes * 64};
    memory.content = {.fill = MicroContent::Fill::chase, .stride = 64};
    const std::vector<uint32_t> next = memory.ring();
    REQUIRE(next.size() == nodes);
    std::set<uint32_t> seen;
    for (uint32_t node = 0; seen.insert(node).second;) node = next[node];
    CHECK(seen.size() == nodes);
  }
}

TEST_CASE("micro: checksums are what arithmetic says") {
  Scenario scenario;
  MicroMemory buffer{.name = "b", .bytes = 4000};
  const auto sum = [&](MicroChecksum checksum) {
    checksum.buffer = "b";
    scenario.micro.checksum = std::move(checksum);
    return *micro_checksum(scenario, {buffer});
  };
  using Kind = MicroChecksum::Kind;
  buffer.content = {.fill = MicroContent::Fill::index};
  CHECK(sum({.kind = Kind::words}) == 999 * 1000 / 2);
  CHECK(sum({.kind = Kind::words, .times = {{"3"}}}) == 3 * 999 * 1000 / 2);
  // The last 40 bytes of each half: words 490 to 499 and 990 to 999.
  CHECK(sum({.kind = Kind::words, .parts = {{"2"}}, .tail = {{"40"}}}) == 4945 + 9945);
  buffer.content.period = 10;
  CHECK(sum({.kind = Kind::words}) == 100 * 45);
  CHECK(sum({.kind = Kind::tickets, .counters = {{"4"}}, .value = {{"40"}}}) == 4 * 45);
  CHECK(sum({.kind = Kind::rounds, .value = {{"100"}}}) == 5050);
  buffer.content = {.fill = MicroContent::Fill::chase, .stride = 40};
  // As many accesses as nodes visit every node once, wherever they start.
  CHECK(sum({.kind = Kind::chase, .accesses = {{"100"}}}) == 40 * 4950);
  CHECK(sum({.kind = Kind::chase, .accesses = {{"100"}}, .lanes = {{"2"}}, .lane_nodes = {{"7"}}}) ==
        2 * 40 * 4950);
}

TEST_CASE("micro: figures are what arithmetic says") {
  MicroOutput output{.clock_hz = 2e9};
  output.records = {{.clk = 1000, .accesses = 10, .bytes = 4000, .checksum = 0, .sm = 3},
                    {.clk = 2000, .accesses = 10, .bytes = 4000, .checksum = 0, .sm = 5},
                    {}};  // a CTA that measures nothing
  output.duration = models::microseconds(2);
  output.samples = {200, 404, 198, 396, 202, 400};
  output.flop = 6e6;
  std::map<std::string, double> figures;
  for (const Figure& figure : micro_figures(output)) figures[figure.name] = figure.value;
  CHECK(figures["clk_per_access"] == Approx(150));
  CHECK(figures["bytes_per_clk"] == Approx(4));
  CHECK(figures["bytes_per_clk_per_sm"] == Approx(2));
  CHECK(figures["inner_gb_per_s"] == Approx(8));
  CHECK(figures["gb_per_s"] == Approx(4));
  CHECK(figures["tflop_per_s"] == Approx(3));
  CHECK(figures["kernel_us"] == Approx(2));
  CHECK(figures["mean_clk"] == Approx(300));
  CHECK(figures["near_clk"] == Approx(200));
  CHECK(figures["far_clk"] == Approx(400));
  CHECK(figures["far_share"] == Approx(0.5));
  CHECK(figures.size() == micro_figure_names().size());

  // A few that waited for something else make no group of their own.
  output.samples.clear();
  for (uint32_t i = 0; i < 20; ++i) output.samples.push_back(i % 10 == 0 ? 900 : i % 2 == 0 ? 200 : 400);
  for (const Figure& figure : micro_figures(output)) figures[figure.name] = figure.value;
  CHECK(figures["near_clk"] == Approx(200));
  CHECK(figures["far_clk"] == Approx(400));

  output.samples = {7, 7, 7};
  for (const Figure& figure : micro_figures(output))
    if (figure.name == "near_clk" || figure.name == "far_clk") CHECK(figure.value == 7);
  CHECK(micro_figures({}).empty());

  CHECK(*figure_in_unit({"gb_per_s", 1500, "GB/s"}, "TB/s") == Approx(1.5));
  CHECK_FALSE(figure_in_unit({"clk_per_access", 1, "clk"}, "GB/s").has_value());
}

TEST_CASE("micro: what a kernel must leave is compared", "[sim]") {
  CHECK(run(small_scenario()).result == ResultState::correct);
  Scenario wrong = small_scenario();
  wrong.micro.checksum.accesses = MicroCount{{"63"}};
  const ScenarioResult result = run(wrong);
  CHECK(result.result == ResultState::wrong);
  CHECK_THAT(result.first_mismatch, Contains("checksum"));

  auto copy = load_scenario(kScenarios + "micro_memcpy.toml");
  REQUIRE(copy.has_value());
  for (const char* setting : {"values.ctas=2", "values.threads=32", "values.share=8 KiB", "values.unroll=1"})
    REQUIRE(apply_override(*copy, setting).has_value());
  CHECK(run(*copy).result == ResultState::correct);
  copy->micro.buffers[1].after->period = MicroCount{{"7"}};
  CHECK_THAT(run(*copy).first_mismatch, Contains("word 7 of 'to'"));
}

TEST_CASE("micro: every committed scenario gives correct results at a small size", "[sim]") {
  // Numbers that only set how long a scenario runs, smaller.
  const std::map<std::string, std::string> shorter = {
      {"accesses", "64"}, {"warm", "64"},  {"passes", "2"}, {"share", "32 KiB"}, {"chunks", "16"},
      {"repeats", "3"},   {"rounds", "3"}, {"m", "256"},    {"n", "512"},        {"k", "128"}};
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kScenarios)) {
    if (!entry.path().filename().string().starts_with("micro_")) continue;
    ++files;
    auto scenario = load_scenario(entry.path());
    INFO(entry.path().string() << (scenario ? "" : ": " + scenario.error().to_string()));
    REQUIRE(scenario.has_value());
    for (const auto& [name, value] : shorter)
      if (scenario->micro.values.contains(name))
        REQUIRE(apply_override(*scenario, "values." + name + "=" + value).has_value());
    const ScenarioResult result = run(*scenario);
    INFO(result.first_mismatch);
    CHECK(result.result == ResultState::correct);
    REQUIRE_FALSE(result.figures.empty());
    CHECK(result.figures.front().name == scenario->figure);
    CHECK(result.figures.front().value > 0);
    const auto inputs = scenario_inputs(*scenario);
    REQUIRE(inputs.has_value());
    CHECK(std::count(inputs->begin(), inputs->end(), entry.path().string()) == 1);
  }
  CHECK(files >= 15);
}

namespace {

/// The same scenario with another entry of its file.
std::vector<std::string> entries_of(const std::string& ptx) {
  std::ifstream file(std::string(PTXWIRE_SOURCE_DIR) + "/kernels/" + ptx);
  std::vector<std::string> names;
  for (std::string line; std::getline(file, line);)
    if (const std::string mark = ".visible .entry "; line.starts_with(mark))
      names.push_back(line.substr(mark.size(), line.find('(') - mark.size()));
  return names;
}

}  // namespace

TEST_CASE("micro: every entry of a family runs from the family's scenario", "[sim]") {
  struct Family {
    const char *scenario, *prefix;
    std::vector<std::string> settings;
  };
  const std::vector<Family> families = {
      {"micro_stream_read", "stream_read_", {"values.ctas=2", "values.share=64 KiB", "values.unroll=8"}},
      {"micro_stream_read_peer", "stream_read_", {"values.share=32 KiB", "values.unroll=1"}},
      {"micro_stream_write", "stream_write_", {"values.ctas=2", "values.share=64 KiB", "values.unroll=8"}},
      {"micro_stream_write_peer", "stream_write_", {"values.share=32 KiB", "values.unroll=2"}},
      {"micro_memcpy", "stream_copy_", {"values.ctas=2"}},
      {"micro_atomics",
       "atom_",
       {"values.count=32", "values.spacing=8 B", "values.repeats=3", "values.ctas=3"}},
      {"micro_order", "order_", {"values.repeats=2", "values.memory_gpu=1"}},
      {"micro_order", "order_", {"values.repeats=2", "values.outstanding=2"}},
      {"micro_flag", "flag_", {"values.rounds=3"}},
      {"micro_flag", "flag_", {"values.rounds=3", "values.second_gpu=0"}},
      {"micro_cluster_ring", "cluster_ring_", {"values.ctas=8", "values.cluster=4", "values.passes=1"}},
  };
  for (const Family& family : families) {
    auto scenario = load_scenario(kScenarios + family.scenario + ".toml");
    REQUIRE(scenario.has_value());
    for (const std::string& setting : family.settings)
      REQUIRE(apply_override(*scenario, setting).has_value());
    int entries = 0;
    for (const std::string& entry : entries_of(scenario->ptx)) {
      if (!entry.starts_with(family.prefix)) continue;
      ++entries;
      scenario->entry = entry;
      INFO(family.scenario << " " << entry);
      const ScenarioResult result = run(*scenario);
      INFO(result.first_mismatch);
      CHECK(result.result == ResultState::correct);
    }
    CHECK(entries >= 2);
  }
}
