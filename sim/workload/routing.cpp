#include "sim/workload/routing.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#include "sim/workload/random.hpp"

namespace ptxwire::sim {

namespace {

constexpr uint32_t kMaxNodesPerToken = 4;
/// Stream of the order of popularity; ranks have the streams from 0 on.
constexpr uint64_t kPopularityStream = UINT32_MAX;

/// The experts of one token: scores, masks, and the order of the best K.
class ExpertDraw {
 public:
  explicit ExpertDraw(const RoutingShape& shape)
      : shape_(shape), scores_(shape.experts), order_(shape.experts) {
    if (shape.pattern == RoutingPattern::hot) hot_expert_ = expert_popularity(shape).front();
    if (shape.pattern != RoutingPattern::zipf) return;
    weights_.resize(shape.experts);
    double place = 0;
    for (const uint32_t expert : expert_popularity(shape))
      weights_[expert] = std::pow(++place, -shape.zipf_exponent);
  }

  /// Appends the K best experts; fewer than K eligible ones are filled up with -1.
  void append(RandomStream& random, std::vector<int64_t>& out) {
    draw(random);
    mask();
    std::iota(order_.begin(), order_.end(), 0);
    const auto better = [&](uint32_t a, uint32_t b) {
      return scores_[a] != scores_[b] ? scores_[a] > scores_[b] : a < b;
    };
    std::nth_element(order_.begin(), order_.begin() + (shape_.topk - 1), order_.end(), better);
    std::sort(order_.begin(), order_.begin() + shape_.topk, better);
    for (uint32_t k = 0; k < shape_.topk; ++k) {
      const bool eligible = scores_[order_[k]] != 0;
      out.push_back(eligible ? static_cast<int64_t>(order_[k]) : -1);
    }
  }

 private:
  void draw(RandomStream& random) {
    if (shape_.pattern == RoutingPattern::zipf) {
      for (uint32_t expert = 0; expert < shape_.experts; ++expert)
        scores_[expert] = weighted_score(random, weights_[expert]);
      return;
    }
    for (uint64_t& score : scores_) score = random.next() | 1;  // 0 is "masked"
    if (shape_.pattern == RoutingPattern::hot) scores_[hot_expert_] = UINT64_MAX;
  }

  /// Bits of positive floating-point numbers have the order of the numbers.
  static uint64_t weighted_score(RandomStream& random, double weight) {
    constexpr unsigned kDroppedBits = 12;  // so that the number below is exact: never 0 or 1
    const double uniform = (static_cast<double>(random.next() >> kDroppedBits) + 0.5) * 0x1p-52;
    return std::bit_cast<uint64_t>(weight / -std::log(uniform));
  }

  void mask() {
    const uint32_t local = shape_.experts / shape_.ranks;
    if (shape_.pattern == RoutingPattern::all_to_one)
      std::fill(scores_.begin() + local, scores_.end(), 0);
    else if (shape_.pattern == RoutingPattern::none_to_last)
      std::fill(scores_.end() - local, scores_.end(), 0);
    if (shape_.nodes > kMaxNodesPerToken) mask_nodes();
  }

  /// Keeps the experts of the nodes whose best score is largest.
  void mask_nodes() {
    const uint32_t per_node = shape_.experts / shape_.nodes;
    std::vector<std::pair<uint64_t, uint32_t>> best(shape_.nodes);
    for (uint32_t node = 0; node < shape_.nodes; ++node) {
      const auto first = scores_.begin() + node * per_node;
      best[node] = {*std::max_element(first, first + per_node), node};
    }
    std::sort(best.begin(), best.end(), std::greater<>());
    for (uint32_t i = kMaxNodesPerToken; i < shape_.nodes; ++i) {
      const auto first = scores_.begin() + best[i].second * per_node;
      std::fill(first, first + per_node, 0);
    }
  }

