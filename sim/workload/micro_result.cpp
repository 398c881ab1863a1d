#include "sim/workload/micro_result.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace ptxwire::sim {

namespace {

constexpr std::array<std::string_view, 11> kNames = {
    "clk_per_access", "bytes_per_clk", "bytes_per_clk_per_sm",
    "inner_gb_per_s", "gb_per_s",      "tflop_per_s",
    "mean_clk",       "near_clk",      "far_clk",
    "far_share",      "kernel_us"};

double mean(std::span<const uint32_t> values) {
  double sum = 0;
  for (const uint32_t value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

double median(std::span<const uint32_t> sorted) {
  if (sorted.empty()) return 0;
  const size_t middle = sorted.size() / 2;
  return sorted.size() % 2 != 0 ? sorted[middle]
                                : (static_cast<double>(sorted[middle - 1]) + sorted[middle]) / 2;
}

/// Two medians in one dimension: the border settles half-way between the medians of the values on its two
/// sides. Medians, since some accesses wait much longer than others, as for a refresh of their channel.
void add_sample_figures(std::vector<uint32_t> samples, std::vector<Figure>& figures) {
  std::sort(samples.begin(), samples.end());
  const std::span<const uint32_t> all(samples);
  double border = mean(all);
  size_t near = 0;
  for (int round = 0; round < 100; ++round) {
    near = static_cast<size_t>(std::upper_bound(all.begin(), all.end(), border) - all.begin());
    if (near == 0 || near == all.size()) break;
    const double settled = (median(all.first(near)) + median(all.subspan(near))) / 2;
    if (settled == border) break;
    border = settled;
  }
  const std::span<const uint32_t> far = near == all.size() ? all : all.subspan(near);
  figures.push_back({"mean_clk", mean(all), "clk"});
  figures.push_back({"near_clk", median(all.first(near)), "clk"});
  figures.push_back({"far_clk", median(far), "clk"});
  figures.push_back(
      {"far_share", static_cast<double>(all.size() - near) / static_cast<double>(all.size()), "ratio"});
}

}  // namespace

std::span<const std::string_view> micro_figure_names() { return kNames; }

std::vector<Figure> micro_figures(const MicroOutput& output) {
  double per_access = 0, bytes = 0, slowest = 0;
  size_t timed = 0;
  std::set<uint32_t> sms;
  for (const MicroRecord& record : output.records) {
    if (record.accesses == 0) continue;  // a CTA that only takes part
    per_access += static_cast<double>(record.clk) / static_cast<double>(record.accesses);
    bytes += static_cast<double>(record.bytes);
    slowest = std::max(slowest, static_cast<double>(record.clk));
    sms.insert(record.sm);
    ++timed;
  }
  std::vector<Figure> figures;
  if (output.duration.value > 0) figures.push_back({"kernel_us", output.duration.us(), "us"});
  if (timed == 0 || slowest == 0) return figures;
  const double per_clk = bytes / slowest;
  figures.push_back({"clk_per_access", per_access / static_cast<double>(timed), "clk"});
  figures.push_back({"bytes_per_clk", per_clk, "B/clk"});
  figures.push_back({"bytes_per_clk_per_sm", per_clk / static_cast<double>(sms.size()), "B/clk/SM"});
  figures.push_back({"inner_gb_per_s", per_clk * output.clock_hz * 1e-9, "GB/s"});
  if (output.duration.value > 0)
    figures.push_back({"gb_per_s", bytes / static_cast<double>(output.duration.value) * 1e3, "GB/s"});
  if (output.duration.value > 0 && output.flop > 0)
    figures.push_back({"tflop_per_s", output.flop / static_cast<double>(output.duration.value), "TFLOP/s"});
  if (!output.samples.empty()) add_sample_figures(output.samples, figures);
  return figures;
}

Expected<double> figure_in_unit(const Figure& figure, std::string_view unit) {
  if (figure.unit == unit) return figure.value;
  if (figure.unit == "GB/s" && unit == "TB/s") return figure.value * 1e-3;
  return Error{.message = "the scenario gives " + figure.name + " in " + figure.unit + ", the row is in " +
                          std::string(unit),
               .path = {},
               .hint = {}};
}

}  // namespace ptxwire::sim
