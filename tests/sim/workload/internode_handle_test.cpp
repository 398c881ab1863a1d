// What a dispatch across nodes leaves behind, against lists of tokens made by walking all ways of all tokens.
#include "sim/workload/internode_handle.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <tuple>

#include "sim/workload/handle.hpp"
#include "sim/workload/internode.hpp"

using namespace ptxwire::sim;

namespace {

constexpr uint32_t kRanks = 24, kNodes = 3, kTokens = 37, kChannels = 4;

const Routing& small_routing() {
  static const Routing routing({.ranks = kRanks,
                                .tokens = kTokens,
                                .topk = 4,
                                .experts = 72,
                                .nodes = kNodes,
                                .pattern = RoutingPattern::masked,
                                .seed = 11});
  return routing;
}

using Row = std::pair<uint32_t, uint32_t>;  ///< source rank, token

/// Every row that somebody puts into a ring or a block, in order, by walking sources, channels and tokens.
struct Ways {
  /// [source][channel][node] over RDMA.
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::vector<Row>> over_rdma;
  /// [forwarder][channel][source node][GPU of the node] over NVLink.
  std::map<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>, std::vector<Row>> over_nvlink;
  std::map<uint32_t, std::vector<Row>> received, forwarded;  ///< [rank]

  explicit Ways(const Routing& routing) {
    for (uint32_t source = 0; source < kRanks; ++source)
      for (uint32_t token = 0; token < kTokens; ++token)
        for (uint32_t node = 0; node < kNodes; ++node) {
          const uint32_t channel = token / ((kTokens + kChannels - 1) / kChannels);
          const uint32_t forwarder = node * 8 + source % 8;
          bool crosses = false;
          for (uint32_t g = 0; g < 8; ++g) {
            if (!routing.selected(source, token, node * 8 + g)) continue;
            crosses = true;
            over_nvlink[{forwarder, channel, source / 8, g}].push_back({source, token});
            received[node * 8 + g].push_back({source, token});
          }
          if (!crosses) continue;
          over_rdma[{source, channel, node}].push_back({source, token});
          forwarded[forwarder].push_back({source, token});
        }
  }
};

int32_t position(const std::vector<Row>& rows, const Row& row) {
  const auto found = std::find(rows.begin(), rows.end(), row);
  return found == rows.end() ? -1 : static_cast<int32_t>(found - rows.begin());
}

uint32_t channel_of(uint32_t token) { return token / ((kTokens + kChannels - 1) / kChannels); }

}  // namespace

TEST_CASE("internode handle: slot records are places in the rings over RDMA") {
  const Routing& routing = small_routing();
  Ways ways(routing);
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    const std::vector<int32_t> record = node_slot_record(routing, rank, kChannels);
    REQUIRE(record.size() == kTokens * kNodes);
    for (uint32_t t = 0; t < kTokens; ++t)
      for (uint32_t m = 0; m < kNodes; ++m)
        REQUIRE(record[t * kNodes + m] == position(ways.over_rdma[{rank, channel_of(t), m}], {rank, t}));
  }
}

TEST_CASE("internode handle: forward records are places in the rings over NVLink, by source node") {
  const Routing& routing = small_routing();
  Ways ways(routing);
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    const std::vector<int32_t> record = forward_record(routing, rank, kChannels);
    const std::vector<Row>& rows = ways.forwarded[rank];
    REQUIRE(record.size() == rows.size() * 8);
    for (size_t i = 0; i < rows.size(); ++i)
      for (uint32_t d = 0; d < 8; ++d) {
        const auto& [source, token] = rows[i];
        REQUIRE(record[i * 8 + d] ==
                position(ways.over_nvlink[{rank, channel_of(token), source / 8, d}], rows[i]));
      }
  }
}

TEST_CASE("internode handle: sums and offsets lead to the right rows") {
  const Routing& routing = small_routing();
  Ways ways(routing);
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    const std::vector<int32_t> per_rank = received_per_rank(routing, rank);
    const std::vector<int32_t> per_node = received_per_node(routing, rank);
    const std::vector<int32_t> of_node = node_channel_offsets(routing, rank, kChannels);
    const std::vector<int32_t> prefix = node_channel_prefix(routing, rank, kChannels);
    REQUIRE(per_rank.back() == static_cast<int32_t>(ways.received[rank].size()));
    REQUIRE(per_node.back() == static_cast<int32_t>(ways.forwarded[rank].size()));
    for (uint32_t m = 0; m < kNodes; ++m) {
      int32_t sent = 0, arrived = 0;
      for (uint32_t c = 0; c < kChannels; ++c) {
        REQUIRE(of_node[m * kChannels + c] == arrived);
        sent += static_cast<int32_t>(ways.over_rdma[{rank, c, m}].size());
        arrived += static_cast<int32_t>(ways.over_rdma[{m * 8 + rank % 8, c, rank / 8}].size());
        REQUIRE(prefix[m * kChannels + c] == sent);
      }
      REQUIRE(per_node[m] - (m > 0 ? per_node[m - 1] : 0) == arrived);
    }
  }
}

