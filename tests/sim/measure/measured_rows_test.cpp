// Rows of a measurement: what they say, and that check's reader takes them.
#include "sim/measure/measured_rows.hpp"

#include <catch2/catch.hpp>
#include <set>

using namespace ptxwire;       // NOLINT(google-build-using-namespace)
using namespace ptxwire::sim;  // NOLINT(google-build-using-namespace)

namespace {

const GpuRunResult kResult{
    .gpu = "NVIDIA H200",
    .driver = "12.8",
    .clock_mhz = 1980,
    .repeats = 20,
    .time_us = {.median = 12.5, .least = 12, .most = 13},
    .figures = {{"clk_per_access", "clk", {.median = 1.0 / 3, .least = 0.3, .most = 0.4}},
                {"gb_per_s", "GB/s", {.median = 5, .least = 4, .most = 6}},
                {"kernel_us", "us", {.median = 9, .least = 9, .most = 9}}}};

}  // namespace

TEST_CASE("measured rows: medians with scenario, source and role, as the reader has them", "[contract]") {
  const std::vector<Measurement> rows =
      measured_rows(kResult, {.scenario = "micro_chase_l1",
                              .settings = {"values.accesses=64", "entry=chase_l1"},
                              .machine = "h800-node",
                              .role = Role::fit,
                              .date = "2026-01-31"});
  // Microseconds are no unit of a figure: the time has a row of its own.
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].id ==
        "nvidia-h200-micro-chase-l1-values-accesses-64-entry-chase-l1-clk-per-access-2026-01-31");
  CHECK(rows[0].settings == std::vector<std::string>{"values.accesses=64", "entry=chase_l1"});
  CHECK(rows[1].settings ==
        std::vector<std::string>{"values.accesses=64", "entry=chase_l1", "figure=gb_per_s"});
  CHECK(rows[2].metric == "time");
  CHECK(rows[2].value == 12.5);

  const auto read = parse_measurements(measurements_text(rows), "rows.csv");
  if (!read) FAIL(read.error().to_string());
  REQUIRE(read->size() == rows.size());
  std::set<std::string> ids;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Measurement &row = (*read)[i], &written = rows[i];
    ids.insert(row.id);
    CHECK(row.id == written.id);
    CHECK(row.group == row.id);
    CHECK(row.source_id ==
          "ptxwire measure, 2026-01-31: NVIDIA H200, CUDA driver 12.8, 1980 MHz, median of 20 calls");
    CHECK(row.family == "measured-nvidia-h200");
    CHECK(row.gpu == "NVIDIA H200");
    CHECK(row.machine == "h800-node");
    CHECK(row.scenario == "micro_chase_l1");
    CHECK(row.settings == written.settings);
    CHECK(row.unit == written.unit);
    CHECK(row.value == written.value);  // to the last bit
    CHECK(row.role == Role::fit);
  }
  CHECK(ids.size() == rows.size());
}
