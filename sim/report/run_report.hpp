// One simulated scenario as text for people and as JSON (schema: docs/json.md).
//
//   h800_intranode_dispatch_ep8  chunk=6
//     result      correct: every value compared
//     time        1043.1 us on rank 0, 1051.9 us on the slowest (simulated)
//     bandwidth   153.7 GB/s logical, 134.5 GB/s on NVLink
//     ...
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sim/study/outcome.hpp"

namespace ptxwire::sim {

std::string run_text(const Outcome& outcome);
nlohmann::json run_document(const Outcome& outcome);
std::string run_json(const Outcome& outcome);

/// "correct: every value compared", or "WRONG: " and the first wrong value.
std::string result_words(const Outcome& outcome);

}  // namespace ptxwire::sim
