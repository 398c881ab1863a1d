#include "sim/workload/intranode.hpp"

#include <algorithm>

#include "sim/workload/device_buffers.hpp"
#include "sim/workload/handle.hpp"

namespace ptxwire::sim {

namespace {

constexpr uint64_t kSectionAlign = 128;
constexpr uint32_t kVectorBytes = 16;
/// Counters per ring, each for all rings: start, end, consumed, produced; combine has the last two only.
constexpr uint64_t kRingCounters = 4, kProducedOfDispatch = 3, kProducedOfCombine = 1;

std::string_view family_word(const Scenario& s) { return is_dispatch(s) ? "dispatch" : "combine"; }

}  // namespace

CommLayout::CommLayout(const Scenario& s) {
  const uint64_t rings = uint64_t{s.channels()} * s.ranks, slots = rings * s.ring_slots;
  const auto section = [this](uint64_t size) {
    const auto offset = static_cast<int64_t>(bytes);
    bytes = (bytes + size + kSectionAlign - 1) / kSectionAlign * kSectionAlign;
    return offset;
  };
  matrix = section((uint64_t{s.ranks} * s.ranks + s.experts) * sizeof(int32_t));
  metadata = section(kRingCounters * rings * sizeof(int32_t));
  rows = section(slots * row_payload_bytes(s));
  source = section(slots * sizeof(int32_t));
  idx = section(slots * topk_on_wire(s) * sizeof(int64_t));
  weights = section(slots * topk_on_wire(s) * sizeof(float));
  scales = section(slots * s.scales() * sizeof(float));
}

Expected<std::unique_ptr<IntranodeNode>> IntranodeNode::create(Cluster& cluster, const Scenario& scenario,
                                                               const Routing& routing, const TestData& data) {
  std::unique_ptr<IntranodeNode> node(new IntranodeNode(cluster, scenario, routing));
  if (const auto prepared = node->prepare(); !prepared) return prepared.error();
  node->buffers_.resize(scenario.ranks);
  for (uint32_t rank = 0; rank < scenario.ranks; ++rank)
    if (const auto allocated = node->allocate(rank); !allocated) return allocated.error();
  for (uint32_t rank = 0; rank < scenario.ranks; ++rank) {
    const auto filled =
        is_dispatch(scenario) ? node->fill_dispatch(rank, data) : node->fill_combine(rank, data);
    if (!filled) return filled.error();
  }
  return node;
}

std::span<const int32_t> IntranodeNode::produced(uint32_t rank) const {
  const uint64_t rings = uint64_t{scenario().channels()} * scenario().ranks;
  const uint64_t before = (is_dispatch(scenario()) ? kProducedOfDispatch : kProducedOfCombine) * rings;
  const DeviceAddress counters = buffers_[rank].comm + static_cast<uint64_t>(layout_.metadata);
  return view_values<int32_t>(cluster(), counters + before * sizeof(int32_t), rings);
}

CommBuffers IntranodeNode::comm_buffers(uint32_t rank) const {
  CommBuffers comm;
  for (uint32_t r = 0; r < scenario().ranks; ++r) {
    comm.peer[r] = buffers_[r].comm;
    comm.signals[r] = buffers_[r].signals;
  }
  comm.matrix = layout_.matrix;
  comm.metadata = layout_.metadata;
  comm.rows = layout_.rows;
  comm.source = layout_.source;
  comm.idx = layout_.idx;
  comm.weights = layout_.weights;
  comm.scales = layout_.scales;
  comm.rank = static_cast<int32_t>(rank);
  comm.ranks = static_cast<int32_t>(scenario().ranks);
  return comm;
}

// --- Launches
// ------------------------------------------------------------------------------------------------------

namespace {

constexpr uint32_t kNotifyThreads = 128;

uint32_t main_threads(const Scenario& s) {
  return is_dispatch(s) && s.revision == KernelRevision::a ? 256 : 768;
}

/// Staging of revision D: 8 KiB per warp in dispatch, 8 stages of 512 B per warp in combine.
uint32_t main_shared_bytes(const Scenario& s) {
  if (s.revision == KernelRevision::a) return 0;
  return main_threads(s) / 32 * (is_dispatch(s) ? 8192 : 8 * 512);
}

int32_t as_int(uint64_t value) { return static_cast<int32_t>(value); }

}  // namespace

LaunchConfig IntranodeNode::notify_launch(uint32_t rank, int32_t barrier) const {
  const Scenario& s = scenario();
  const bool dispatch = is_dispatch(s);
  LaunchConfig config =
      communication_launch(modules().notify, programs().notify_entry, dispatch ? 1 : 1 + s.channels(),
                           dispatch ? kNotifyThreads : std::max(kNotifyThreads, 32 * s.ranks), "notify");
  const RankBuffers& buffers = buffers_[rank];
  const int32_t channels = as_int(s.channels());
  config.parameters = dispatch ? pack_parameters(comm_buffers(rank), buffers.matrix, channels, barrier)
                               : pack_parameters(comm_buffers(rank), buffers.slot_record, as_int(s.tokens),
                                                 channels, barrier);
  return config;
}

LaunchConfig IntranodeNode::main_launch(uint32_t rank) const {
  const Scenario& s = scenario();
  LaunchConfig config = communication_launch(modules().main, programs().main_entry, s.sms, main_threads(s),
                                             std::string(family_word(s)));
  config.dynamic_shared_bytes = main_shared_bytes(s);
  const RankBuffers& b = buffers_[rank];
  const int32_t vectors = as_int(row_payload_bytes(s) / kVectorBytes), topk = as_int(topk_on_wire(s));
  if (is_dispatch(s)) {
    const DispatchInput in{b.input_rows,   b.input_scales, b.topk_idx,
                           b.topk_weights, b.membership,   b.channel_prefix};
    const DispatchOutput out{b.output_rows,    b.output_scales,   b.output_source, b.output_idx,
                             b.output_weights, b.channel_offsets, b.slot_record};
    const DispatchShape shape{
        as_int(s.tokens),     vectors,        as_int(s.scales()), topk, as_int(s.experts),
        as_int(s.ring_slots), as_int(s.chunk)};
    config.parameters = pack_parameters(comm_buffers(rank), in, out, shape);
  } else {
    const CombineInput in{
        b.input_rows, b.topk_weights, b.input_source, b.matrix, b.channel_offsets, b.slot_record, {}};
    const CombineOutput out{b.output_rows, b.output_weights};
    const CombineShape shape{as_int(s.tokens), vectors, topk, as_int(s.ring_slots), as_int(s.chunk)};
    config.parameters = pack_parameters(comm_buffers(rank), in, out, shape);
  }
  return config;
}

std::vector<LaunchConfig> IntranodeNode::full_notify_launches(uint32_t rank, int32_t barrier) const {
  const Scenario& s = scenario();
  const RankBuffers& b = buffers_[rank];
  std::vector<LaunchConfig> launches{
      layout_launch({b.topk_idx, b.per_rank, DeviceAddress{0}, b.per_expert, b.membership}),
      communication_launch(modules().full_notify, programs().full_notify_entry, 1 + s.ranks, kNotifyThreads,
                           "notify")};
  constexpr int32_t kExpertAlignment = 1;
  launches.back().parameters = pack_parameters(
      comm_buffers(rank), b.per_rank, b.per_expert, b.membership, b.matrix, b.channel_prefix, b.host_total,
      b.host_experts, as_int(s.tokens), as_int(s.channels()), as_int(s.experts), kExpertAlignment, barrier);
  return launches;
}

}  // namespace ptxwire::sim
