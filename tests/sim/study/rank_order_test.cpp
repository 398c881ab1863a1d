#include "sim/study/rank_order.hpp"

#include <catch2/catch.hpp>
#include <cmath>

using namespace ptxwire::sim;

namespace {

Measurement row(std::string id, std::vector<std::string> settings, double value, std::string source = "S") {
  Measurement measurement;
  measurement.id = std::move(id);
  measurement.source_id = std::move(source);
  measurement.settings = std::move(settings);
  measurement.value = value;
  return measurement;
}

}  // namespace

TEST_CASE("rank order: only the order counts") {
  using Pairs = std::vector<std::pair<double, double>>;
  CHECK(*rank_correlation(Pairs{{1, 10}, {2, 100}, {5, 101}, {6, 5000}}) == Approx(1));
  CHECK(*rank_correlation(Pairs{{1, 9}, {2, 8}, {3, 0}}) == Approx(-1));
  // Without equal values 1 - 6 sum d^2 / n (n^2 - 1): ranks 1 2 3 4 5 against 2 1 4 3 5, d^2 sums to 4.
  CHECK(*rank_correlation(Pairs{{1, 2}, {2, 1}, {3, 4}, {4, 3}, {5, 5}}) == Approx(1 - 6.0 * 4 / (5 * 24)));
  // Equal values share ranks: 1.5 1.5 3 against 1 2 3; Pearson of these is 1.5 / sqrt(1.5 * 2).
  CHECK(*rank_correlation(Pairs{{7, 1}, {7, 2}, {8, 3}}) == Approx(1.5 / std::sqrt(1.5 * 2)));
}

TEST_CASE("rank order: there is none of too few pairs or of a constant side") {
  CHECK_FALSE(rank_correlation({}));
  CHECK_FALSE(rank_correlation({{1, 2}}));
  CHECK_FALSE(rank_correlation({{1, 2}, {1, 3}, {1, 4}}));
}

TEST_CASE("rank order: rows belong together that differ in one setting alone, four of them at least") {
  std::vector<Measurement> rows;
  for (const int chunk : {4, 8, 12, 16})
    rows.push_back(
        row("a" + std::to_string(chunk), {"sms=24", "rdma_chunk=" + std::to_string(chunk)}, chunk));
  rows.push_back(row("other source", {"sms=24", "rdma_chunk=20"}, 20, "T"));
  rows.push_back(row("other setting", {"sms=16", "rdma_chunk=20"}, 20));
  std::vector<PredictedRow> predicted;
  for (const Measurement& measurement : rows) predicted.push_back({&measurement, -measurement.value});
  const std::vector<KnobOrder> orders = knob_orders(predicted);
  REQUIRE(orders.size() == 1);
  CHECK(orders[0].knob == "rdma_chunk");
  CHECK(orders[0].ids == std::vector<std::string>{"a4", "a8", "a12", "a16"});
  CHECK(orders[0].where.find("sms=24") != std::string::npos);
  CHECK(*orders[0].correlation == Approx(-1));
}
