#include "sim/study/accuracy.hpp"

#include <catch2/catch.hpp>

using namespace ptxwire::sim;

TEST_CASE("accuracy: an error is relative to the measured value and signed") {
  CHECK(error_pct(110, 100) == Approx(10));
  CHECK(error_pct(90, 100) == Approx(-10));
  CHECK(error_pct(100, 80) == Approx(25));  // not 20: the prediction is not the base
}

TEST_CASE("accuracy: mape is the mean of absolute errors, bias of signed ones") {
  const Accuracy accuracy = accuracy_of({10, -20, 3});
  CHECK(accuracy.mape_pct == Approx(11));
  CHECK(accuracy.bias_pct == Approx(-7.0 / 3));
  CHECK(accuracy.worst_pct == Approx(-20));
  CHECK(accuracy.rows == 3);
}

TEST_CASE("accuracy: no rows have no error") {
  CHECK(accuracy_of({}).rows == 0);
  CHECK(accuracy_of({}).mape_pct == 0);
}

TEST_CASE("accuracy: families are averaged apart and all rows count the same in all") {
  const auto families = accuracy_by_family({{"a", 10}, {"b", -2}, {"a", -30}});
  REQUIRE(families.size() == 2);
  CHECK(families.at("a").mape_pct == Approx(20));
  CHECK(families.at("b").mape_pct == Approx(2));
  // (10 + 2 + 30) / 3, not the mean of the families (11)
  CHECK(accuracy_of({10, -2, -30}).mape_pct == Approx(14));
}

TEST_CASE("accuracy: the median is of magnitudes, between two for an even number") {
  CHECK(accuracy_of({-3, 1, 10}).median_pct == 3);
  CHECK(accuracy_of({-3, 1, 10, 5}).median_pct == 4);
}
