// `predict`: what a change of settings does to one scenario.
#pragma once

#include <optional>

#include "sim/study/runner.hpp"

namespace ptxwire::sim {

struct Prediction {
  Outcome base, changed;
  double delta_pct = 0;  ///< change of time_us, per cent of the base: negative is faster
  /// Nothing until there is a calibration whose coverage was measured.
  std::optional<double> interval_low_pct, interval_high_pct;
  std::optional<bool> in_range;
};

/// Runs `base`, then `changed`. `control.progress` sees both as one run.
Expected<Prediction> predict(Runner& runner, const Job& base, const Job& changed, const JobControl& control);

}  // namespace ptxwire::sim
