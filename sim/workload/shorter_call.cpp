#include "sim/workload/shorter_call.hpp"

#include <limits>
#include <map>

#include "sim/workload/handle.hpp"

namespace ptxwire::sim {

namespace {

/// Tokens of one channel by the set of ranks that they go to.
using TokensByRanks = std::map<uint32_t, std::vector<uint32_t>>;

TokensByRanks tokens_by_ranks(const Routing& routing, uint32_t rank, TokenSpan span) {
  TokensByRanks result;
  for (uint32_t token = span.begin; token < span.end; ++token) {
    uint32_t set = 0;
    for (uint32_t to = 0; to < routing.shape().ranks; ++to)
      if (routing.selected(rank, token, to)) set |= 1U << to;
    result[set].push_back(token);
  }
  return result;
}

/// How many tokens of each set go: one after the other, always the one that leaves the rows lost so far
/// nearest to `rows_per_token` each.
std::map<uint32_t, uint32_t> choose_sets(const TokensByRanks& tokens,
                                         const std::vector<double>& rows_per_token, uint32_t count) {
  std::map<uint32_t, uint32_t> gone;
  std::vector<double> excess(rows_per_token.size(), 0.0);  // rows lost beyond those that were to be lost
  const auto after = [&](uint32_t set, size_t to) {
    return excess[to] + ((set >> to) & 1U) - rows_per_token[to];
  };
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (const auto& [set, members] : tokens) {
      if (gone[set] == members.size()) continue;
      double squares = 0;
      for (size_t to = 0; to < excess.size(); ++to) squares += after(set, to) * after(set, to);
      if (squares >= least) continue;
      least = squares;
      best = set;
    }
    ++gone[best];
    for (size_t to = 0; to < excess.size(); ++to) excess[to] = after(best, to);
  }
  return gone;
}

}  // namespace

Routing shorter_call(const Routing& routing, uint32_t channels, uint32_t left_out) {
  RoutingShape shape = routing.shape();
  const uint32_t tokens = shape.tokens;
  shape.tokens = tokens - channels * left_out;
  std::vector<std::vector<int64_t>> experts(shape.ranks);
  for (uint32_t rank = 0; rank < shape.ranks; ++rank) {
    std::vector<double> rows_per_token;
    for (uint32_t to = 0; to < shape.ranks; ++to)
      rows_per_token.push_back(static_cast<double>(routing.count(rank, to)) / tokens);
    std::vector<bool> stays(tokens, true);
    for (uint32_t channel = 0; channel < channels; ++channel) {
      const TokensByRanks sets = tokens_by_ranks(routing, rank, channel_tokens(tokens, channels, channel));
      for (const auto& [set, count] : choose_sets(sets, rows_per_token, left_out)) {
        const std::vector<uint32_t>& members = sets.at(set);
        for (uint64_t i = 0; i < members.size(); ++i)  // evenly spread over the channel
          if ((i + 1) * count / members.size() != i * count / members.size()) stays[members[i]] = false;
      }
    }
    const std::vector<int64_t>& all = routing.experts(rank);
    for (uint32_t token = 0; token < tokens; ++token)
      if (stays[token])
        experts[rank].insert(experts[rank].end(), all.begin() + int64_t{token} * shape.topk,
                             all.begin() + (int64_t{token} + 1) * shape.topk);
  }
  return {shape, std::move(experts)};
}

std::vector<uint32_t> ring_rows(const Routing& routing, uint32_t channels, bool back) {
  const RoutingShape& shape = routing.shape();
  std::vector<uint32_t> rows;
  for (uint32_t to = 0; to < shape.ranks; ++to)
    for (uint32_t channel = 0; channel < channels; ++channel) {
      const TokenSpan span = channel_tokens(shape.tokens, channels, channel);
      for (uint32_t from = 0; from < shape.ranks; ++from) {
        if (from == to) continue;
        uint32_t count = 0;
        for (uint32_t token = span.begin; token < span.end; ++token)
          count += (back ? routing.selected(to, token, from) : routing.selected(from, token, to)) ? 1 : 0;
        rows.push_back(count);
      }
    }
  return rows;
}

}  // namespace ptxwire::sim
