#include "sim/study/measurement.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <set>

using namespace ptxwire;
using namespace ptxwire::sim;

namespace {

const std::string kHeader =
    "id,source_id,group,family,gpu,machine,scenario,settings,metric,unit,value,role,cost_s\n";

std::string row_text(const std::string& id, const std::string& unit, const std::string& role) {
  return id + ",S,,fam,H800,h800-node,some_scenario,tokens=4;sms=2,time," + unit + ",12.5," + role + ",\n";
}

const std::vector<Measurement>& committed() {
  static const std::vector<Measurement> rows = [] {
    Expected<std::vector<Measurement>> read = read_measurements(PTXWIRE_SOURCE_DIR "/traces/measurements");
    if (!read) FAIL(read.error().to_string());
    return *read;
  }();
  return rows;
}

const Measurement& by_id(const std::string& id) {
  for (const Measurement& row : committed()) {
    if (row.id == id) return row;
  }
  FAIL("no row " << id);
  return committed().front();
}

}  // namespace

TEST_CASE("measurements: a row is read") {
  const auto rows = parse_measurements(kHeader + row_text("a", "us", "fit"), "m.csv");
  REQUIRE(rows);
  REQUIRE(rows->size() == 1);
  const Measurement& row = rows->front();
  CHECK(row.group == "a");  // alone: its own group
  CHECK(row.settings == std::vector<std::string>{"tokens=4", "sms=2"});
  CHECK(row.value == 12.5);
  CHECK(row.role == Role::fit);
  CHECK_FALSE(row.cost_s.has_value());
}

TEST_CASE("measurements: an unknown unit is an error that names file and line") {
  const auto rows =
      parse_measurements(kHeader + row_text("a", "us", "fit") + row_text("b", "ms", "fit"), "m.csv");
  REQUIRE_FALSE(rows);
  CHECK(rows.error().path == "m.csv");
  CHECK(rows.error().line == 3);
  CHECK_THAT(rows.error().message, Catch::Contains("unknown unit 'ms'") && Catch::Contains("'us'"));
}

TEST_CASE("measurements: what is wrong is named with its line") {
  const auto message = [](const std::string& rows) {
    const auto parsed = parse_measurements(kHeader + rows, "m.csv");
    return parsed ? std::string("accepted") : parsed.error().to_string();
  };
  using Catch::Contains;
  CHECK_THAT(message(row_text("a", "us", "gate")), Contains("m.csv:2") && Contains("unknown role 'gate'"));
  CHECK_THAT(message(row_text("a", "us", "fit") + "\n" + row_text("a", "us", "fit")),
             Contains("m.csv:4") && Contains("already at m.csv:2"));
  CHECK_THAT(message("a,b\n"), Contains("m.csv:2") && Contains("expected 13 fields"));
  CHECK_THAT(message("a,S,,f,g,m,s,,time,us,fast,fit,\n"), Contains("'fast', expected a number"));
  CHECK_THAT(message("a,S,,f,g,m,s,,speed,us,1,fit,\n"), Contains("unknown metric 'speed'"));
  CHECK_THAT(message("\"a,S"), Contains("m.csv:2") && Contains("never ends"));
}

TEST_CASE("measurements: another header is refused") {
  CHECK_FALSE(parse_measurements("id,value\n", "m.csv"));
  CHECK_FALSE(parse_measurements("", "m.csv"));
}

TEST_CASE("measurements: the committed rows hold the published figures") {
  // Values as printed in the tables of 2025-02-24 and in the H100 sweep.
  CHECK(by_id("h800-ep8-dispatch-fp8-0224").value == 153);
  CHECK(by_id("h800-ep8-combine-bf16-0224").value == 158);
  CHECK(by_id("h800-ep8-dispatch-fp8-0224").unit == "GB/s");
  CHECK(by_id("h800-ep8-dispatch-fp8-0422").group == by_id("h800-ep8-dispatch-fp8-0224").group);
  CHECK(by_id("h100-ep8-dispatch-h7168-k8-e256-t1024-sm24").value == 154.16);
  CHECK(by_id("h100-ep8-combine-h7168-k8-e256-t4096-sm4").value == 3897.28);
}

TEST_CASE("measurements: committed roles are the frozen ones") {
  CHECK(by_id("h800-ep8-dispatch-fp8-0224").role == Role::test);
  CHECK(by_id("h800-ep16-dispatch-fp8-0422").role == Role::fit);
  CHECK(by_id("h800-ep32-combine-bf16-0422").role == Role::test);
  CHECK(by_id("h100-ep8-dispatch-h7168-k8-e256-t128-sm8").role == Role::fit);
  CHECK(by_id("h100-ep8-dispatch-h4096-k8-e256-t128-sm8").role == Role::test);
  for (const Measurement& row : committed()) {
    INFO(row.id);
    if (row.gpu == "unstated" || row.gpu == "H100_or_H200" || row.gpu == "H200")
      CHECK(row.role == Role::report);
  }
}

TEST_CASE("measurements: no group is both fitted and tested on") {
  std::map<std::string, std::set<Role>> roles;
  for (const Measurement& row : committed()) roles[row.group].insert(row.role);
  for (const auto& [group, found] : roles) {
    INFO(group);
    CHECK_FALSE((found.contains(Role::fit) && found.contains(Role::test)));
  }
}
