#include "sim/study/accuracy.hpp"

#include <cmath>

namespace ptxwire::sim {

double error_pct(double predicted, double measured) { return 100 * (predicted - measured) / measured; }

Accuracy accuracy_of(const std::vector<double>& errors_pct) {
  Accuracy accuracy{.rows = errors_pct.size()};
  if (errors_pct.empty()) return accuracy;
  for (double error : errors_pct) {
    accuracy.mape_pct += std::abs(error);
    accuracy.bias_pct += error;
    if (std::abs(error) > std::abs(accuracy.worst_pct)) accuracy.worst_pct = error;
  }
  accuracy.mape_pct /= static_cast<double>(errors_pct.size());
  accuracy.bias_pct /= static_cast<double>(errors_pct.size());
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
