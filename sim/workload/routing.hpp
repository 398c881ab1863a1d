// Who gets which token. Every token picks K distinct experts; it goes, once, to each rank that owns one of
// them.
//
// The routing of the published tests draws an independent score per expert and takes the K largest; on more
// than four nodes only the experts of the four nodes with the largest single score take part. Only the order
// of the scores matters, so any continuous distribution gives the same. On one node a token then reaches
//   D = R (1 - C(E - E/R, K) / C(E, K))
// distinct ranks in the mean: 5.2947 for 8 ranks, 256 experts, top-8.
//
// Skewed routings give expert i the score w_i / e, e exponential with mean 1. The K largest are then K draws
// without replacement with chances in proportion to the weights w (Efraimidis and Spirakis: Weighted random
// sampling with a reservoir, Information Processing Letters 97, 2006; their key u^(1/w) has the same order),
// so the first expert of a token is i with probability w_i / sum w. The limit to four nodes holds as above.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/workload/scenario.hpp"

namespace ptxwire::sim {

struct RoutingShape {
  uint32_t ranks = 8, tokens = 0, topk = 8, experts = 256;
  uint32_t nodes = 1;  ///< ranks are spread over them in order
  RoutingPattern pattern = RoutingPattern::random;
  double zipf_exponent = 1.0;  ///< s of RoutingPattern::zipf
  uint64_t seed = 1;
  /// Of every rank, drawn at random and maybe twice, made void afterwards (low-latency tests: 10).
  uint32_t void_selections = 0;
};

class Routing {
 public:
  /// Draws all ranks, each from a stream of its own.
  ///  random:       as above
  ///  all_to_one:   every token of every rank picks experts of rank 0
  ///  none_to_last: as random, without the experts of the last rank
  ///  masked:       as random, but every fourth selection on average is void (-1); every 16th token has none
  ///  left
  ///  zipf:         expert expert_popularity()[k] has weight (k + 1)^-s
  ///  hot:          as random, but expert_popularity()[0] is the first choice of every token
  /// Not `file`: the other constructor, through scenario_routing (routing_file.hpp).
  explicit Routing(const RoutingShape& shape);
  /// As given: [rank][T][K], each an expert or -1, those of a token distinct.
  Routing(const RoutingShape& shape, std::vector<std::vector<int64_t>> experts);

  [[nodiscard]] const RoutingShape& shape() const { return shape_; }
  /// [T][K] experts of a rank's tokens, best first; -1 is no selection.
  [[nodiscard]] const std::vector<int64_t>& experts(uint32_t rank) const { return experts_[rank]; }
  /// Whether token `token` of rank `source` goes to rank `destination`.
  [[nodiscard]] bool selected(uint32_t source, uint32_t token, uint32_t destination) const {
    return membership_[source][uint64_t{token} * shape_.ranks + destination] != 0;
  }
  /// [T][R] 0 or 1.
  [[nodiscard]] const std::vector<uint8_t>& membership(uint32_t rank) const { return membership_[rank]; }
  /// Tokens of `source` that go to `destination`.
  [[nodiscard]] uint32_t count(uint32_t source, uint32_t destination) const {
    return counts_[source * shape_.ranks + destination];
  }
  /// Rows that rank `destination` receives from all ranks, itself included.
  [[nodiscard]] uint64_t received(uint32_t destination) const;
  /// Selections of `rank`'s tokens per expert.
  [[nodiscard]] std::vector<int32_t> expert_counts(uint32_t rank) const;
  /// Selections of all ranks' tokens for one expert.
  [[nodiscard]] uint32_t expert_total(uint32_t expert) const { return expert_totals_[expert]; }

 private:
  void count(uint32_t rank);

  RoutingShape shape_;
  std::vector<std::vector<int64_t>> experts_;
  std::vector<std::vector<uint8_t>> membership_;
  std::vector<uint32_t> counts_;  ///< [source][destination]
  std::vector<uint32_t> expert_totals_;
};

/// All experts, the most popular first, in an order drawn from the seed; the same for all ranks.
std::vector<uint32_t> expert_popularity(const RoutingShape& shape);

/// The mean D above, exact where no node is masked.
double expected_distinct_ranks(uint32_t ranks, uint32_t experts, uint32_t topk);

}  // namespace ptxwire::sim
