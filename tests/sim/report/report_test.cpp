#include <catch2/catch.hpp>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "sim/report/check_report.hpp"
#include "sim/report/predict_report.hpp"
#include "sim/report/run_report.hpp"
#include "sim/report/table.hpp"

using namespace ptxwire::sim;
using nlohmann::json;

namespace {

Outcome outcome() {
  Outcome outcome{.scenario = "h800_intranode_dispatch_ep8",
                  .settings = {"tokens=4096", "chunk=6"},
                  .time_us = 1043.25,
                  .time_us_rank0 = 1051.5,
                  .logical_gb_per_s = 153.7,
                  .wire_gb_per_s = 134.5,
                  .bound_us = 865,
                  .bound_share = 0.83,
                  .warp_instructions = 123,
                  .events = 456,
                  .result = ResultState::correct};
  outcome.bottleneck.binding = "nvlink egress (93 % busy at its busiest)";
  outcome.bottleneck.resources = {{"nvlink egress", 0.8, 0.93}};
  outcome.bottleneck.roles = {{"dispatch", "even CTAs", 768, 1000, {{"store_window", 700, 0.7}}}};
  outcome.bottleneck.path = {{"dispatch on gpu 3, odd CTAs", "local_poll", 0.74, "what even CTAs write"}};
  outcome.kernels = {{"dispatch", 1000, 1010}};
  outcome.memory.gpu0 = {.l2_lines = 1000,
                         .holdings = {{"dispatch", 620, 700}, {"layer_norm", 250, 500}},
                         .evictions = {{"dispatch", "layer_norm", 81}, {"dispatch", "dispatch", 12}}};
  outcome.memory.all_gpus = {.l2_lines = 2000,
                             .l2_read_bytes = 4096,
                             .l2_read_miss_bytes = 1024,
                             .hbm_read_bytes = 1024,
                             .hbm_row_hits = 6,
                             .hbm_row_openings = 2,
                             .evictions = {{"dispatch", "layer_norm", 200}}};
  return outcome;
}

CheckReport check_report() {
  CheckReport report;
  CheckedRow row{.measurement = {.id = "h800-ep8-dispatch-fp8-0224",
                                 .source_id = "S",
                                 .group = "g",
                                 .family = "h800-intranode",
                                 .settings = {"tokens=4096"},
                                 .metric = "logical_bandwidth",
                                 .unit = "GB/s",
                                 .value = 153,
                                 .role = Role::test},
                 .settings = {"tokens=4096", "chunk=16"},  // the second is the suite's: a note
                 .outcome = outcome(),
                 .predicted = 183.6,
                 .error_pct = 20,
                 .max_error_pct = 15};
  report.rows = {row};
  report.all = {.mape_pct = 20, .bias_pct = 20, .worst_pct = 20, .rows = 1};
  report.families["h800-intranode"] = report.all;
  report.not_run = {{"h800-ep16-dispatch", "internode kernels are not in this version", false}};
  return report;
}

std::string on_one_line(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words{std::istream_iterator<std::string>(stream), {}};
  return joined(words);
}

void check_width(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    CHECK(line.size() <= kReportWidth);
  }
}

}  // namespace

TEST_CASE("run report: the keys of the contract") {
  const json document = json::parse(run_json(outcome()));
  for (const char* key : {"time_us", "logical_gb_per_s", "wire_gb_per_s", "bound_share", "bottleneck",
                          "warp_instructions", "wall_s", "peak_rss_bytes", "result"}) {
    INFO(key);
    CHECK(document.contains(key));
  }
  CHECK(document["result"] == "correct");
  CHECK(document["bottleneck"].is_string());
  CHECK(document["time_us"] == 1043.25);
}

