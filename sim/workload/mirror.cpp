#include "sim/workload/mirror.hpp"

#include <utility>

#include "sim/workload/internode.hpp"

namespace ptxwire::sim {

namespace {

/// `node` where nodes 0 and `other` change places.
int64_t exchanged(int64_t node, int64_t other) { return node == 0 ? other : node == other ? 0 : node; }

}  // namespace

Routing mirrored_routing(const RoutingShape& shape, const Routing& all) {
  const int64_t per_node = shape.experts / shape.nodes;
  std::vector<std::vector<int64_t>> experts(shape.ranks);
  for (uint32_t rank = 0; rank < shape.ranks; ++rank) {
    experts[rank] = all.experts(rank % kGpusPerNode);
    for (int64_t& expert : experts[rank])
      if (expert >= 0)
        expert = exchanged(expert / per_node, rank / kGpusPerNode) * per_node + expert % per_node;
  }
  return {shape, std::move(experts)};
}

SummandOf simulated_summand(const Scenario& s, SummandOf row) {
  if (!s.mirror || row.holder < kGpusPerNode) return row;
  const uint32_t node_begin = row.holder - row.holder % kGpusPerNode;
  return {row.holder - node_begin, node_begin + row.source};
}

std::vector<MirrorArea> mirror_areas(const Scenario& s, const InternodeLayout& layout, DeviceAddress heap,
                                     uint32_t rank) {
  const uint64_t nodes = node_count(s), node = rank / kGpusPerNode;
  // Everything [channel][sending node]: from our place to that of the other node.
  const auto area = [&](int64_t offset, uint64_t bytes) {
    return MirrorArea{.address = heap + static_cast<uint64_t>(offset),
                      .bytes = bytes,
                      .stride = nodes * bytes,
                      .count = s.channels(),
                      .shift = static_cast<int64_t>(node * bytes)};
  };
  std::vector<MirrorArea> areas{
      area(layout.heap.receive, uint64_t{layout.rdma_slots} * layout.slot_bytes),
      area(layout.heap.receive_ranges, kRangeInts * sizeof(int32_t)),
      area(layout.heap.consumed, sizeof(uint64_t)),
      area(layout.heap.produced, sizeof(uint64_t)),
  };
  if (is_dispatch(s)) {  // a slot names the node it comes from (row_meta)
    areas[0].item_bytes = layout.slot_bytes;
    areas[0].word_offset = layout.meta_offset;
    areas[0].word = static_cast<uint32_t>(node);
  }
  return areas;
}

Expected<void> validate_mirror(const Scenario& s) {
  if (!s.mirror) return {};
  const auto refuse = [&](std::string message) {
    return Error{.message = "'mirror' " + std::move(message),
                 .path = s.path,
                 .hint = "one node stands for all, so all must do the same; run all with mirror = false"};
  };
  if (s.routing != RoutingPattern::random && s.routing != RoutingPattern::masked)
    return refuse("takes no routing that prefers some ranks: expected 'routing' random or masked");
  if (!s.faults.empty()) return refuse("takes no 'faults'");
  if (s.send_topk) return refuse("takes no 'send_topk': experts have other numbers in the other nodes");
  if (s.notify == NotifyMode::full) return refuse("needs 'notify' cached: no other node counts its rows");
  return {};
}

std::string mirror_words(const Scenario& s) {
  if (!s.mirror) return {};
  return "mirror of one node for " + std::to_string(node_count(s)) +
         ": what its GPUs send to another comes back as what that one sends";
}

}  // namespace ptxwire::sim
