#include "sim/measure/measured_rows.hpp"

#include <fmt/core.h>

#include <cctype>
#include <filesystem>

namespace ptxwire::sim {

namespace {

/// Letters, digits and single dashes: "NVIDIA H200" -> "nvidia-h200".
std::string slug(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isalnum(letter) != 0) {
      out += static_cast<char>(std::tolower(letter));
    } else if (!out.empty() && out.back() != '-') {
      out += '-';
    }
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out;
}

}  // namespace

std::vector<Measurement> measured_rows(const GpuRunResult& result, const MeasuredScenario& what) {
  std::string stem = slug(result.gpu) + '-' + slug(std::filesystem::path(what.scenario).stem().string());
  for (const std::string& setting : what.settings) stem += '-' + slug(setting);
  const Measurement common{
      .source_id = fmt::format("ptxwire measure, {}: {}, CUDA driver {}, {:.0f} MHz, median of {} calls",
                               what.date, result.gpu, result.driver, result.clock_mhz, result.repeats),
      .family = "measured-" + slug(result.gpu),
      .gpu = result.gpu,
      .machine = what.machine,
      .scenario = what.scenario,
      .settings = what.settings,
      .role = what.role};
  std::vector<Measurement> rows;
  const auto add = [&](const std::string& name, const std::string& metric, const std::string& unit,
                       double value) {
    if (!check_unit(metric, unit)) return;
    Measurement& row = rows.emplace_back(common);
    row.id = row.group = stem + '-' + slug(name) + '-' + what.date;
    row.metric = metric;
    row.unit = unit;
    row.value = value;
  };
  for (size_t i = 0; i < result.figures.size(); ++i) {
    const MeasuredFigure& figure = result.figures[i];
    const size_t before = rows.size();
    add(figure.name, "microbenchmark", figure.unit, figure.value.median);
    if (i != 0 && rows.size() != before) rows.back().settings.push_back("figure=" + figure.name);
  }
  add("time", "time", "us", result.time_us.median);
  return rows;
}

}  // namespace ptxwire::sim
