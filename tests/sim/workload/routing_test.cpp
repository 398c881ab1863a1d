#include "sim/workload/routing.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "sim/workload/handle.hpp"

using namespace ptxwire::sim;

namespace {

double mean_distinct_ranks(const Routing& routing) {
  const RoutingShape& shape = routing.shape();
  double copies = 0;
  for (uint32_t d = 0; d < shape.ranks; ++d) copies += static_cast<double>(routing.received(d));
  return copies / (static_cast<double>(shape.ranks) * shape.tokens);
}

}  // namespace

// 8 experts of 256 without replacement miss a given block of 32 with probability C(224,8)/C(256,8) =
// 0.338165, so a token reaches 8 (1 - 0.338165) ranks in the mean. The published accounting uses the same
// number.
TEST_CASE("routing: the closed form of distinct ranks gives the published 5.2947") {
  CHECK(expected_distinct_ranks(8, 256, 8) == Approx(5.2947).margin(5e-5));
  CHECK(expected_distinct_ranks(1, 256, 8) == Approx(1.0));
  CHECK(expected_distinct_ranks(256, 256, 8) == Approx(8.0));
}

TEST_CASE("routing: distinct ranks per token agree with the closed form within sampling error") {
  for (const uint64_t seed : {1, 2, 3}) {
    const Routing routing({.ranks = 8, .tokens = 4096, .topk = 8, .experts = 256, .seed = seed});
    // The variance of the number of distinct ranks is below 0.9, so 32768 tokens give a standard error below
    // 0.0053.
    CHECK(mean_distinct_ranks(routing) == Approx(expected_distinct_ranks(8, 256, 8)).margin(4 * 0.0053));
  }
}

TEST_CASE("routing: every token has K distinct experts, and membership is what they say") {
  const Routing routing({.ranks = 4, .tokens = 500, .topk = 6, .experts = 32, .seed = 7});
  for (uint32_t rank = 0; rank < 4; ++rank)
    for (uint32_t token = 0; token < 500; ++token) {
      std::set<int64_t> experts, owners;
      for (uint32_t k = 0; k < 6; ++k) {
        const int64_t expert = routing.experts(rank)[token * 6 + k];
        REQUIRE((expert >= 0 && expert < 32));
        experts.insert(expert);
        owners.insert(expert / 8);
      }
      REQUIRE(experts.size() == 6);
      for (uint32_t d = 0; d < 4; ++d) REQUIRE(routing.selected(rank, token, d) == owners.contains(d));
    }
}

TEST_CASE("routing: each expert is picked equally often") {
  const Routing routing({.ranks = 8, .tokens = 4096, .topk = 8, .experts = 256, .seed = 5});
  const std::vector<int32_t> counts = routing.expert_counts(3);
  double chi_squared = 0;
  const double expected = 4096.0 * 8 / 256;
  for (const int32_t count : counts) chi_squared += (count - expected) * (count - expected) / expected;
  // 255 degrees of freedom: mean 255, standard deviation 22.6; drawing without replacement only narrows it.
  CHECK(chi_squared < 255 + 5 * 22.6);
  CHECK(chi_squared > 255 - 5 * 22.6);
}

TEST_CASE("routing: more than four nodes are limited to four per token") {
  const Routing routing({.ranks = 64, .tokens = 200, .topk = 8, .experts = 256, .nodes = 8, .seed = 3});
  for (uint32_t token = 0; token < 200; ++token) {
    std::set<int64_t> nodes;
    for (uint32_t k = 0; k < 8; ++k) nodes.insert(routing.experts(11)[token * 8 + k] / 32);
    REQUIRE(nodes.size() <= 4);
  }
}

