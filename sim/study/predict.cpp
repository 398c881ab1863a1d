#include "sim/study/predict.hpp"

#include "sim/study/accuracy.hpp"

namespace ptxwire::sim {

Expected<Prediction> predict(Runner& runner, const Job& base, const Job& changed, const JobControl& control) {
  const auto half = [&](double from) {
    JobControl part = control;
    if (control.progress) {
      part.progress = [&control, from](double share) { return control.progress(from + share / 2); };
    }
    return part;
  };
  Expected<Outcome> before = runner.run(base, half(0));
  if (!before) return before.error();
  Expected<Outcome> after = runner.run(changed, half(0.5));
  if (!after) return after.error();
  const double delta = error_pct(after->time_us, before->time_us);
  return Prediction{.base = *std::move(before), .changed = *std::move(after), .delta_pct = delta};
}

}  // namespace ptxwire::sim
