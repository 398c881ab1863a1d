// One simulated scenario, and a pair of them, as text for people and as JSON (schema: docs/json.md).
//
//   h800_intranode_dispatch_ep8  chunk=6
//     result      correct: every value compared
//     time        1043.1 us on rank 0, 1051.9 us on the slowest (simulated)
//     bandwidth   153.7 GB/s logical, 134.5 GB/s on NVLink
//     ...
#pragma once

#include <string>

#include "sim/study/outcome.hpp"
#include "sim/study/predict.hpp"

namespace ptxwire::sim {

std::string run_text(const Outcome& outcome);
std::string run_json(const Outcome& outcome);

/// Base against changed: times, bandwidths, what bound before and after.
std::string predict_text(const Prediction& prediction);
std::string predict_json(const Prediction& prediction);

}  // namespace ptxwire::sim
