// Measurement rows of a run on a GPU.
#pragma once

#include <string>
#include <vector>

#include "sim/measure/gpu_run.hpp"
#include "sim/study/measurement.hpp"

namespace ptxwire::sim {

/// What a row says beside its value.
struct MeasuredScenario {
  std::string scenario;               ///< as `check` finds it: a name, or a path
  std::vector<std::string> settings;  ///< "key=value", as the user changed them
  std::string machine;                ///< machine file that models the GPU
  Role role = Role::report;
  std::string date;  ///< "2026-11-30"
};

/// One row for the time of a call and one per figure in a unit that rows may have, the scenario's own first;
/// values are medians. Ids are made of GPU, scenario, settings, figure and date.
std::vector<Measurement> measured_rows(const GpuRunResult& result, const MeasuredScenario& what);

}  // namespace ptxwire::sim
