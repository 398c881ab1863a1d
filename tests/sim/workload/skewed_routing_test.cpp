// Routings that are not even: by popularity, with a hot expert, and from a file.
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "sim/workload/routing_file.hpp"

using namespace ptxwire;
using namespace ptxwire::sim;

namespace {

RoutingShape zipf(double exponent) {
  return {.ranks = 4,
          .tokens = 20000,
          .topk = 2,
          .experts = 8,
          .pattern = RoutingPattern::zipf,
          .zipf_exponent = exponent,
          .seed = 3};
}

/// Chances of the experts in their order of popularity.
std::vector<double> chances(const RoutingShape& shape) {
  std::vector<double> chance(shape.experts);
  double sum = 0;
  for (uint32_t k = 0; k < shape.experts; ++k) sum += std::pow(k + 1.0, -shape.zipf_exponent);
  for (uint32_t k = 0; k < shape.experts; ++k) chance[k] = std::pow(k + 1.0, -shape.zipf_exponent) / sum;
  return chance;
}

/// How often each expert is choice `choice` of a rank's tokens, in the order of popularity.
std::vector<double> frequencies(const Routing& routing, uint32_t rank, uint32_t choice) {
  const RoutingShape& shape = routing.shape();
  std::vector<uint32_t> counts(shape.experts);
  for (uint32_t token = 0; token < shape.tokens; ++token)
    ++counts[static_cast<size_t>(routing.experts(rank)[token * shape.topk + choice])];
  std::vector<double> found;
  for (const uint32_t expert : expert_popularity(shape))
    found.push_back(static_cast<double>(counts[expert]) / shape.tokens);
  return found;
}

/// A file that goes when it does.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text)
      : path_((std::filesystem::temp_directory_path() /
               ("ptxwire_routing_" + std::to_string(::getpid()) + ".csv"))
                  .string()) {
    std::ofstream(path_) << text;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { std::filesystem::remove(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

constexpr RoutingShape kFileShape{.ranks = 2, .tokens = 2, .topk = 2, .experts = 8, .nodes = 2};

}  // namespace

// First choice: p_i. Second choice: the sum over other first choices of p_i p_j / (1 - p_i). The standard
// error of a frequency of 20000 tokens is below 0.0036.
TEST_CASE("routing: zipf picks experts as often as drawing without replacement by weight says") {
  for (const double exponent : {0.0, 0.7, 1.0, 2.0}) {
    const RoutingShape shape = zipf(exponent);
    const Routing routing(shape);
    const std::vector<double> p = chances(shape);
    for (const uint32_t rank : {0U, 3U}) {
      const std::vector<double> first = frequencies(routing, rank, 0), second = frequencies(routing, rank, 1);
      for (uint32_t j = 0; j < shape.experts; ++j) {
        INFO("exponent " << exponent << ", rank " << rank << ", place " << j);
        double expected = 0;
        for (uint32_t i = 0; i < shape.experts; ++i)
          if (i != j) expected += p[i] * p[j] / (1 - p[i]);
        CHECK(first[j] == Approx(p[j]).margin(4 * 0.0036));
        CHECK(second[j] == Approx(expected).margin(4 * 0.0036));
      }
    }
  }
}

TEST_CASE("routing: the order of popularity is a permutation that the seed decides") {
  RoutingShape shape{.ranks = 8, .tokens = 1, .topk = 1, .experts = 256, .seed = 1};
  const std::vector<uint32_t> order = expert_popularity(shape);
  CHECK(std::set<uint32_t>(order.begin(), order.end()).size() == 256);
  CHECK(*std::max_element(order.begin(), order.end()) == 255);
  CHECK(order == expert_popularity(shape));
  shape.seed = 2;
  CHECK(order != expert_popularity(shape));
}

TEST_CASE("routing: skewed draws are repeatable, differ between ranks and hold distinct experts") {
  for (const RoutingPattern pattern : {RoutingPattern::zipf, RoutingPattern::hot}) {
    const RoutingShape shape{
        .ranks = 16, .tokens = 50, .topk = 8, .experts = 64, .pattern = pattern, .seed = 4};
    const Routing first(shape), again(shape);
    for (uint32_t rank = 0; rank < 16; ++rank) {
      REQUIRE(first.experts(rank) == again.experts(rank));
      for (uint32_t token = 0; token < 50; ++token) {
        const auto begin = first.experts(rank).begin() + token * 8;
        REQUIRE(std::set<int64_t>(begin, begin + 8).size() == 8);
        REQUIRE(*std::min_element(begin, begin + 8) >= 0);
      }
    }
    CHECK(first.experts(0) != first.experts(1));
  }
}

TEST_CASE("routing: the hot expert is the first choice of every token, the others are even") {
  const RoutingShape shape{
      .ranks = 2, .tokens = 20000, .topk = 3, .experts = 16, .pattern = RoutingPattern::hot, .seed = 6};
  const Routing routing(shape);
  CHECK(routing.expert_total(expert_popularity(shape).front()) == 40000);
  const std::vector<double> second = frequencies(routing, 1, 1);
  for (uint32_t place = 1; place < 16; ++place)  // standard error 0.0018
    CHECK(second[place] == Approx(1.0 / 15).margin(4 * 0.0018));
}

TEST_CASE("routing: skewed tokens also go to four of many nodes at most") {
  for (const RoutingPattern pattern : {RoutingPattern::zipf, RoutingPattern::hot}) {
    const Routing routing({.ranks = 64,
                           .tokens = 100,
                           .topk = 8,
                           .experts = 256,
                           .nodes = 8,
                           .pattern = pattern,
                           .zipf_exponent = 0.3,
                           .seed = 3});
    for (uint32_t token = 0; token < 100; ++token) {
      std::set<int64_t> nodes;
      for (uint32_t k = 0; k < 8; ++k) nodes.insert(routing.experts(11)[token * 8 + k] / 32);
      REQUIRE(nodes.size() <= 4);
    }
  }
}

TEST_CASE("routing: a file says who gets what, in any order, and may say more than is asked") {
  const TemporaryFile file(
      "# logged\n"
      "rank, token, expert0, expert1\r\n"
      "1,0,7,-1\n"
      "\n"
      "0,1,2,3\n"
      "0,0,0,5\n"
      "0,2,1,2\n"  // beyond the tokens of the scenario
      "1,1,-1,-1");
  const auto routing = load_routing(kFileShape, file.path(), 2);
  if (!routing) FAIL(routing.error().to_string());
  CHECK(routing->experts(0) == std::vector<int64_t>{0, 5, 2, 3});
  CHECK(routing->experts(1) == std::vector<int64_t>{7, -1, -1, -1});
  // Experts 0 to 3 are those of rank 0.
  CHECK(routing->count(0, 0) == 2);
  CHECK(routing->count(0, 1) == 1);
  CHECK(routing->count(1, 0) == 0);
  CHECK(routing->count(1, 1) == 1);
  CHECK(routing->expert_total(5) == 1);
}

TEST_CASE("routing: what a file cannot say is refused with its line") {
  const std::string header = "rank,token,expert0,expert1\n", rest = "0,1,0,1\n1,0,0,1\n1,1,0,1\n";
  struct Row {
    std::string text;
    uint32_t line;
    std::string words;
  };
  const std::vector<Row> rows = {
      {"", 0, "the file is empty"},
      {"rank,token,expert0\n0,0,1\n", 1, "expected 'rank,token,expert0,expert1'"},
      {header + "0,0,1\n", 2, "3 fields, expected 4"},
      {header + "0,0,1,x\n", 2, "'x', expected a whole number"},
      {header + "0,0,1,\n", 2, "'', expected a whole number"},
      {header + "0,0,1,2.5\n", 2, "'2.5', expected a whole number"},
      {header + "\n2,0,1,2\n", 3, "rank 2, expected 0 to 1"},
      {header + "0,-1,1,2\n", 2, "token -1, expected 0 or more"},
      {header + "0,0,1,8\n", 2, "expert 8, expected 0 to 7"},
      {header + "0,0,-2,1\n", 2, "expert -2, expected 0 to 7"},
      {header + "0,0,1,1\n", 2, "expert 1 twice"},
      {header + "0,0,1,4\n" + rest, 2, "goes to 2 nodes, these kernels take 1"},
      {header + "0,0,1,2\n0,0,1,2\n", 3, "token 0 of rank 0 has line 2 already"},
      {header + rest, 0, "token 0 of rank 0 has no line, expected 2 tokens of each of 2 ranks"},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    const TemporaryFile file(row.text);
    const auto routing = load_routing(kFileShape, file.path(), 1);
    REQUIRE_FALSE(routing);
    CHECK(routing.error().path == file.path());
    CHECK(routing.error().line == row.line);
    CHECK_THAT(routing.error().message, Catch::Contains(row.words));
  }
  const auto missing = load_routing(kFileShape, "/nowhere/tokens.csv", 1);
  REQUIRE_FALSE(missing);
  CHECK_THAT(missing.error().to_string(), Catch::Contains("/nowhere/tokens.csv"));
}

TEST_CASE("scenario: keys of skewed routings that do not fit are refused") {
  Scenario s;
  s.ranks = 8;
  SECTION("exponent") { s.zipf_exponent = 17; }
  SECTION("pattern without file") { s.routing = RoutingPattern::file; }
  SECTION("file without pattern") { s.routing_file = "tokens.csv"; }
  const auto valid = validate(s);
  REQUIRE_FALSE(valid);
  CHECK_THAT(valid.error().message, Catch::Contains("'zipf_exponent' is 17") ||
                                        Catch::Contains("no 'routing_file'") ||
                                        Catch::Contains("'routing' is not file"));
}