// Means per token of the routing of the published tests: nodes exact for two and four nodes, where no expert
// is left out,
//   D = N (1 - C(E - E/N, K) / C(E, K)) = 1.9930 and 3.6142 of 256 experts, top-8,
// and 3.983 by drawing 60,000 tokens for eight, where the choice of four nodes favours those with a high
// score.
TEST_CASE("internode handle: nodes and ranks per token are those of the published tests") {
  const auto [ranks, nodes_per_token, ranks_per_token] =
      GENERATE(std::make_tuple(16U, 1.9930, 6.5233), std::make_tuple(32U, 3.6142, 7.2668),
               std::make_tuple(64U, 3.983, 7.469));
  constexpr uint32_t kMany = 512;
  const Routing routing(
      {.ranks = ranks, .tokens = kMany, .topk = 8, .experts = 256, .nodes = ranks / 8, .seed = 4});
  double pairs = 0, copies = 0;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    pairs += static_cast<double>(node_pairs(routing, rank));
    copies += static_cast<double>(routing.received(rank));
  }
  // Standard deviations per token are below 0.6 and 0.9; 8192 tokens and more.
  CHECK(pairs / (ranks * kMany) == Approx(nodes_per_token).margin(4 * 0.6 / 90));
  CHECK(copies / (ranks * kMany) == Approx(ranks_per_token).margin(4 * 0.9 / 90));
}

TEST_CASE("internode: slots over RDMA have the size of the published message formats") {
  Scenario s;
  s.kernel = KernelFamily::internode_dispatch;
  s.ranks = 16;
  s.hidden = 7168;
  s.elements = ElementType::fp8;
  CHECK(InternodeLayout(s).slot_bytes == 7408);
  s.send_topk = true;
  CHECK(InternodeLayout(s).slot_bytes == 7472);
  s.send_topk = false;
  s.kernel = KernelFamily::internode_combine;
  s.elements = ElementType::bf16;
  CHECK(InternodeLayout(s).slot_bytes == 14352);
}

TEST_CASE("internode: settings that lead to a deadlock or that the kernels do not take are refused") {
  const auto refused = [](KernelFamily kernel, auto change) {
    Scenario s;
    s.kernel = kernel;
    s.revision = KernelRevision::b;
    s.elements = kernel == KernelFamily::internode_dispatch ? ElementType::fp8 : ElementType::bf16;
    s.ranks = 16;
    change(s);
    const auto valid = validate(s);
    return valid ? std::string() : valid.error().message;
  };
  using Catch::Matchers::Contains;
  constexpr auto kDispatch = KernelFamily::internode_dispatch, kCombine = KernelFamily::internode_combine;
  CHECK(refused(kDispatch, [](Scenario&) {}).empty());
  CHECK(refused(kCombine, [](Scenario&) {}).empty());
  CHECK_THAT(refused(kDispatch, [](Scenario& s) { s.ranks = 8; }), Contains("'ranks' is 8"));
  CHECK_THAT(refused(kDispatch, [](Scenario& s) { s.ranks = 20; }), Contains("ranks"));
  CHECK_THAT(refused(kCombine, [](Scenario& s) { s.ranks = 256; }), Contains("2 to 16 nodes"));
  CHECK_THAT(refused(kDispatch, [](Scenario& s) { s.sms = 2; }), Contains("'sms' is 2"));
  CHECK_THAT(refused(kDispatch, [](Scenario& s) { s.sms = 66; }), Contains("'sms' is 66"));
  CHECK_THAT(refused(kDispatch, [](Scenario& s) { s.rdma_chunk = 129; }), Contains("half of the"));
  CHECK_THAT(refused(kDispatch, [](Scenario& s) { s.rdma_chunk = 64; }), Contains("need 134"));
  CHECK_THAT(refused(kCombine, [](Scenario& s) { s.rdma_slots = 40; }), Contains("need 55"));
  CHECK_THAT(refused(kCombine, [](Scenario& s) { s.rdma_chunk = 4; }), Contains("needs 8"));
  CHECK_THAT(refused(kCombine, [](Scenario& s) { s.nvlink_slots = 511; }),
             Contains("multiple of the 2 nodes"));
  CHECK_THAT(refused(kCombine, [](Scenario& s) { s.nvlink_slots = 32; }), Contains("16 per node"));
  CHECK_THAT(refused(kDispatch, [](Scenario& s) { s.nvlink_chunk = 513; }), Contains("nvlink_chunk"));
  CHECK_THAT(refused(kCombine, [](Scenario& s) { s.notify = NotifyMode::full; }), Contains("notify"));
  CHECK_THAT(refused(kDispatch, [](Scenario& s) { s.virtual_lane = 8; }), Contains("virtual_lane"));
  CHECK_THAT(refused(kDispatch, [](Scenario& s) { s.revision = KernelRevision::c; }), Contains("revision"));
}
