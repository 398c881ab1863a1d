#include "sim/workload/handle.hpp"

#include <algorithm>

namespace ptxwire::sim {

TokenSpan channel_tokens(uint32_t tokens, uint32_t channels, uint32_t channel) {
  const uint32_t share = (tokens + channels - 1) / channels;
  const uint32_t begin = std::min(channel * share, tokens);
  return {begin, std::min(begin + share, tokens)};
}

std::vector<int32_t> rank_matrix(const Routing& routing) {
  const uint32_t ranks = routing.shape().ranks;
  std::vector<int32_t> matrix(ranks * ranks);
  for (uint32_t d = 0; d < ranks; ++d) {
    int32_t sum = 0;
    for (uint32_t s = 0; s < ranks; ++s)
      matrix[s * ranks + d] = sum += static_cast<int32_t>(routing.count(s, d));
  }
  return matrix;
}

std::vector<int32_t> channel_prefix(const Routing& routing, uint32_t source, uint32_t channels) {
  const uint32_t ranks = routing.shape().ranks;
  std::vector<int32_t> prefix(ranks * channels);
  for (uint32_t d = 0; d < ranks; ++d) {
    int32_t sum = 0;
    for (uint32_t c = 0; c < channels; ++c) {
      const TokenSpan span = channel_tokens(routing.shape().tokens, channels, c);
      for (uint32_t t = span.begin; t < span.end; ++t) sum += routing.selected(source, t, d);
      prefix[d * channels + c] = sum;
    }
  }
  return prefix;
}

std::vector<int32_t> channel_offsets(const Routing& routing, uint32_t destination, uint32_t channels) {
  const uint32_t ranks = routing.shape().ranks;
  std::vector<int32_t> offsets(ranks * channels);
  for (uint32_t s = 0; s < ranks; ++s) {
    int32_t before = 0;
    for (uint32_t c = 0; c < channels; ++c) {
      offsets[s * channels + c] = before;
      const TokenSpan span = channel_tokens(routing.shape().tokens, channels, c);
      for (uint32_t t = span.begin; t < span.end; ++t) before += routing.selected(s, t, destination);
    }
  }
  return offsets;
}

std::vector<int32_t> slot_record(const Routing& routing, uint32_t source, uint32_t channels) {
  const uint32_t ranks = routing.shape().ranks;
  std::vector<int32_t> record(uint64_t{routing.shape().tokens} * ranks, -1);
  for (uint32_t c = 0; c < channels; ++c) {
    const TokenSpan span = channel_tokens(routing.shape().tokens, channels, c);
    for (uint32_t d = 0; d < ranks; ++d) {
      int32_t next = 0;
      for (uint32_t t = span.begin; t < span.end; ++t)
        if (routing.selected(source, t, d)) record[uint64_t{t} * ranks + d] = next++;
    }
  }
  return record;
}

}  // namespace ptxwire::sim
