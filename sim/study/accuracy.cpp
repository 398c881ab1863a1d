#include "sim/study/accuracy.hpp"

#include <algorithm>
#include <cmath>

namespace ptxwire::sim {
namespace {

/// Of at least one value.
double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace

double error_pct(double predicted, double measured) { return 100 * (predicted - measured) / measured; }

Accuracy accuracy_of(const std::vector<double>& errors_pct) {
  Accuracy accuracy{.rows = errors_pct.size()};
  if (errors_pct.empty()) return accuracy;
  std::vector<double> magnitudes;
  for (double error : errors_pct) {
    magnitudes.push_back(std::abs(error));
    accuracy.mape_pct += std::abs(error);
    accuracy.bias_pct += error;
    if (std::abs(error) > std::abs(accuracy.worst_pct)) accuracy.worst_pct = error;
  }
  accuracy.mape_pct /= static_cast<double>(errors_pct.size());
  accuracy.bias_pct /= static_cast<double>(errors_pct.size());
  accuracy.median_pct = median(std::move(magnitudes));
  return accuracy;
}

std::map<std::string, Accuracy> accuracy_by_family(
    const std::vector<std::pair<std::string, double>>& errors_pct) {
  std::map<std::string, std::vector<double>> errors;
  for (const auto& [family, error] : errors_pct) errors[family].push_back(error);
  std::map<std::string, Accuracy> families;
  for (const auto& [family, list] : errors) families[family] = accuracy_of(list);
  return families;
}

}  // namespace ptxwire::sim