  const RoutingShape& shape_;
  std::vector<uint64_t> scores_;
  std::vector<uint32_t> order_;
  std::vector<double> weights_;  ///< of RoutingPattern::zipf
  uint32_t hot_expert_ = 0;      ///< of RoutingPattern::hot
};

void void_selections(RandomStream& random, uint32_t topk, std::vector<int64_t>& experts) {
  constexpr uint32_t kVoidOneIn = 4, kEmptyTokenOneIn = 16;
  const bool none_left = random.below(kEmptyTokenOneIn) == 0;
  for (size_t i = experts.size() - topk; i < experts.size(); ++i)
    if (random.below(kVoidOneIn) == 0 || none_left) experts[i] = -1;
}

}  // namespace

Routing::Routing(const RoutingShape& shape)
    : shape_(shape),
      experts_(shape.ranks),
      membership_(shape.ranks),
      counts_(shape.ranks * shape.ranks),
      expert_totals_(shape.experts) {
  ExpertDraw draw(shape);
  for (uint32_t rank = 0; rank < shape.ranks; ++rank) {
    RandomStream random(shape.seed, rank);
    std::vector<int64_t>& experts = experts_[rank];
    experts.reserve(uint64_t{shape.tokens} * shape.topk);
    for (uint32_t token = 0; token < shape.tokens; ++token) {
      draw.append(random, experts);
      if (shape.pattern == RoutingPattern::masked) void_selections(random, shape.topk, experts);
    }
    for (uint32_t i = 0; i < shape.void_selections && shape.tokens > 0; ++i) {
      const uint64_t token = random.below(shape.tokens);
      experts[token * shape.topk + random.below(shape.topk)] = -1;
    }
    count(rank);
  }
}

Routing::Routing(const RoutingShape& shape, std::vector<std::vector<int64_t>> experts)
    : shape_(shape),
      experts_(std::move(experts)),
      membership_(shape.ranks),
      counts_(shape.ranks * shape.ranks),
      expert_totals_(shape.experts) {
  for (uint32_t rank = 0; rank < shape.ranks; ++rank) count(rank);
}

/// What follows from a rank's selections.
void Routing::count(uint32_t rank) {
  const uint32_t local = shape_.experts / shape_.ranks;
  std::vector<uint8_t>& membership = membership_[rank];
  membership.resize(uint64_t{shape_.tokens} * shape_.ranks);
  for (size_t i = 0; i < experts_[rank].size(); ++i) {
    if (experts_[rank][i] < 0) continue;
    const auto expert = static_cast<uint64_t>(experts_[rank][i]);
    membership[i / shape_.topk * shape_.ranks + expert / local] = 1;
    ++expert_totals_[expert];
  }
  for (uint32_t token = 0; token < shape_.tokens; ++token)
    for (uint32_t d = 0; d < shape_.ranks; ++d) counts_[rank * shape_.ranks + d] += selected(rank, token, d);
}

uint64_t Routing::received(uint32_t destination) const {
  uint64_t rows = 0;
  for (uint32_t source = 0; source < shape_.ranks; ++source) rows += count(source, destination);
  return rows;
}

std::vector<int32_t> Routing::expert_counts(uint32_t rank) const {
  std::vector<int32_t> counts(shape_.experts);
  for (const int64_t expert : experts_[rank])
    if (expert >= 0) ++counts[static_cast<size_t>(expert)];
  return counts;
}

std::vector<uint32_t> expert_popularity(const RoutingShape& shape) {
  std::vector<uint32_t> order(shape.experts);
  std::iota(order.begin(), order.end(), 0);
  RandomStream random(shape.seed, kPopularityStream);
  for (uint32_t left = shape.experts; left > 1; --left)  // Fisher and Yates
    std::swap(order[left - 1], order[random.below(left)]);
  return order;
}

double expected_distinct_ranks(uint32_t ranks, uint32_t experts, uint32_t topk) {
  // C(E - E/R, K) / C(E, K), factor by factor: the chance that a rank owns none of K experts drawn without
  // replacement.
  const double others = experts - static_cast<double>(experts) / ranks;
  double missed = 1;
  for (uint32_t k = 0; k < topk; ++k)
    missed *= std::max(0.0, others - k) / (static_cast<double>(experts) - k);
  return ranks * (1 - missed);
}

}  // namespace ptxwire::sim
