// What a pair of low-latency dispatch and combine must have left in memory, from the routing, the data
// functions and the cast rule alone.
#pragma once

#include <string>

#include "sim/workload/low_latency.hpp"

namespace ptxwire::sim {

/// Empty if everything is as expected, else the first mismatch in words.
///
/// Of every (expert, source) the tokens are those that chose the expert, each once, in any order; the places
/// of all sources of an expert fill [0, count); every row, scale and index is that of its token.
Expected<std::string> check_low_latency_dispatch(const LowLatencyRun& run, const TestData& data);

/// Row t of a rank is bf16(sum over its selections k in order of fma(weight, row sent back, sum)), the rows
/// being those at the places that dispatch gave the token; rows that are not kept count as zeros.
Expected<std::string> check_low_latency_combine(const LowLatencyRun& run, const TestData& data);

}  // namespace ptxwire::sim
