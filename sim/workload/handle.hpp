// What a dispatch leaves behind for later calls with the same routing, computed on the host from the routing
// alone: how many tokens go from whom to whom, where each channel starts, and in which ring slot a token
// travelled.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/workload/routing.hpp"

namespace ptxwire::sim {

/// Tokens [begin, end) of a channel: ceil(T/C) each, the last ones fewer or none.
struct TokenSpan {
  uint32_t begin = 0, end = 0;
};
TokenSpan channel_tokens(uint32_t tokens, uint32_t channels, uint32_t channel);

/// [R][R] rows from rank s to rank d, summed over s' <= s: the same on all ranks.
std::vector<int32_t> rank_matrix(const Routing& routing);

/// [R][C] of a source: tokens for rank d in channels c' <= c.
std::vector<int32_t> channel_prefix(const Routing& routing, uint32_t source, uint32_t channels);

/// [R][C] of a destination: rows from source s that come before those of channel c.
std::vector<int32_t> channel_offsets(const Routing& routing, uint32_t destination, uint32_t channels);

/// [T][R] of a source: the how-manyeth row of its channel the token was for rank d, or -1.
std::vector<int32_t> slot_record(const Routing& routing, uint32_t source, uint32_t channels);

}  // namespace ptxwire::sim
