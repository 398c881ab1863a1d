#include "sim/workload/shorter_call.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

using namespace ptxwire::sim;

namespace {

struct Case {
  std::string name;
  RoutingPattern pattern;
  uint32_t ranks, tokens, channels, left_out;
};

/// Whether the tokens of `part` are some of those of `whole`, in the same order.
bool is_subsequence(const std::vector<int64_t>& part, const std::vector<int64_t>& whole, uint32_t topk) {
  size_t next = 0;
  for (size_t token = 0; token < whole.size() && next < part.size(); token += topk)
    if (std::equal(part.begin() + static_cast<int64_t>(next),
                   part.begin() + static_cast<int64_t>(next + topk),
                   whole.begin() + static_cast<int64_t>(token)))
      next += topk;
  return next == part.size();
}

}  // namespace

TEST_CASE(
    "shorter call: all rings of a pair of ranks lose the same number of rows, in proportion to the pair's") {
  const auto c = GENERATE(Case{"random", RoutingPattern::random, 8, 4096, 12, 171},
                          Case{"few left", RoutingPattern::random, 8, 4096, 12, 276},
                          Case{"two ranks", RoutingPattern::random, 2, 1000, 3, 200},
                          Case{"one rank gets nothing", RoutingPattern::none_to_last, 8, 2048, 4, 256},
                          Case{"void selections", RoutingPattern::masked, 8, 2048, 4, 256});
  INFO(c.name);
  const RoutingShape shape{.ranks = c.ranks, .tokens = c.tokens, .pattern = c.pattern};
  const Routing whole(shape), part = shorter_call(whole, c.channels, c.left_out);
  CHECK(part.shape().tokens == c.tokens - c.channels * c.left_out);
  for (uint32_t rank = 0; rank < c.ranks; ++rank)
    CHECK(is_subsequence(part.experts(rank), whole.experts(rank), shape.topk));

  for (const bool back : {false, true}) {
    const auto before = ring_rows(whole, c.channels, back), after = ring_rows(part, c.channels, back);
    REQUIRE(before.size() == uint64_t{c.ranks} * (c.ranks - 1) * c.channels);
    REQUIRE(after.size() == before.size());
    size_t ring = 0;
    double worst = 0;
    for (uint32_t to = 0; to < c.ranks; ++to)
      for (uint32_t channel = 0; channel < c.channels; ++channel)
        for (uint32_t from = 0; from < c.ranks; ++from) {
          if (from == to) continue;
          const double share =
              static_cast<double>(back ? whole.count(to, from) : whole.count(from, to)) / c.tokens;
          worst = std::max(worst, std::abs(before[ring] - after[ring] - c.left_out * share));
          ++ring;
        }
    CHECK(worst <= 3);
  }
}

TEST_CASE("shorter call: rows of the rings add up to what ranks send each other") {
  const Routing routing({.ranks = 4, .tokens = 300});
  for (const bool back : {false, true}) {
    const auto rows = ring_rows(routing, 5, back);
    uint64_t sum = 0, expected = 0;
    for (const uint32_t count : rows) sum += count;
    for (uint32_t a = 0; a < 4; ++a)
      for (uint32_t b = 0; b < 4; ++b)
        if (a != b) expected += routing.count(a, b);
    CHECK(sum == expected);
  }
}
