#include "sim/report/accuracy_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "sim/report/external_program.hpp"

namespace ptxwire::sim {
namespace {

/// Error beyond which a row needs a named reason; drawn as a band.
constexpr double kBandPct = 18;

struct Points {
  std::array<std::vector<std::string>, 3> of_role;  ///< "measured predicted" lines, by Role
  double low = std::numeric_limits<double>::infinity(), high = 0;
};

std::map<std::string, Points> points_by_unit(const CheckReport& report) {
  std::map<std::string, Points> panels;
  for (const CheckedRow& row : report.rows) {
    const double measured = row.measurement.value;
    if (!(measured > 0 && row.predicted > 0)) continue;  // no place on a logarithmic axis
    Points& panel = panels[row.measurement.unit];
    panel.of_role[static_cast<size_t>(row.measurement.role)].push_back(
        fmt::format("{:.6g} {:.6g}", measured, row.predicted));
    panel.low = std::min({panel.low, measured, row.predicted});
    panel.high = std::max({panel.high, measured, row.predicted});
  }
  return panels;
}

std::string panel_text(const std::string& unit, const Points& points) {
  constexpr double kMargin = 1.25;
  constexpr std::array<const char*, 3> kStyles = {"pt 7 ps 0.55 lc rgb '#1f5fa8'",   // full circle
                                                  "pt 9 ps 0.75 lc rgb '#c8500a'",   // full triangle
                                                  "pt 4 ps 0.55 lc rgb '#7a7a7a'"};  // open square
  std::string data;
  std::string plots = fmt::format(
      "x lc rgb '#202020' notitle, x*{:.3g} dt 3 lc rgb '#808080' title '+-{:.0f} %', x*{:.3g} dt 3 lc rgb "
      "'#808080' "
      "notitle",
      1 + kBandPct / 100, kBandPct, 1 - kBandPct / 100);
  for (const Role role : {Role::report, Role::fit, Role::test}) {
    const std::vector<std::string>& lines = points.of_role[static_cast<size_t>(role)];
    if (lines.empty()) continue;
    const std::string name = fmt::format("$points_{}", static_cast<unsigned>(role));
    data += name + " << EOD\n";
    for (const std::string& line : lines) data += line + '\n';
    data += "EOD\n";
    plots += fmt::format(", {} with points {} title '{} ({})'", name, kStyles[static_cast<size_t>(role)],
                         role_name(role), lines.size());
  }
  return data +
         fmt::format("set title 'in {0}'\nset xrange [{1:.4g}:{2:.4g}]\nset yrange [{1:.4g}:{2:.4g}]\n", unit,
                     points.low / kMargin, points.high * kMargin) +
         "plot " + plots + '\n';
}

}  // namespace

std::string accuracy_plot(const CheckReport& report) {
  const std::map<std::string, Points> panels = points_by_unit(report);
  const size_t columns = std::clamp<size_t>(panels.size(), 1, 2),
               rows = (panels.size() + columns - 1) / columns;
  std::string text = fmt::format(
      "set terminal svg size {},{} dynamic font 'sans-serif,12' background rgb 'white' name 'accuracy'\n"
      "set multiplot layout {},{}\nset logscale xy\nset key top left reverse Left\nset grid lc rgb "
      "'#e0e0e0'\n"
      "set xlabel 'measured'\nset ylabel 'predicted'\nset size square\nset samples 50\n",
      460 * columns, 430 * std::max<size_t>(rows, 1), std::max<size_t>(rows, 1), columns);
  for (const auto& [unit, points] : panels) text += panel_text(unit, points);
  return text + "unset multiplot\n";
}

Expected<std::string> render_plot(const std::string& plot) {
  return run_program({.name = "gnuplot",
                      .arguments = {"-"},
                      .what_for = "gnuplot draws the picture",
                      .package = "gnuplot-nox"},
                     plot);
}

}  // namespace ptxwire::sim
