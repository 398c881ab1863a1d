#include "sim/report/sweep_report.hpp"

#include <map>
#include <nlohmann/json.hpp>

#include "sim/report/table.hpp"

namespace ptxwire::sim {
namespace {

using nlohmann::json;

/// The values of the varied keys, in their order; empty where a point does not set one.
std::vector<std::string> varied_values(const SweepPlan& plan, const Job& job) {
  std::vector<std::string> values;
  for (const std::string& key : plan.varied) {
    std::string value;
    for (const std::string& setting : job.settings)
      if (setting.starts_with(key + '=')) value = setting.substr(key.size() + 1);
    values.push_back(std::move(value));
  }
  return values;
}

/// Index of the fastest point of each scenario that computed nothing wrong.
std::map<std::string, size_t> fastest(const SweepPlan& plan, const SweepReport& report) {
  std::map<std::string, size_t> best;
  for (size_t point = 0; point < report.results.size(); ++point) {
    const auto& result = report.results[point];
    if (!result || !result->outcome || result->outcome->result == ResultState::wrong) continue;
    const auto [place, fresh] = best.try_emplace(plan.points[point].scenario, point);
    if (!fresh && result->outcome->time_us < report.results[place->second]->outcome->time_us)
      place->second = point;
  }
  return best;
}

std::string note_of(const std::optional<SweepResult>& result, bool is_best) {
  if (!result) return "not run";
  if (!result->outcome) return result->error;
  std::string note = is_best ? "fastest" : "";
  const auto add = [&](const std::string& words) { note += (note.empty() ? "" : ", ") + words; };
  if (result->outcome->result == ResultState::wrong) add("WRONG RESULT");
  if (result->outcome->sampled) add("sampled +-" + fixed(result->outcome->sampled->error_pct, 1) + " %");
  if (!result->outcome->surrogate.empty()) add("surrogate");
  return note;
}

}  // namespace

std::string sweep_text(const SweepPlan& plan, const SweepReport& report) {
  std::vector<Table::Column> columns;
  bool several = false;
  for (const Job& job : plan.points) several = several || job.scenario != plan.points.front().scenario;
  if (several) columns.push_back({"scenario"});
  for (const std::string& key : plan.varied) columns.push_back({key, Align::right});
  for (const char* name : {"time", "GB/s", "of bound"}) columns.push_back({name, Align::right});
  columns.push_back({"note"});
  Table table(columns);
  const std::map<std::string, size_t> best = fastest(plan, report);
  size_t failed = 0;
  for (size_t point = 0; point < plan.points.size(); ++point) {
    const Job& job = plan.points[point];
    const auto& result = report.results[point];
    std::vector<std::string> cells = varied_values(plan, job);
    if (several) cells.insert(cells.begin(), job.scenario);
    const bool has = result && result->outcome;
    failed += has ? 0 : 1;
    cells.push_back(has ? fixed(result->outcome->time_us, 2) + " us" : "");
    cells.push_back(has ? fixed(result->outcome->logical_gb_per_s, 1) : "");
    cells.push_back(has ? share_percent(result->outcome->bound_share) : "");
    const auto found = best.find(job.scenario);
    cells.push_back(note_of(result, found != best.end() && found->second == point));
    table.add(std::move(cells));
  }
  std::string text = table.text_wrapped() + '\n' + std::to_string(plan.points.size()) + " points in " +
                     duration(report.wall_s);
  if (report.from_file != 0) text += ", " + std::to_string(report.from_file) + " were in the file";
  if (failed != 0) text += ", " + std::to_string(failed) + " failed";
  return text + '\n';
}

std::string sweep_json(const SweepPlan& plan, const SweepReport& report) {
  json document = {{"sweep", plan.path},     {"varied", plan.varied},         {"points", json::array()},
                   {"best", json::object()}, {"from_file", report.from_file}, {"wall_s", report.wall_s}};
  for (size_t point = 0; point < plan.points.size(); ++point) {
    const Job& job = plan.points[point];
    json entry = {{"scenario", job.scenario}, {"settings", job.settings}};
    const auto& result = report.results[point];
    entry["key"] = result && !result->key.empty() ? json(result->key) : json(nullptr);
    entry["error"] = result && !result->outcome ? json(result->error) : json(nullptr);
    entry["outcome"] = result && result->outcome ? to_json(*result->outcome) : json(nullptr);
    document["points"].push_back(std::move(entry));
  }
  for (const auto& [scenario, point] : fastest(plan, report)) document["best"][scenario] = point;
  return json_text(document, JsonLayout::indented);
}

}  // namespace ptxwire::sim
