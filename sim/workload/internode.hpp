// The host side of our internode kernels: buffers on every GPU, their contents, and the launches of one call.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/workload/expert_calls.hpp"
#include "sim/workload/internode_arguments.hpp"
#include "sim/workload/internode_handle.hpp"
#include "sim/workload/rdma_heap.hpp"
#include "sim/workload/test_data.hpp"

namespace ptxwire::sim {

inline uint32_t node_count(const Scenario& scenario) { return scenario.ranks / kGpusPerNode; }
/// With `elide` the first tokens of every rank are real, those of channel 0: so many. Else all.
uint32_t real_tokens(const Scenario& scenario);
/// Nodes that the kernels let a token go to, at most: 2, 4 or 8, which is an entry each.
uint32_t internode_fan_out(const Scenario& scenario);

/// Warps of combine that add what comes over NVLink: kernels/src/internode_combine{.cuh,_d.cu} (16 or 24,
/// shared by the nodes; at least one each).
uint32_t combine_forwarders_per_node(const Scenario& scenario);
inline uint32_t combine_forwarders(const Scenario& scenario) {
  return node_count(scenario) * combine_forwarders_per_node(scenario);
}
/// Those that add what comes over RDMA: of d fewer, they share a CTA with the NVLink senders.
uint32_t combine_receivers(const Scenario& scenario);

/// Where everything lies, equal on all ranks: in the symmetric heap, and in the buffer that the GPUs of a
/// node map.
struct InternodeLayout {
  RdmaLayout heap;
  uint64_t heap_bytes = 0;
  CommBuffers nvlink;  ///< its offsets
  uint64_t nvlink_bytes = 0;
  uint32_t rdma_slots = 0;  ///< a multiple of the chunk
  uint32_t slot_bytes = 0;  ///< row, 8 bytes of meta, scales (d: before meta), idx, weights; a multiple of 16
  uint32_t meta_offset = 0;        ///< in a slot
  uint64_t nvlink_row_stride = 0;  ///< of the rings over NVLink: d has whole slots there, a and b arrays
  uint32_t nvlink_metadata_ints = 0;
  explicit InternodeLayout(const Scenario& scenario);
};

/// Settings that the internode kernels do not take. Errors as validate().
Expected<void> validate_internode(const Scenario& scenario);

/// Device addresses of one rank. 0 where a scenario does not use the buffer.
struct InternodeBuffers {
  DeviceAddress comm = 0, signals = 0;
  DeviceAddress rank_channel_prefix = 0, node_channel_prefix = 0, received_per_rank = 0,
                received_per_node = 0;
  DeviceAddress rank_channel_offsets = 0, node_channel_offsets = 0, slot_record = 0, forward_record = 0;
  DeviceAddress membership = 0, input_rows = 0, input_scales = 0, input_meta = 0, topk_idx = 0,
                topk_weights = 0;
  DeviceAddress output_rows = 0, output_scales = 0, output_meta = 0, output_idx = 0, output_weights = 0;
  // NotifyMode::full.
  DeviceAddress per_rank = 0, per_node = 0, per_expert = 0;
  DeviceAddress host_total = 0, host_node_total = 0, host_experts = 0;
};

class InternodeCluster final : public ExpertCalls {
 public:
  /// Loads the programs, allocates, connects, and writes inputs and metadata. `cluster` and `routing` must
  /// outlive it.
  static Expected<std::unique_ptr<InternodeCluster>> create(Cluster& cluster, const Scenario& scenario,
                                                            const Routing& routing, const TestData& data);

  [[nodiscard]] const InternodeBuffers& buffers(uint32_t rank) const { return buffers_[rank]; }

 private:
  InternodeCluster(Cluster& cluster, const Scenario& scenario, const Routing& routing)
      : ExpertCalls(cluster, scenario, routing), layout_(scenario) {}

  Expected<void> connect();
  Expected<void> add_proxy(uint32_t rank);
  Expected<void> allocate(uint32_t rank);
  Expected<void> allocate_dispatch(uint32_t rank);
  Expected<void> allocate_combine(uint32_t rank);
  /// internode_elision.cpp
  Expected<void> elide(uint32_t rank);
  Expected<void> fill_dispatch(uint32_t rank, const TestData& data);
  Expected<void> fill_combine(uint32_t rank, const TestData& data);

  [[nodiscard]] InternodeComm comm(uint32_t rank) const;
  /// A parameter block that begins with what every kernel takes: buffers, and the proxy if there is one.
  template <typename... Values>
  [[nodiscard]] std::vector<uint8_t> parameters(uint32_t rank, const Values&... values) const {
    return proxies_.empty() ? pack_parameters(comm(rank), values...)
                            : pack_parameters(comm(rank), proxies_[rank], values...);
  }
  [[nodiscard]] LaunchConfig notify_launch(uint32_t rank, int32_t barrier) const override;
  [[nodiscard]] LaunchConfig main_launch(uint32_t rank) const override;
  [[nodiscard]] std::vector<LaunchConfig> full_notify_launches(uint32_t rank, int32_t barrier) const override;

  InternodeLayout layout_;
  std::unique_ptr<RdmaHeap> heap_;
  std::vector<ProxyState> proxies_;  ///< per rank; none where the GPUs post
  std::vector<InternodeBuffers> buffers_;
};

}  // namespace ptxwire::sim