TEST_CASE("run report: the text fits the terminal and says what matters") {
  Outcome long_one = outcome();
  long_one.settings.assign(20, "some_setting=12345");
  long_one.bottleneck.binding +=
      std::string(30, ' ') + "and a long explanation that goes on and on and on and on and on";
  RoleProfile& role = long_one.bottleneck.roles[0];
  for (const char* reason : {"release or fence", "reconvergence of lanes", "cluster barrier"}) {
    role.waits.push_back({reason, 123, 0.1});
  }
  check_width(run_text(long_one));
  const std::string text = run_text(outcome());
  for (const char* words :
       {"1043.2 us per call", "153.7 GB/s logical", "134.5 GB/s on NVLink", "83 % of it reached",
        "local_poll 74 %", "store_window 70 % (700 us)", "correct"}) {
    CHECK_THAT(text, Catch::Contains(words));
  }
}

TEST_CASE("run report: a microbenchmark shows its figures in place of bandwidths") {
  Outcome micro = outcome();
  micro.figures = {{"near_clk", 258.125, "clk"}, {"bytes_per_clk_per_sm", 64, "B/clk/SM"}};
  const std::string text = run_text(micro);
  check_width(text);
  CHECK_THAT(text, Catch::Contains("near_clk              258.12  clk\n"));
  CHECK_THAT(text, Catch::Contains("64.00  B/clk/SM"));
  CHECK_THAT(text, !Catch::Contains("logical"));
  CHECK(json::parse(run_json(micro))["figures"][0]["name"] == "near_clk");
}

TEST_CASE("run report: who took whose place in L2") {
  const std::string text = run_text(outcome());
  CHECK_THAT(text, Catch::Contains("L2 read 4.0 KiB (25 % missed)"));
  CHECK_THAT(text, Catch::Contains("written 0 B, 75 % to"));
  CHECK_THAT(
      text, Catch::Contains(
                "L2 lines of GPU 0  at end  at most  took of layer_norm  took of dispatch  on all GPUs\n"
                "  dispatch             62 %     70 %                  81                12          200\n"
                "  layer_norm           25 %     50 %                   0                 0            0\n"));
  const json memory = json::parse(run_json(outcome()))["memory"];
  CHECK(memory["gpu0"]["l2_evictions"][0] ==
        json({{"evictor", "dispatch"}, {"victim", "layer_norm"}, {"lines", 81}}));
  CHECK(memory["gpu0"]["l2_holdings"][1] ==
        json({{"kernel", "layer_norm"}, {"lines_at_end", 250}, {"peak_lines", 500}}));
  CHECK(memory["all_gpus"]["l2_evictions"][0]["lines"] == 200);

  Outcome many = outcome();
  for (int i = 0; i < 14; ++i)
    many.memory.gpu0.evictions.push_back({"dispatch", "a_kernel_with_a_long_name_" + std::to_string(i), 5});
  CHECK_THAT(run_text(many), Catch::Contains("of others"));
}

TEST_CASE("run report: a wrong result is shown with its first wrong value") {
  Outcome wrong = outcome();
  wrong.result = ResultState::wrong;
  wrong.mismatch = "rank 3, row 17: byte 5 is 2, expected 3";
  CHECK_THAT(run_text(wrong), Catch::Contains("WRONG: rank 3, row 17: byte 5 is 2, expected 3"));
  CHECK(json::parse(run_json(wrong))["result"] == "wrong");
}

TEST_CASE("run report: a cached outcome reads back as it was") {
  const auto read = outcome_from_json(to_json(outcome()).dump());
  REQUIRE(read);
  CHECK(run_text(*read) == run_text(outcome()));
  CHECK_FALSE(outcome_from_json("{}"));
  CHECK_FALSE(outcome_from_json("no json"));
}

TEST_CASE("predict report: interval and range are null without a calibration") {
  Prediction prediction{.base = outcome(), .changed = outcome(), .delta_pct = -25};
  prediction.changed.time_us = 782.4;
  prediction.changed.memory.all_gpus.evictions[0].lines = 50;
  CHECK_THAT(predict_text(prediction), Catch::Contains("dispatch of layer_norm"));
  CHECK_THAT(predict_text(prediction), Catch::Contains("-150"));
  const json document = json::parse(predict_json(prediction));
  CHECK(document["base"]["time_us"] == 1043.25);
  CHECK(document["changed"]["time_us"] == 782.4);
  CHECK(document["delta_pct"] == -25);
  REQUIRE(document["interval_pct"].size() == 2);
  CHECK(document["interval_pct"][0].is_null());
  CHECK(document["in_range"].is_null());
  CHECK_THAT(predict_text(prediction), Catch::Contains("-25.0 %"));
  check_width(predict_text(prediction));
}

