// Whether predictions put the settings of a knob in the measured order. Where the machine of a measurement is
// not known well enough for its values, or the values are not what is asked for, the order still is.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/study/measurement.hpp"

namespace ptxwire::sim {

/// Spearman's correlation of (predicted, measured) pairs: Pearson's of their ranks, equal values sharing the
/// mean of theirs. Nothing for fewer than two pairs or where one side is constant.
[[nodiscard]] std::optional<double> rank_correlation(const std::vector<std::pair<double, double>>& pairs);

/// Rows that differ in one setting alone.
struct KnobOrder {
  std::string knob;              ///< the setting's key
  std::string where;             ///< source, scenario and the other settings
  std::vector<std::string> ids;  ///< in the order given
  std::optional<double> correlation;
};

struct PredictedRow {
  const Measurement* measurement = nullptr;
  double predicted = 0;
};

/// All sets of at least four rows of one source that differ in one setting alone, by first row.
[[nodiscard]] std::vector<KnobOrder> knob_orders(const std::vector<PredictedRow>& rows);

}  // namespace ptxwire::sim
