// Errors of predictions and their means.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace ptxwire::sim {

/// 100 * (predicted - measured) / measured, in per cent; measured is not 0.
[[nodiscard]] double error_pct(double predicted, double measured);

struct Accuracy {
  double mape_pct = 0;    ///< mean of the absolute errors, in per cent; 0 of no rows
  double median_pct = 0;  ///< median of the absolute errors
  double bias_pct = 0;    ///< mean of the signed errors
  double worst_pct = 0;   ///< the signed error of the largest magnitude
  size_t rows = 0;
};

/// Every row counts the same.
[[nodiscard]] Accuracy accuracy_of(const std::vector<double>& errors_pct);

/// Per family, from (family, error in per cent) pairs.
[[nodiscard]] std::map<std::string, Accuracy> accuracy_by_family(
    const std::vector<std::pair<std::string, double>>& errors_pct);

}  // namespace ptxwire::sim
