// The JSON form of a memory account, as documented in docs/json.md under `run`.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "sim/study/memory_account.hpp"

namespace ptxwire::sim {

nlohmann::json memory_json(const RunMemory& memory);
/// Throws nlohmann::json::exception on a missing key or a wrong type, for outcome_from_json() to catch.
RunMemory memory_from_json(const nlohmann::json& entry);

}  // namespace ptxwire::sim
