// `sweep` for people and programs.
#pragma once

#include <string>

#include "sim/study/sweep.hpp"

namespace ptxwire::sim {

/// A line per point with what varies, time, bandwidth and share of the speed of light; the fastest point of
/// each scenario is marked.
std::string sweep_text(const SweepPlan& plan, const SweepReport& report);
/// docs/json.md, `sweep`.
std::string sweep_json(const SweepPlan& plan, const SweepReport& report);

}  // namespace ptxwire::sim
