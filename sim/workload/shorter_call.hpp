// The same call with fewer tokens, so that it begins and ends as the whole one does and only its middle is
// shorter.
//
// Every channel of every rank loses the same number of tokens. They are chosen so that each destination loses
// rows in proportion to what the rank sends there: over the whole call, not in that channel. The channels of
// a pair of ranks then differ from each other by as many rows as in the whole call, and it is these
// differences that decide how long the last ones work when the others are done. A random share of the tokens
// would make them smaller by the root of that share, a proportional one by the share itself.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/workload/routing.hpp"

namespace ptxwire::sim {

/// `routing` without `left_out` tokens of each of `channels` channels per rank: all channels must have more
/// than that. 32 ranks at most.
Routing shorter_call(const Routing& routing, uint32_t channels, uint32_t left_out);

/// Rows of every ring that crosses NVLink, [destination][channel][source], in that order and without those
/// between a rank and itself. `back`: rows that return to the rank whose token it was (combine).
std::vector<uint32_t> ring_rows(const Routing& routing, uint32_t channels, bool back);

}  // namespace ptxwire::sim