TEST_CASE("predict report: waits and resources before and after") {
  Prediction prediction{.base = outcome(), .changed = outcome()};
  prediction.base.bottleneck.roles = {
      {"dispatch", "senders (even CTAs)", 768, 1000, {{"store window", 120, 0.6}, {"issuing", 60, 0.3}}},
      {"notify", "even CTAs", 8, 10, {{"release or fence", 3, 0.5}}}};
  prediction.changed.bottleneck.roles = {
      {"dispatch",
       "senders (even CTAs)",
       768,
       1000,
       {{"issuing", 61, 0.5}, {"release or fence", 40, 0.4}, {"atomic", 1, 0.01}}}};
  prediction.changed.bottleneck.resources = {{"nvlink egress", 0.6, 0.88}};
  prediction.changed.bottleneck.binding = "release or fence of the senders";
  const std::string text = predict_text(prediction);
  const auto has_line = [&](const std::vector<std::string>& words) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream cells(line);
      const std::vector<std::string> found{std::istream_iterator<std::string>(cells), {}};
      if (found == words) return true;
    }
    return false;
  };
  INFO(text);
  CHECK(has_line({"store", "window", "120.0", "0.0", "-120.0", "us"}));
  CHECK(has_line({"issuing", "60.0", "61.0", "+1.0", "us"}));
  CHECK(has_line({"release", "or", "fence", "0.0", "40.0", "+40.0", "us"}));
  CHECK(has_line({"nvlink", "egress", "93", "88", "-5", "pt"}));
  CHECK_THAT(text, !Catch::Contains("atomic"));
  CHECK_THAT(text, Catch::Contains("base: nvlink egress (93 %") &&
                       Catch::Contains("changed: release or fence of the senders"));
  check_width(text);
}

TEST_CASE("reports: bytes of the user's names that are no UTF-8 do not break JSON") {
  Prediction prediction{.base = outcome(), .changed = outcome()};
  prediction.changed.settings = {"ptx=\xff\xfe.ptx"};
  CHECK(json::accept(predict_json(prediction)));
  CHECK(json::accept(run_json(prediction.changed)));
  CHECK(json::accept(json_text(to_json(prediction.changed), JsonLayout::compact)));
}

TEST_CASE("check report: the keys of the contract, and what is over its threshold") {
  CheckReport report = check_report();
  report.rows[0].measurement.id = "h100-ep8-dispatch-h7168-k8-e256-t1024-sm24";
  report.rows[0].outcome.result = ResultState::wrong;
  report.rows[0].outcome.mismatch = "rank 3, row 17: byte 5 is 2, expected 3";
  report.rows[0].from_cache = true;
  const json document = json::parse(check_json(report));
  const json& row = document["rows"][0];
  for (const char* key :
       {"id", "family", "gpu", "metric", "unit", "predicted", "measured", "error_pct", "role", "source_id"}) {
    INFO(key);
    CHECK(row.contains(key));
  }
  CHECK(document["mape_pct"] == 20);
  CHECK(document["families"].contains("h800-intranode"));
  CHECK(document["not_run"][0]["id"] == "h800-ep16-dispatch");
  CHECK(document["passed"] == false);
  const std::string text = check_text(report);
  const std::string words = on_one_line(text);
  CHECK_THAT(words,
             Catch::Contains("WRONG RESULT, over 15 %, chunk=16, cached") && Catch::Contains("FAILED: 1"));
  CHECK_THAT(words, Catch::Contains("internode kernels are not in this version"));
  CHECK_THAT(words,
             Catch::Contains("t1024-sm24: wrong result, rank 3, row 17: byte 5 is 2, expected 3; 83 % of "
                             "the speed of light; nvlink egress (93 % busy at its busiest)"));
  check_width(text);
}
