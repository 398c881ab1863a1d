#include "sim/workload/internode_handle.hpp"

#include <array>

#include "sim/workload/handle.hpp"

namespace ptxwire::sim {

namespace {

uint32_t node_count(const Routing& routing) { return routing.shape().ranks / kGpusPerNode; }

/// Calls `visit(channel, token)` for all tokens in order.
template <typename Visit>
void for_each_token(const Routing& routing, uint32_t channels, Visit visit) {
  for (uint32_t c = 0; c < channels; ++c) {
    const TokenSpan span = channel_tokens(routing.shape().tokens, channels, c);
    for (uint32_t t = span.begin; t < span.end; ++t) visit(c, t);
  }
}

/// The rank of `node` that sends to `rank` over RDMA.
uint32_t peer_on(uint32_t rank, uint32_t node) { return node * kGpusPerNode + rank % kGpusPerNode; }

}  // namespace

uint32_t gpus_of_node(const Routing& routing, uint32_t source, uint32_t token, uint32_t node) {
  uint32_t gpus = 0;
  for (uint32_t g = 0; g < kGpusPerNode; ++g)
    gpus |= static_cast<uint32_t>(routing.selected(source, token, node * kGpusPerNode + g)) << g;
  return gpus;
}

uint64_t node_pairs(const Routing& routing, uint32_t source) {
  uint64_t pairs = 0;
  for (uint32_t t = 0; t < routing.shape().tokens; ++t)
    for (uint32_t m = 0; m < node_count(routing); ++m) pairs += gpus_of_node(routing, source, t, m) != 0;
  return pairs;
}

uint64_t pairs_off_node(const Routing& routing, uint32_t source) {
  uint64_t stay = 0;
  for (uint32_t t = 0; t < routing.shape().tokens; ++t)
    stay += gpus_of_node(routing, source, t, source / kGpusPerNode) != 0;
  return node_pairs(routing, source) - stay;
}

std::vector<int32_t> received_per_rank(const Routing& routing, uint32_t rank) {
  std::vector<int32_t> received;
  int32_t sum = 0;
  for (uint32_t s = 0; s < routing.shape().ranks; ++s)
    received.push_back(sum += static_cast<int32_t>(routing.count(s, rank)));
  return received;
}

std::vector<int32_t> received_per_node(const Routing& routing, uint32_t rank) {
  std::vector<int32_t> received;
  int32_t sum = 0;
  for (uint32_t m = 0; m < node_count(routing); ++m) {
    for (uint32_t t = 0; t < routing.shape().tokens; ++t)
      sum += gpus_of_node(routing, peer_on(rank, m), t, rank / kGpusPerNode) != 0;
    received.push_back(sum);
  }
  return received;
}

std::vector<int32_t> node_channel_prefix(const Routing& routing, uint32_t source, uint32_t channels) {
  std::vector<int32_t> prefix(size_t{node_count(routing)} * channels);
  for (uint32_t m = 0; m < node_count(routing); ++m) {
    int32_t* own = prefix.data() + size_t{m} * channels;
    for_each_token(routing, channels,
                   [&](uint32_t c, uint32_t t) { own[c] += gpus_of_node(routing, source, t, m) != 0; });
    for (uint32_t c = 1; c < channels; ++c) own[c] += own[c - 1];
  }
  return prefix;
}

std::vector<int32_t> node_channel_offsets(const Routing& routing, uint32_t rank, uint32_t channels) {
  std::vector<int32_t> offsets(size_t{node_count(routing)} * channels);
  for (uint32_t m = 0; m < node_count(routing); ++m) {
    int32_t* own = offsets.data() + size_t{m} * channels;
    for_each_token(routing, channels, [&](uint32_t c, uint32_t t) {
      if (c + 1 < channels)
        own[c + 1] += gpus_of_node(routing, peer_on(rank, m), t, rank / kGpusPerNode) != 0;
    });
    for (uint32_t c = 1; c < channels; ++c) own[c] += own[c - 1];
  }
  return offsets;
}

std::vector<int32_t> node_slot_record(const Routing& routing, uint32_t source, uint32_t channels) {
  const uint32_t nodes = node_count(routing);
  std::vector<int32_t> record(size_t{routing.shape().tokens} * nodes, -1);
  std::vector<int32_t> next(size_t{channels} * nodes);
  for_each_token(routing, channels, [&](uint32_t c, uint32_t t) {
    for (uint32_t m = 0; m < nodes; ++m)
      if (gpus_of_node(routing, source, t, m) != 0) record[size_t{t} * nodes + m] = next[c * nodes + m]++;
  });
  return record;
}

std::vector<int32_t> forward_record(const Routing& routing, uint32_t rank, uint32_t channels) {
  std::vector<int32_t> record;
  for (uint32_t m = 0; m < node_count(routing); ++m) {
    std::vector<std::array<int32_t, kGpusPerNode>> next(channels);
    for_each_token(routing, channels, [&](uint32_t c, uint32_t t) {
      const uint32_t gpus = gpus_of_node(routing, peer_on(rank, m), t, rank / kGpusPerNode);
      if (gpus == 0) return;
      for (uint32_t d = 0; d < kGpusPerNode; ++d) record.push_back((gpus >> d & 1U) != 0 ? next[c][d]++ : -1);
    });
  }
  return record;
}

}  // namespace ptxwire::sim
