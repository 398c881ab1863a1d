// The persistent matrix product and its tensor maps, as a scenario runs them.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "sim/workload/micro_matrix.hpp"
#include "sim/workload/run.hpp"

using namespace ptxwire;
using namespace ptxwire::sim;
using Catch::Matchers::Contains;

namespace {

const std::string kScenario = std::string(PTXWIRE_SOURCE_DIR) + "/traces/scenarios/micro_gemm.toml";

ScenarioResult run(const std::vector<std::string>& settings) {
  auto scenario = load_scenario(kScenario);
  REQUIRE(scenario.has_value());
  for (const std::string& setting : settings) REQUIRE(apply_override(*scenario, setting).has_value());
  auto result = run_scenario(*scenario, {.threads = 1});
  if (!result) FAIL(result.error().to_string());
  return *result;
}

/// The scenario with `from` replaced by `to`, written to a file of its own.
Expected<Scenario> changed(const std::string& from, const std::string& to) {
  std::ifstream file(kScenario);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  const std::string path =
      std::filesystem::temp_directory_path() / ("ptxwire_gemm_test_" + std::to_string(getpid()) + ".toml");
  std::ofstream(path) << text.replace(at, from.size(), to);
  return load_scenario(path);
}

std::string error_of(const std::string& from, const std::string& to) {
  const auto scenario = changed(from, to);
  REQUIRE_FALSE(scenario.has_value());
  return scenario.error().to_string();
}

}  // namespace

TEST_CASE("gemm: right for any m and n, and for k that fills no stage", "[sim]") {
  struct Size {
    const char *m, *n, *k, *ctas, *cluster;
  };
  for (const Size& size :
       {Size{"128", "256", "64", "1", "1"}, Size{"200", "264", "72", "2", "1"}, Size{"8", "8", "8", "2", "2"},
        Size{"384", "520", "640", "4", "2"}, Size{"129", "1024", "1032", "7", "1"}}) {
    CAPTURE(size.m, size.n, size.k, size.ctas, size.cluster);
    const ScenarioResult result =
        run({std::string("values.m=") + size.m, std::string("values.n=") + size.n,
             std::string("values.k=") + size.k, std::string("values.ctas=") + size.ctas,
             std::string("values.cluster=") + size.cluster});
    INFO(result.first_mismatch);
    CHECK(result.result == ResultState::correct);
  }
}

TEST_CASE("gemm: a deep tile takes what its products take", "[sim][timing]") {
  // One CTA, one tile: 64 steps of 2 * 4 products of 128 clk, loads hidden behind them; the rest is start and
  // end.
  const auto clk = [](const char* k) {
    const ScenarioResult result = run(
        {"values.m=128", "values.n=256", std::string("values.k=") + k, "values.ctas=1", "values.cluster=1"});
    REQUIRE(result.result == ResultState::correct);
    for (const Figure& figure : result.figures)
      if (figure.name == "clk_per_access") return figure.value * std::stod(k) / 64;  // per step
    return 0.0;
  };
  CHECK(clk("8192") - clk("4096") == Approx(64 * 1024).epsilon(0.03));
}

TEST_CASE("gemm: what does not fit is said", "[sim][errors]") {
  CHECK_THAT(error_of("buffer = \"a\", type", "buffer = \"x\", type"), Contains("names no buffer 'x'"));
  CHECK_THAT(error_of("type = \"bf16\", dims = [\"k\", \"m\"]", "type = \"bf61\", dims = [\"k\", \"m\"]"),
             Contains("did you mean 'bf16'"));
  CHECK_THAT(error_of("box = [64, 128]", "box = [64]"), Contains("'box' has 1 entries, expected 2"));
  CHECK_THAT(error_of("box = [64, 128]", "box = [72, 128]"), Contains("a swizzle of 128 bytes"));
  CHECK_THAT(error_of("swizzle = \"128B\"", "swizle = \"128B\""), Contains("swizle"));
  CHECK_THAT(error_of("value = 3, seed = 1", "value = 300, seed = 1"), Contains("up to 256"));
  CHECK_THAT(error_of("depth = \"k\" }", "depth = \"m\" }"), Contains("'a' has"));
  const auto wrong = changed("\"m\", \"n\", \"k\", \"report\"", "\"m\", \"n\", \"report\"");
  REQUIRE(wrong.has_value());
  CHECK_THAT(run_scenario(*wrong).error().to_string(), Contains("takes 7 arguments"));
}

TEST_CASE("gemm: the host's product", "[sim]") {
  // Against sums element by element; words hold two columns.
  MicroMemory::Content a, b;
  a.value = 3, a.seed = 1, b.value = 2, b.seed = 2;
  constexpr uint32_t kRows = 5, kColumns = 34, kDepth = 24;
  const auto element = [](const MicroMemory::Content& content, uint64_t i) {
    const uint32_t word = bf16_integers(content.seed, content.value, i / 2);
    const uint32_t bits = (i % 2 == 0 ? word : word >> 16) << 16;
    float value = 0;
    std::memcpy(&value, &bits, 4);
    return value;
  };
  const std::vector<uint32_t> words = bf16_product(a, b, kRows, kColumns, kDepth);
  for (uint32_t row = 0; row < kRows; ++row) {
    for (uint32_t column = 0; column < kColumns; ++column) {
      float sum = 0;
      for (uint32_t k = 0; k < kDepth; ++k)
        sum += element(a, row * kDepth + k) * element(b, column * kDepth + k);
      REQUIRE(std::fabs(element(a, row * kDepth)) <= 3);
      const uint32_t i = row * kColumns + column;
      const uint32_t bits = (i % 2 == 0 ? words[i / 2] : words[i / 2] >> 16) << 16;
      float found = 0;
      std::memcpy(&found, &bits, 4);
      CHECK(found == sum);  // below 256: exact in bf16
    }
  }
}
