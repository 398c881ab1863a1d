#include "sim/report/check_report.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "sim/report/table.hpp"

namespace ptxwire::sim {
namespace {

using nlohmann::json;

std::string note_of(const CheckedRow& row) {
  std::string note;
  const auto add = [&](const std::string& words) { note += (note.empty() ? "" : ", ") + words; };
  if (row.outcome.result == ResultState::wrong) add("WRONG RESULT");
  if (row.max_error_pct && std::abs(row.error_pct) > *row.max_error_pct) {
    add("over " + fixed(*row.max_error_pct, 0) + " %");
  }
  // What the suite or its search set beyond what the row itself states.
  for (size_t i = row.measurement.settings.size(); i < row.settings.size(); ++i) add(row.settings[i]);
  if (!row.scenario.empty() && row.scenario != row.measurement.scenario) add("run as " + row.scenario);
  if (row.outcome.sampled) add("sampled +-" + fixed(row.outcome.sampled->error_pct, 1) + " %");
  if (row.from_cache) add("cached");
  return note;
}

/// Reasons with how many rows share each, in order of first appearance; one example per reason.
std::string not_run_text(const std::vector<NotRun>& rows) {
  struct Reason {
    size_t rows = 0;
    std::string example;
    bool is_failure = false;
  };
  std::vector<std::string> order;
  std::map<std::string, Reason> reasons;
  for (const NotRun& row : rows) {
    Reason& reason = reasons[row.reason];
    if (reason.rows++ == 0) {
      order.push_back(row.reason);
      reason.example = row.id;
      reason.is_failure = row.is_failure;
    }
  }
  std::string text;
  for (const std::string& words : order) {
    const Reason& reason = reasons.at(words);
    std::string start = "  " + std::string(reason.is_failure ? "FAILED " : "") + std::to_string(reason.rows) +
                        (reason.rows == 1 ? " row" : " rows") + " (" + reason.example +
                        (reason.rows == 1 ? "" : ", ...") + "): ";
    text += "  " + wrapped(start.substr(2) + words, 4, 2);
  }
  return text.empty() ? "" : "\nnot run\n" + text;
}

std::string families_text(const CheckReport& report) {
  Table table({{"family"},
               {"rows", Align::right},
               {"MAPE", Align::right},
               {"median", Align::right},
               {"bias", Align::right},
               {"worst", Align::right}});
  const auto add = [&](const std::string& name, const Accuracy& accuracy) {
    table.add({name, std::to_string(accuracy.rows), fixed(accuracy.mape_pct, 1) + " %",
               fixed(accuracy.median_pct, 1) + " %", signed_percent(accuracy.bias_pct),
               signed_percent(accuracy.worst_pct)});
  };
  for (const auto& [family, accuracy] : report.families) add(family, accuracy);
  if (report.all.rows != 0) add("all", report.all);
  return table.empty() ? "" : '\n' + table.text();
}

std::string means_text(const std::vector<CheckedMean>& means) {
  Table table(
      {{"mean over"}, {"rows", Align::right}, {"MAPE", Align::right}, {"at most", Align::right}, {""}});
  for (const CheckedMean& mean : means)
    table.add({mean.name, std::to_string(mean.accuracy.rows) + " of " + std::to_string(mean.planned),
               fixed(mean.accuracy.mape_pct, 1) + " %", fixed(mean.max_mape_pct, 0) + " %",
               mean.failed()     ? "OVER"
               : mean.complete() ? ""
                                 : "not judged: rows are missing"});
  return table.empty() ? "" : '\n' + table.text();
}

/// Whether knobs act as measured: +1 is the measured order, -1 the opposite one.
std::string orders_text(const std::vector<KnobOrder>& orders) {
  Table table({{"knob"}, {"rows", Align::right}, {"rank correlation", Align::right}, {"of"}});
  for (const KnobOrder& order : orders)
    table.add({order.knob, std::to_string(order.ids.size()),
               order.correlation ? fixed(*order.correlation, 2) : "none", order.where});
  return table.empty() ? "" : '\n' + table.text_wrapped();
}

/// What bound the rows that failed: where to look first.
std::string failures_text(const std::vector<CheckedRow>& rows) {
  std::string text;
  for (const CheckedRow& row : rows) {
    if (!row.failed()) continue;
    const Outcome& outcome = row.outcome;
    std::string words = row.measurement.id + ": ";
    if (outcome.result == ResultState::wrong) words += "wrong result, " + outcome.mismatch + "; ";
    words += share_percent(outcome.bound_share) + " of the speed of light; " + outcome.bottleneck.binding;
    text += "  " + wrapped(words, 4, 2);
  }
  return text.empty() ? "" : "\nfailed\n" + text;
}

json row_json(const CheckedRow& row) {
  const Measurement& measurement = row.measurement;
  json entry = {{"id", measurement.id},
                {"family", measurement.family},
                {"gpu", measurement.gpu},
                {"metric", measurement.metric},
                {"unit", measurement.unit},
                {"predicted", row.predicted},
                {"measured", measurement.value},
                {"error_pct", row.error_pct},
                {"role", role_name(measurement.role)},
                {"source_id", measurement.source_id},
                {"group", measurement.group},
                {"repeats", row.repeats},
                {"scenario", row.scenario},
                {"settings", row.settings},
                {"result", result_state_name(row.outcome.result)},
                {"time_us", row.outcome.time_us},
                {"logical_gb_per_s", row.outcome.logical_gb_per_s},
                {"wire_gb_per_s", row.outcome.wire_gb_per_s},
                {"bound_share", row.outcome.bound_share},
                {"bottleneck", row.outcome.bottleneck.binding},
                {"wall_s", row.outcome.wall_s},
                {"from_cache", row.from_cache},
                {"failed", row.failed()}};
  entry["basis"] = row.outcome.sampled ? "sampled" : "simulated";
  entry["sampling_error_pct"] = row.outcome.sampled ? json(row.outcome.sampled->error_pct) : json(nullptr);
  entry["known_physics"] = row.known_physics.empty() ? json(nullptr) : json(row.known_physics);
  entry["max_error_pct"] = row.max_error_pct ? json(*row.max_error_pct) : json(nullptr);
  return entry;
}

json accuracy_json(const Accuracy& accuracy) {
  return {{"rows", accuracy.rows},
          {"mape_pct", accuracy.mape_pct},
          {"median_pct", accuracy.median_pct},
          {"bias_pct", accuracy.bias_pct},
          {"worst_pct", accuracy.worst_pct}};
}

}  // namespace

std::string check_text(const CheckReport& report) {
  Table table({{"row"},
               {"unit"},
               {"predicted", Align::right},
               {"measured", Align::right},
               {"error", Align::right},
               {"role"},
               {"note"}});
  size_t cached = 0, failed = 0;
  for (const CheckedRow& row : report.rows) {
    table.add({row.measurement.id, row.measurement.unit, fixed(row.predicted, 2),
               fixed(row.measurement.value, 2), signed_percent(row.error_pct),
               std::string(role_name(row.measurement.role)), note_of(row)});
    cached += row.from_cache ? 1 : 0;
    failed += row.failed() ? 1 : 0;
  }
  for (const NotRun& row : report.not_run) failed += row.is_failure ? 1 : 0;
  for (const CheckedMean& mean : report.means) failed += mean.failed() ? 1 : 0;
  std::string text = (table.empty() ? "" : table.text_wrapped()) + families_text(report) +
                     means_text(report.means) + orders_text(report.orders) + failures_text(report.rows) +
                     not_run_text(report.not_run);
  text += '\n' + std::to_string(report.rows.size()) + " rows in " + duration(report.wall_s);
  if (cached != 0) {
    text += cached == report.rows.size() ? ", all from the cache: nothing was simulated now"
                                         : ", " + std::to_string(cached) + " from the cache";
  }
  text += report.passed() ? "; within the thresholds" : "; FAILED: " + std::to_string(failed);
  return text + '\n';
}

std::string check_json(const CheckReport& report) {
  json document = {{"suite", report.suite},
                   {"rows", json::array()},
                   {"families", json::object()},
                   {"mape_pct", report.all.rows != 0 ? json(report.all.mape_pct) : json(nullptr)},
                   {"all", accuracy_json(report.all)},
                   {"not_run", json::array()},
                   {"passed", report.passed()},
                   {"wall_s", report.wall_s}};
  for (const CheckedRow& row : report.rows) document["rows"].push_back(row_json(row));
  for (const auto& [family, accuracy] : report.families)
    document["families"][family] = accuracy_json(accuracy);
  for (const auto& [role, accuracy] : report.roles)
    document["roles"][std::string(role_name(role))] = accuracy_json(accuracy);
  document["means"] = json::array();
  for (const CheckedMean& mean : report.means) {
    json entry = accuracy_json(mean.accuracy);
    entry.update({{"name", mean.name},
                  {"planned", mean.planned},
                  {"max_mape_pct", mean.max_mape_pct},
                  {"complete", mean.complete()},
                  {"failed", mean.failed()}});
    document["means"].push_back(std::move(entry));
  }
  document["orders"] = json::array();
  for (const KnobOrder& order : report.orders)
    document["orders"].push_back(
        {{"knob", order.knob},
         {"where", order.where},
         {"rows", order.ids},
         {"rank_correlation", order.correlation ? json(*order.correlation) : json(nullptr)}});
  for (const NotRun& row : report.not_run) {
    document["not_run"].push_back({{"id", row.id}, {"reason", row.reason}, {"failed", row.is_failure}});
  }
  return json_text(document, JsonLayout::indented);
}

}  // namespace ptxwire::sim