TEST_CASE("routing: patterns do what they are named after") {
  const RoutingShape shape{.ranks = 8, .tokens = 300, .topk = 8, .experts = 256, .seed = 2};
  RoutingShape patterned = shape;
  patterned.pattern = RoutingPattern::all_to_one;
  const Routing all(patterned);
  CHECK(all.received(0) == 8 * 300);
  for (uint32_t d = 1; d < 8; ++d) CHECK(all.received(d) == 0);

  patterned.pattern = RoutingPattern::none_to_last;
  const Routing none(patterned);
  CHECK(none.received(7) == 0);
  CHECK(none.received(6) > 0);

  patterned.pattern = RoutingPattern::masked;
  const Routing masked(patterned);
  uint32_t voids = 0, empty = 0;
  for (uint32_t token = 0; token < 300; ++token) {
    uint32_t here = 0;
    for (uint32_t k = 0; k < 8; ++k) here += masked.experts(0)[token * 8 + k] == -1;
    voids += here;
    empty += here == 8;
  }
  CHECK(voids > 300 * 8 / 8);
  CHECK(voids < 300 * 8 / 2);
  CHECK(empty > 0);
}

TEST_CASE("routing: void selections are taken out of an otherwise equal draw, and experts are counted") {
  RoutingShape shape{.ranks = 4, .tokens = 50, .topk = 4, .experts = 16, .seed = 5};
  const Routing whole(shape);
  shape.void_selections = 10;
  const Routing some(shape);
  std::vector<uint32_t> totals(16);
  for (uint32_t rank = 0; rank < 4; ++rank) {
    uint32_t voids = 0;
    for (size_t i = 0; i < 200; ++i) {
      const int64_t expert = some.experts(rank)[i];
      if (expert < 0)
        ++voids;
      else
        ++totals[static_cast<size_t>(expert)];
      if (expert >= 0) REQUIRE(expert == whole.experts(rank)[i]);
    }
    CHECK(voids >= 1);  // positions may repeat
    CHECK(voids <= 10);
  }
  for (uint32_t expert = 0; expert < 16; ++expert) CHECK(some.expert_total(expert) == totals[expert]);
}

TEST_CASE("routing: the same seed gives the same routing, another seed another, and ranks differ") {
  const RoutingShape shape{.ranks = 8, .tokens = 64, .topk = 8, .experts = 256, .seed = 9};
  const Routing first(shape), again(shape);
  RoutingShape other_shape = shape;
  other_shape.seed = 10;
  const Routing other(other_shape);
  CHECK(first.experts(5) == again.experts(5));
  CHECK(first.experts(5) != other.experts(5));
  CHECK(first.experts(5) != first.experts(4));
}

TEST_CASE("handle: channels cover the tokens once, also where they do not divide or are too few") {
  for (const uint32_t tokens : {0U, 1U, 5U, 12U, 100U, 4096U})
    for (const uint32_t channels : {1U, 2U, 7U, 12U}) {
      uint32_t next = 0;
      for (uint32_t c = 0; c < channels; ++c) {
        const TokenSpan span = channel_tokens(tokens, channels, c);
        REQUIRE(span.begin == next);
        REQUIRE(span.end >= span.begin);
        next = span.end;
      }
      REQUIRE(next == tokens);
    }
}

// A second way to the same tables: walk what arrives, row by row, and write down where each channel starts.
TEST_CASE("handle: matrix, offsets and records agree with a walk over the arriving rows") {
  const uint32_t channels = 5;
  const Routing routing({.ranks = 4, .tokens = 103, .topk = 3, .experts = 16, .seed = 4});
  const std::vector<int32_t> matrix = rank_matrix(routing);
  for (uint32_t d = 0; d < 4; ++d) {
    const std::vector<int32_t> offsets = channel_offsets(routing, d, channels);
    int32_t row = 0;
    for (uint32_t s = 0; s < 4; ++s) {
      const int32_t block = row;
      const std::vector<int32_t> record = slot_record(routing, s, channels);
      for (uint32_t c = 0; c < channels; ++c) {
        REQUIRE(offsets[s * channels + c] == row - block);
        int32_t in_channel = 0;
        for (uint32_t t = c * 21; t < std::min((c + 1) * 21, 103U); ++t) {  // 21 = ceil(103 / 5)
          if (!routing.selected(s, t, d)) {
            REQUIRE(record[t * 4 + d] == -1);
            continue;
          }
          REQUIRE(record[t * 4 + d] == in_channel++);
          ++row;
        }
        REQUIRE(channel_prefix(routing, s, channels)[d * channels + c] == row - block);
      }
      REQUIRE(matrix[s * 4 + d] == row);
    }
  }
}
