#include "sim/workload/test_data.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <vector>

using namespace ptxwire::sim;

// Patterns by hand from the format: 1 sign, 8 exponent, 7 mantissa bits, the upper half of a float.
TEST_CASE("test data: BF16 conversion rounds to nearest even") {
  CHECK(to_bf16(0.0F) == 0x0000);
  CHECK(to_bf16(1.0F) == 0x3f80);
  CHECK(to_bf16(-2.0F) == 0xc000);
  CHECK(to_bf16(248.0F) == 0x4378);
  CHECK(to_bf16(257.0F) == to_bf16(256.0F));    // halfway between 256 and 258: even mantissa
  CHECK(from_bf16(to_bf16(259.0F)) == 260.0F);  // halfway between 258 and 260: even mantissa
  CHECK(from_bf16(to_bf16(257.5F)) == 258.0F);
}

TEST_CASE("test data: a row differs from itself only where a byte was changed") {
  const TestData data(1);
  std::vector<uint8_t> row(7168);
  data.fill_row(3, 17, row);
  CHECK(data.first_difference(3, 17, row) == row.size());
  CHECK(data.first_difference(3, 18, row) < 8);
  CHECK(data.first_difference(2, 17, row) < 8);
  CHECK(TestData(2).first_difference(3, 17, row) < 8);
  for (const size_t byte : {size_t{0}, size_t{8}, size_t{1003}, row.size() - 1}) {
    std::vector<uint8_t> changed = row;
    changed[byte] ^= 0x40;
    CHECK(data.first_difference(3, 17, changed) == byte);
    CHECK(data.row_byte(3, 17, byte) == row[byte]);
  }
}

TEST_CASE("test data: bytes of a row are spread evenly") {
  const TestData data(1);
  std::vector<uint8_t> row(1U << 16);
  data.fill_row(0, 0, row);
  std::array<int, 256> counts{};
  for (const uint8_t byte : row) ++counts[byte];
  double chi_squared = 0;
  for (const int count : counts) chi_squared += (count - 256.0) * (count - 256.0) / 256.0;
  CHECK(chi_squared < 255 + 5 * 22.6);  // 255 degrees of freedom: standard deviation 22.6
}

TEST_CASE("test data: summands are whole, at most 31, and add_summand adds what fill_summand wrote") {
  const TestData data(7);
  std::vector<uint16_t> row(7168);
  std::vector<float> sum(7168, 100.0F);
  data.fill_summand(2, 5, 99, row);
  data.add_summand(2, 5, 99, sum);
  std::map<float, int> seen;
  for (size_t i = 0; i < row.size(); ++i) {
    const float value = from_bf16(row[i]);
    REQUIRE(value == std::trunc(value));
    REQUIRE(std::abs(value) <= 31.0F);
    REQUIRE(sum[i] == 100.0F + value);
    ++seen[value];
  }
  CHECK(seen.size() == 63);
}

TEST_CASE("test data: eight largest summands are exact in BF16") {
  for (int sum = -8 * 31; sum <= 8 * 31; ++sum)
    REQUIRE(from_bf16(to_bf16(static_cast<float>(sum))) == static_cast<float>(sum));
}
