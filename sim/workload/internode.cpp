#include "sim/workload/internode.hpp"

#include <algorithm>
#include <bit>

#include "sim/workload/device_buffers.hpp"
#include "sim/workload/mirror.hpp"

namespace ptxwire::sim {

namespace {

constexpr uint64_t kSectionAlign = 128;
constexpr uint32_t kVectorBytes = 16, kMetaBytes = 8;
constexpr uint32_t kBarrierRounds = 8;  ///< of log2 N

int32_t as_int(uint64_t value) { return static_cast<int32_t>(value); }

uint64_t round_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

/// Lays sections out one after the other.
class Sections {
 public:
  explicit Sections(uint64_t& bytes) : bytes_(bytes) {}
  int64_t operator()(uint64_t size) {
    const auto offset = static_cast<int64_t>(bytes_);
    bytes_ = round_up(bytes_ + size, kSectionAlign);
    return offset;
  }

 private:
  uint64_t& bytes_;
};

}  // namespace

uint32_t internode_fan_out(const Scenario& s) {
  const uint32_t nodes = node_count(s);
  return nodes <= 2 ? 2 : nodes <= 4 ? 4 : 8;
}

uint32_t combine_forwarders_per_node(const Scenario& s) {
  return std::max((s.revision == KernelRevision::d ? 24 : 16) / node_count(s), 1U);
}

uint32_t combine_receivers(const Scenario& s) {
  const uint32_t forwarders = combine_forwarders(s);
  return s.revision == KernelRevision::d ? forwarders - kGpusPerNode : forwarders + kGpusPerNode;
}

InternodeLayout::InternodeLayout(const Scenario& s)
    : rdma_slots(static_cast<uint32_t>(round_up(s.rdma_slots, std::max(1U, s.rdma_chunk)))) {
  const uint64_t nodes = node_count(s), rings = s.channels() * nodes, topk = topk_on_wire(s);
  const uint64_t payload = row_payload_bytes(s);
  slot_bytes = static_cast<uint32_t>(
      round_up(payload + kMetaBytes + s.scales() * sizeof(float) + topk * (sizeof(int32_t) + sizeof(float)),
               kVectorBytes));
  const bool whole_slots = s.revision == KernelRevision::d;  // over NVLink as over RDMA
  meta_offset = static_cast<uint32_t>(payload + (whole_slots ? s.scales() * sizeof(float) : 0));
  nvlink_row_stride = whole_slots ? slot_bytes : payload;
  const uint64_t area = rings * rdma_slots * slot_bytes, ranges = rings * kRangeInts * sizeof(int32_t);
  const uint64_t indices = rings * sizeof(uint64_t), barrier = kBarrierRounds * sizeof(uint64_t);
  const uint64_t counts = nodes * (kGpusPerNode + s.experts / nodes + 1) * sizeof(int32_t);
  Sections in_heap(heap_bytes);
  heap.send = in_heap(area);
  heap.receive = in_heap(area);
  heap.send_ranges = in_heap(2 * ranges + 2 * indices);  // cleared in one piece
  heap.receive_ranges = heap.send_ranges + static_cast<int64_t>(ranges);
  heap.consumed = heap.receive_ranges + static_cast<int64_t>(ranges);
  heap.produced = heap.consumed + static_cast<int64_t>(indices);
  heap.returned = in_heap(indices);
  heap.send_counts = in_heap(counts);
  heap.receive_counts = in_heap(counts);
  heap.send_barrier = in_heap(barrier);
  heap.receive_barrier = in_heap(barrier);

  const uint64_t peers = uint64_t{s.channels()} * kGpusPerNode, slots = peers * s.nvlink_slots;
  // Dispatch: start and end per node, produced, consumed. Combine: produced and consumed per node.
  nvlink_metadata_ints = static_cast<uint32_t>(peers * (is_dispatch(s) ? 2 * nodes + 2 : 2 * nodes));
  Sections in_buffer(nvlink_bytes);
  nvlink.matrix = in_buffer(kGpusPerNode * (nodes + s.experts / s.ranks) * sizeof(int32_t));
  nvlink.metadata = in_buffer(nvlink_metadata_ints * sizeof(int32_t));
  nvlink.rows = in_buffer(slots * nvlink_row_stride);
  if (whole_slots) return;
  nvlink.source = in_buffer(slots * kMetaBytes);
  nvlink.idx = in_buffer(slots * topk * sizeof(int32_t));
  nvlink.weights = in_buffer(slots * topk * sizeof(float));
  nvlink.scales = in_buffer(slots * s.scales() * sizeof(float));
}

Expected<std::unique_ptr<InternodeCluster>> InternodeCluster::create(Cluster& cluster,
                                                                     const Scenario& scenario,
                                                                     const Routing& routing,
                                                                     const TestData& data) {
  std::unique_ptr<InternodeCluster> host(new InternodeCluster(cluster, scenario, routing));
  if (const auto prepared = host->prepare(); !prepared) return prepared.error();
  if (const auto connected = host->connect(); !connected) return connected.error();
  host->buffers_.resize(simulated_ranks(scenario));
  for (uint32_t rank = 0; rank < simulated_ranks(scenario); ++rank)
    if (const auto allocated = host->allocate(rank); !allocated) return allocated.error();
  if (scenario.elide)
    for (uint32_t rank = 0; rank < simulated_ranks(scenario); ++rank)
      if (const auto elided = host->elide(rank); !elided) return elided.error();
  for (uint32_t rank = 0; rank < simulated_ranks(scenario); ++rank) {
    const auto filled =
        is_dispatch(scenario) ? host->fill_dispatch(rank, data) : host->fill_combine(rank, data);
    if (!filled) return filled.error();
  }
  return host;
}

/// Queues join GPUs of one index in different nodes. Revision a has one per peer, b one per channel, d two.
Expected<void> InternodeCluster::connect() {
  constexpr uint32_t kUsualKeyShift = 29;
  const Scenario& s = scenario();
  RdmaHeapConfig config;
  config.ranks = s.ranks;
  config.heap_bytes = layout_.heap_bytes;
  const bool proxied = s.revision == KernelRevision::a;
  const uint32_t per_channel = s.revision == KernelRevision::d ? 2 : 1;
  config.queues_per_rank = s.queues != 0 ? s.queues : proxied ? 1 : per_channel * s.channels();
  config.queues_in_host_memory = proxied;
  // One thread posts a chunk as one entry, so no chunk may cross from one key to the next.
  config.key_shift = std::max(kUsualKeyShift, static_cast<uint32_t>(std::bit_width(layout_.heap_bytes)));
  config.options.virtual_lane = static_cast<uint8_t>(s.virtual_lane);
  config.options.adaptive = s.adaptive_routing;
  config.connected = [](uint32_t first, uint32_t second) {
    return first % kGpusPerNode == second % kGpusPerNode;
  };
  if (s.mirror) {
    config.simulated_ranks = simulated_ranks(s);
    config.mirror_areas = [this](DeviceAddress heap, uint32_t rank) {
      return mirror_areas(scenario(), layout_, heap, rank);
    };
  }
  auto heap = RdmaHeap::create(cluster(), config);
  if (!heap) return heap.error();
  heap_ = std::move(*heap);
  for (uint32_t rank = 0; proxied && rank < simulated_ranks(s); ++rank)
    if (const auto added = add_proxy(rank); !added) return added.error();
  return {};
}

Expected<void> InternodeCluster::add_proxy(uint32_t rank) {
  constexpr uint32_t kRequests = 1024, kRequestBytes = 32;
  ProxyState state{.entries = as_int(kRequests), .rank = as_int(rank)};
  BufferAllocator allocate(cluster(), rank);
  allocate.host_mapped(state.ring, uint64_t{kRequests} * kRequestBytes, "requests to the host");
  allocate.host_mapped(state.completed, sizeof(uint64_t), "requests done by the host");
  allocate(state.issued, sizeof(uint64_t), "number of requests");
  if (!allocate.result()) return allocate.result();
  HostProxyConfig config = heap_->proxy(rank);
  config.ring = state.ring;
  config.entries = kRequests;
  config.completed = state.completed;
  proxies_.push_back(state);
  return cluster().add_proxy(config);
}

InternodeComm InternodeCluster::comm(uint32_t rank) const {
  const Scenario& s = scenario();
  InternodeComm comm;
  const uint32_t first = rank / kGpusPerNode * kGpusPerNode;
  comm.nvlink = layout_.nvlink;
  for (uint32_t g = 0; g < kGpusPerNode; ++g) {
    comm.nvlink.peer[g] = buffers_[first + g].comm;
    comm.nvlink.signals[g] = buffers_[first + g].signals;
  }
  comm.nvlink.rank = as_int(rank % kGpusPerNode);
  comm.nvlink.ranks = as_int(kGpusPerNode);
  comm.rdma = heap_->state(rank);
  comm.layout = layout_.heap;
  comm.node = as_int(rank / kGpusPerNode);
  comm.nodes = as_int(node_count(s));
  comm.rdma_slots = as_int(layout_.rdma_slots);
  comm.slot_bytes = as_int(layout_.slot_bytes);
  comm.nvlink_slots = as_int(s.nvlink_slots);
  comm.nvlink_metadata_ints = as_int(layout_.nvlink_metadata_ints);
  return comm;
}

// --- Launches
// ------------------------------------------------------------------------------------------------------

namespace {

constexpr uint32_t kDispatchThreads = 512;

uint32_t full_notify_threads(const Scenario& s) { return s.revision == KernelRevision::a ? 256 : 512; }

/// The larger CTA. 8 warps send over NVLink, one coordinates; of d forwarders have a CTA of their own.
uint32_t combine_threads(const Scenario& s) {
  const uint32_t senders = s.revision == KernelRevision::d ? 0 : kGpusPerNode;
  return (senders + combine_forwarders(s) + 1) * 32;
}

/// kernels/src/internode_{dispatch,combine}_d.cu
uint32_t main_shared_bytes(const Scenario& s) {
  constexpr uint32_t kDispatchBytes = 8 * 16384, kCombineBytes = 24 * 9248;
  if (s.revision != KernelRevision::d) return 0;
  return is_dispatch(s) ? kDispatchBytes : kCombineBytes;
}

uint32_t cached_notify_threads(const Scenario& s) { return std::max(128U, 32 * s.channels()); }

}  // namespace

LaunchConfig InternodeCluster::notify_launch(uint32_t rank, int32_t barrier) const {
  const Scenario& s = scenario();
  LaunchConfig config = communication_launch(modules().notify, programs().notify_entry, s.sms,
                                             cached_notify_threads(s), "notify");
  const InternodeBuffers& b = buffers_[rank];
  const int32_t channels = as_int(s.channels());
  config.parameters = is_dispatch(s)
                          ? parameters(rank, channels, barrier)
                          : parameters(rank, b.slot_record, b.forward_record, b.received_per_node,
                                       b.node_channel_offsets, as_int(s.tokens), channels, barrier);
  return config;
}

LaunchConfig InternodeCluster::main_launch(uint32_t rank) const {
  const Scenario& s = scenario();
  LaunchConfig config = communication_launch(modules().main, programs().main_entry, s.sms,
                                             is_dispatch(s) ? kDispatchThreads : combine_threads(s),
                                             is_dispatch(s) ? "dispatch" : "combine");
  config.dynamic_shared_bytes = main_shared_bytes(s);
  const InternodeBuffers& b = buffers_[rank];
  const InternodeRowShape row{as_int(row_payload_bytes(s) / kVectorBytes), as_int(s.scales()),
                              as_int(topk_on_wire(s))};
  const int32_t tokens = as_int(s.tokens), rdma_chunk = as_int(s.rdma_chunk),
                nvlink_chunk = as_int(s.nvlink_chunk);
  if (is_dispatch(s)) {
    const InternodeDispatchInput in{b.input_rows,          b.input_scales,      b.topk_idx,
                                    b.topk_weights,        b.membership,        b.rank_channel_prefix,
                                    b.node_channel_prefix, b.received_per_rank, b.received_per_node};
    const InternodeDispatchOutput out{b.output_rows,    b.output_scales,        b.output_meta,
                                      b.output_idx,     b.output_weights,       b.slot_record,
                                      b.forward_record, b.rank_channel_offsets, b.node_channel_offsets};
    const InternodeDispatchShape shape{row, tokens, as_int(s.experts), rdma_chunk, nvlink_chunk};
    config.parameters = parameters(rank, in, out, shape);
  } else {
    const InternodeCombineInput in{b.input_rows,           b.input_meta,        b.topk_weights,
                                   b.received_per_rank,    b.received_per_node, b.rank_channel_offsets,
                                   b.node_channel_offsets, b.slot_record,       b.forward_record};
    const InternodeCombineOutput out{b.output_rows, b.output_weights};
    const InternodeCombineShape shape{row, tokens, rdma_chunk, nvlink_chunk};
    config.parameters = parameters(rank, in, out, shape);
  }
  return config;
}

std::vector<LaunchConfig> InternodeCluster::full_notify_launches(uint32_t rank, int32_t barrier) const {
  const Scenario& s = scenario();
  const InternodeBuffers& b = buffers_[rank];
  std::vector<LaunchConfig> launches{
      layout_launch({b.topk_idx, b.per_rank, b.per_node, b.per_expert, b.membership}),
      communication_launch(modules().full_notify, programs().full_notify_entry, 1 + node_count(s),
                           full_notify_threads(s), "notify")};
  constexpr int32_t kExpertAlignment = 1;
  const InternodeNotifyInput in{b.per_rank, b.per_node, b.per_expert, b.membership};
  const InternodeNotifyOutput out{b.rank_channel_prefix, b.node_channel_prefix, b.received_per_rank,
                                  b.received_per_node,   b.host_total,          b.host_node_total,
                                  b.host_experts};
  const InternodeNotifyShape shape{as_int(s.tokens), as_int(s.channels()), as_int(s.experts),
                                   kExpertAlignment};
  launches.back().parameters = parameters(rank, in, out, shape, barrier);
  return launches;
}

}  // namespace ptxwire::sim
