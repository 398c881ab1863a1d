#include "sim/study/measurement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <system_error>

#include "sim/study/csv.hpp"
#include "sim/study/text_file.hpp"
#include "support/nearest.hpp"

namespace ptxwire::sim {
namespace {

namespace fs = std::filesystem;

enum Column : uint8_t {
  kId,
  kSource,
  kGroup,
  kFamily,
  kGpu,
  kMachine,
  kScenario,
  kSettings,
  kMetric,
  kUnit,
  kValue,
  kRole,
  kCost,
  kColumns
};
constexpr std::array<std::string_view, kColumns> kColumnNames = {
    "id",       "source_id", "group", "family", "gpu",  "machine", "scenario",
    "settings", "metric",    "unit",  "value",  "role", "cost_s"};

struct MetricUnits {
  std::string_view metric;
  std::vector<std::string_view> units;
};
const std::array<MetricUnits, 6>& metric_table() {
  static const std::array<MetricUnits, 6> table = {{
      {"time", {"us"}},
      {"logical_bandwidth", {"GB/s"}},
      {"rdma_logical_bandwidth", {"GB/s"}},
      {"bus_bandwidth", {"GB/s"}},
      {"slowdown", {"ratio"}},
      {"microbenchmark", {"clk", "B/clk", "B/clk/SM", "GB/s", "TB/s", "TFLOP/s", "MHz", "SM", "MB", "ratio"}},
  }};
  return table;
}

std::string quoted_list(const std::vector<std::string_view>& words) {
  std::string text;
  for (std::string_view word : words) text += (text.empty() ? "'" : ", '") + std::string(word) + "'";
  return text;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    if (end != 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<Role> role_of(std::string_view word) {
  for (Role role : {Role::fit, Role::test, Role::report}) {
    if (word == role_name(role)) return role;
  }
  return std::nullopt;
}

Expected<Measurement> measurement_of(const std::vector<std::string>& fields) {
  Measurement row{.id = fields[kId],
                  .source_id = fields[kSource],
                  .group = fields[kGroup].empty() ? fields[kId] : fields[kGroup],
                  .family = fields[kFamily],
                  .gpu = fields[kGpu],
                  .machine = fields[kMachine],
                  .scenario = fields[kScenario],
                  .settings = split(fields[kSettings], ';'),
                  .metric = fields[kMetric],
                  .unit = fields[kUnit]};
  for (Column column : {kId, kSource, kFamily, kScenario}) {
    if (fields[column].empty()) {
      return Error{.message = "column '" + std::string(kColumnNames[column]) + "' is empty"};
    }
  }
  if (const Expected<void> fits = check_unit(row.metric, row.unit); !fits) return fits.error();
  const std::optional<double> value = number(fields[kValue]);
  if (!value) return Error{.message = "column 'value' holds '" + fields[kValue] + "', expected a number"};
  row.value = *value;
  const std::optional<Role> role = role_of(fields[kRole]);
  if (!role)
    return Error{.message = "unknown role '" + fields[kRole] + "', expected 'fit', 'test' or 'report'"};
  row.role = *role;
  if (!fields[kCost].empty()) {
    row.cost_s = number(fields[kCost]);
    if (!row.cost_s || *row.cost_s < 0) {
      return Error{.message = "column 'cost_s' holds '" + fields[kCost] + "', expected seconds"};
    }
  }
  return row;
}

Error at(Error error, const std::string& path, uint32_t line) {
  error.path = path;
  error.line = line;
  return error;
}

/// An error if an id occurred before; `where` remembers the place of each.
Expected<void> check_unique(const std::vector<CsvRecord>& records, const std::string& path,
                            std::map<std::string, std::string>& where) {
  for (size_t i = 1; i < records.size(); ++i) {
    const std::string place = path + ':' + std::to_string(records[i].line);
    const auto [found, fresh] = where.emplace(records[i].fields[kId], place);
    if (!fresh) {
      return at({.message = "id '" + found->first + "' is already at " + found->second}, path,
                records[i].line);
    }
  }
  return {};
}

Expected<std::vector<Measurement>> parse_file(std::string_view text, const std::string& path,
                                              std::map<std::string, std::string>& where) {
  Expected<std::vector<CsvRecord>> records = parse_csv(text, path);
  if (!records) return records.error();
  const auto header_is_right = [](const std::vector<std::string>& fields) {
    return std::equal(fields.begin(), fields.end(), kColumnNames.begin(), kColumnNames.end());
  };
  if (records->empty() || !header_is_right(records->front().fields)) {
    return at({.message = "expected the columns " + quoted_list({kColumnNames.begin(), kColumnNames.end()})},
              path, 1);
  }
  if (Expected<void> unique = check_unique(*records, path, where); !unique) return unique.error();
  std::vector<Measurement> rows;
  for (size_t i = 1; i < records->size(); ++i) {
    Expected<Measurement> row = measurement_of((*records)[i].fields);
    if (!row) return at(row.error(), path, (*records)[i].line);
    rows.push_back(*std::move(row));
  }
  return rows;
}

}  // namespace

Expected<void> check_unit(const std::string& metric, const std::string& unit) {
  std::vector<std::string_view> metrics;
  for (const MetricUnits& known : metric_table()) {
    metrics.push_back(known.metric);
    if (metric != known.metric) continue;
    if (std::find(known.units.begin(), known.units.end(), unit) != known.units.end()) return {};
    return Error{.message = fmt::format("unknown unit '{}' of metric '{}', expected {}", unit, metric,
                                        quoted_list(known.units))};
  }
  return Error{.message = "unknown metric '" + metric + "', expected one of " + quoted_list(metrics)};
}

std::string_view role_name(Role role) {
  switch (role) {
    case Role::fit:
      return "fit";
    case Role::test:
      return "test";
    case Role::report:
      return "report";
  }
  return "report";
}

Expected<std::vector<Measurement>> parse_measurements(std::string_view text, const std::string& path) {
  std::map<std::string, std::string> where;
  return parse_file(text, path, where);
}

std::string measurements_text(const std::vector<Measurement>& rows) {
  const auto line_of = [](const std::array<std::string, kColumns>& fields) {
    std::string line;
    for (const std::string& field : fields) line += (line.empty() ? "" : ",") + csv_field(field);
    return line + '\n';
  };
  std::array<std::string, kColumns> header;
  std::copy(kColumnNames.begin(), kColumnNames.end(), header.begin());
  std::string text = line_of(header);
  for (const Measurement& row : rows) {
    std::string settings;
    for (const std::string& setting : row.settings) settings += (settings.empty() ? "" : ";") + setting;
    text += line_of({row.id, row.source_id, row.group == row.id ? "" : row.group, row.family, row.gpu,
                     row.machine, row.scenario, settings, row.metric, row.unit, fmt::format("{}", row.value),
                     std::string(role_name(row.role)), row.cost_s ? fmt::format("{}", *row.cost_s) : ""});
  }
  return text;
}

Expected<std::vector<Measurement>> read_measurements(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, failed)) {
    if (entry.path().extension() == ".csv" && entry.path().filename() != "sources.csv") {
      paths.push_back(entry.path().string());
    }
  }
  if (failed) return Error{.message = "cannot list the folder: " + failed.message(), .path = folder};
  if (paths.empty()) return Error{.message = "no measurements (*.csv) in the folder", .path = folder};
  std::sort(paths.begin(), paths.end());
  std::vector<Measurement> all;
  std::map<std::string, std::string> where;
  for (const std::string& path : paths) {
    Expected<std::string> text = read_whole_file(path);
    if (!text) return text.error();
    Expected<std::vector<Measurement>> rows = parse_file(*text, path, where);
    if (!rows) return rows.error();
    all.insert(all.end(), std::make_move_iterator(rows->begin()), std::make_move_iterator(rows->end()));
  }
  return all;
}

}  // namespace ptxwire::sim
