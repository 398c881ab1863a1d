#include "sim/report/measure_report.hpp"

#include <fmt/core.h>

namespace ptxwire::sim {

std::string measure_text(const std::string& scenario, const GpuRunResult& result) {
  std::string text = fmt::format("{} on {} (CUDA driver {}, {:.0f} MHz): ", scenario, result.gpu,
                                 result.driver, result.clock_mhz);
  if (!result.mismatch.empty()) return text + "WRONG: " + result.mismatch + '\n';
  text += fmt::format("{}, {} calls after one that does not count\n\n",
                      result.checked ? "correct" : "not checked", result.repeats);
  text += fmt::format("{:<22} {:>11} {:>11} {:>11}  unit\n", "", "median", "least", "most");
  const auto line = [&](const std::string& name, const Spread& value, const std::string& unit) {
    text += fmt::format("{:<22} {:>11.5g} {:>11.5g} {:>11.5g}  {}\n", name, value.median, value.least,
                        value.most, unit);
  };
  for (const MeasuredFigure& figure : result.figures) line(figure.name, figure.value, figure.unit);
  line("time", result.time_us, "us");
  return text;
}

}  // namespace ptxwire::sim
