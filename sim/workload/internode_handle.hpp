// What a dispatch across nodes leaves behind for later calls with the same routing, computed on the host from
// the routing alone (handle.hpp has what one node needs as well).
//
// Rank = node * 8 + GPU. A row for several GPUs of a node goes there once, to the GPU of the source's index,
// which forwards it: its "rows to forward".
#pragma once

#include <cstdint>
#include <vector>

#include "sim/workload/routing.hpp"

namespace ptxwire::sim {

/// GPUs of `node` to which a token goes, as bits.
uint32_t gpus_of_node(const Routing& routing, uint32_t source, uint32_t token, uint32_t node);

/// What travels with a row: from which node, to which GPUs of the node at hand (kernels/src/internode.cuh).
constexpr int64_t row_meta(uint32_t source_node, uint32_t gpus) {
  return static_cast<int64_t>(uint64_t{gpus} << 32U | source_node);
}

/// (token, node) pairs of a rank's tokens, the own node included.
uint64_t node_pairs(const Routing& routing, uint32_t source);
/// Those that leave the node.
uint64_t pairs_off_node(const Routing& routing, uint32_t source);

/// [R] rows for `rank` from ranks s' <= s.
std::vector<int32_t> received_per_rank(const Routing& routing, uint32_t rank);
/// [N] rows to forward by `rank` from nodes m' <= m.
std::vector<int32_t> received_per_node(const Routing& routing, uint32_t rank);

/// [N][C] of a source: tokens for node m in channels c' <= c.
std::vector<int32_t> node_channel_prefix(const Routing& routing, uint32_t source, uint32_t channels);
/// [N][C] of a rank: rows to forward from node m that come before those of channel c.
std::vector<int32_t> node_channel_offsets(const Routing& routing, uint32_t rank, uint32_t channels);

/// [T][N] of a source: the how-manyeth row of its channel the token was for node m, or -1.
std::vector<int32_t> node_slot_record(const Routing& routing, uint32_t source, uint32_t channels);
/// [rows to forward][8] of a rank, by source node, then by token: the how-manyeth row of its channel and node
/// the row was for GPU d, or -1.
std::vector<int32_t> forward_record(const Routing& routing, uint32_t rank, uint32_t channels);

}  // namespace ptxwire::sim
