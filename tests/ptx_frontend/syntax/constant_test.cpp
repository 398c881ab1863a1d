// Constants and constant expressions against ISA chapter 4.5.
#include <catch2/catch.hpp>

#include "tests/ptx_frontend/front_end_driver.hpp"

namespace ptxwire::ptx {
namespace {

/// The last operand of "mov r, <text>".
Operand operand_of(const std::string& text) {
  const auto parsed = test::parse_text(test::header() + ".entry k() { mov.b64 a, " + text + "; }");
  INFO(parsed.rendered());
  REQUIRE_FALSE(parsed.diagnostics.has_errors());
  return parsed.module.functions.at(0).body.at(0).operands.at(1);
}

TEST_CASE("syntax: integer literals and expressions", "[contract]") {
  struct Row {
    const char* text;
    uint64_t value;
  };
  // Values by hand from the ISA's rules: .s64 unless U or too large, usual C conversions.
  const Row rows[] = {{"10", 10},
                      {"0x1F", 31},
                      {"0X1f", 31},
                      {"017", 15},
                      {"0b101", 5},
                      {"7U", 7},
                      {"0", 0},
                      {"-1", UINT64_MAX},
                      {"~0", UINT64_MAX},
                      {"!5", 0},
                      {"!0", 1},
                      {"1+2*3", 7},
                      {"(1+2)*3", 9},
                      {"10-4-3", 3},
                      {"7/2", 3},
                      {"-7/2", static_cast<uint64_t>(-3)},
                      {"-7 % 4", static_cast<uint64_t>(-3)},
                      {"1<<40", uint64_t{1} << 40},
                      {"-8>>1", static_cast<uint64_t>(-4)},
                      {"0x8000000000000000>>63", 1},
                      {"6&3|8", 10},
                      {"6^3", 5},
                      {"1 < 2", 1},
                      {"-1 < 1U", 0},  // unsigned comparison
                      {"2 >= 3", 0},
                      {"1 && 0 || 1", 1},
                      {"1 ? 2 : 3", 2},
                      {"0 ? 2 : 1 ? 4 : 5", 4},
                      {"(.s64)5", 5},
                      {"WARP_SZ", 32},
                      {"WARP_SZ-1", 31},
                      {"18446744073709551615", UINT64_MAX}};
  for (const Row& row : rows) {
    INFO(row.text);
    const Operand operand = operand_of(row.text);
    CHECK(operand.kind == OperandKind::integer);
    CHECK(operand.value == row.value);
  }
  CHECK(operand_of("0xFFFFFFFFFFFFFFFF").is_unsigned);
  CHECK_FALSE(operand_of("5").is_unsigned);
}

TEST_CASE("syntax: floating literals keep their bits", "[contract]") {
  CHECK(operand_of("0f3F800000").kind == OperandKind::float32);
  CHECK(operand_of("0F3f800000").value == 0x3F800000U);
  CHECK(operand_of("0f7FC00001").value == 0x7FC00001U);  // a NaN payload survives
  CHECK(operand_of("0d3FF0000000000000").kind == OperandKind::float64);
  CHECK(operand_of("0d3FF0000000000000").value == 0x3FF0000000000000U);
  CHECK(operand_of("1.0").value == 0x3FF0000000000000U);
  CHECK(operand_of("-0.5").value == 0xBFE0000000000000U);
  CHECK(operand_of(".5").value == 0x3FE0000000000000U);
  CHECK(operand_of("2.5e-1").value == 0x3FD0000000000000U);
  CHECK(operand_of("1.0+1.0").value == 0x4000000000000000U);
}

TEST_CASE("syntax: bad constants are refused", "[contract]") {
  for (const char* text : {"08", "0x", "1u", "1UL", "99999999999999999999", "1/0", "5%0", "1.0f", "0f3F80",
                           "0b2", "-0f3F800000", "1.0<<1", "1 +", "'a'"}) {
    INFO(text);
    const auto parsed = test::parse_text(test::header() + ".entry k() {\nmov.b64 a, " + text + ";\n}");
    REQUIRE(parsed.places().size() == 1);
    CHECK(parsed.places()[0].starts_with("5: "));
  }
}

}  // namespace
}  // namespace ptxwire::ptx
