// The host side of our intranode kernels: buffers on every GPU, their contents, and the launches of one call.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/workload/kernel_arguments.hpp"
#include "sim/workload/routing.hpp"
#include "sim/workload/scenario.hpp"
#include "sim/workload/test_data.hpp"

namespace ptxwire::sim {

/// Where the sections of a communication buffer start, and its size. Sections are aligned to 128 bytes.
struct CommLayout {
  int64_t matrix = 0, metadata = 0, rows = 0, source = 0, idx = 0, weights = 0, scales = 0;
  uint64_t bytes = 0;
  explicit CommLayout(const Scenario& scenario);
};

/// Payload bytes of a row without its scales, as the kernels copy them in 16-byte vectors.
uint64_t row_payload_bytes(const Scenario& scenario);

/// Device addresses of one rank. 0 where a scenario does not use the buffer.
struct RankBuffers {
  DeviceAddress comm = 0, signals = 0;
  DeviceAddress matrix = 0, channel_prefix = 0, channel_offsets = 0, slot_record = 0, membership = 0;
  DeviceAddress input_rows = 0, input_scales = 0, topk_idx = 0, topk_weights = 0, input_source = 0;
  DeviceAddress output_rows = 0, output_scales = 0, output_source = 0, output_idx = 0, output_weights = 0;
  DeviceAddress per_rank = 0, per_expert = 0, host_total = 0, host_experts = 0;  ///< NotifyMode::full
};

/// The PTX files that a scenario runs, and the entries in them.
struct ScenarioPrograms {
  std::string main_path, main_entry;
  std::string notify_path, notify_entry;
  std::string full_notify_path, full_notify_entry;  ///< empty unless NotifyMode::full
  std::string layout_path, layout_entry;
  std::string delay_path, delay_entry;
};
Expected<ScenarioPrograms> scenario_programs(const Scenario& scenario);

/// Events and launches of one call on one rank.
struct RankCall {
  EventId start = 0, end = 0;
  LaunchId notify = 0, main = 0;
};

class IntranodeNode {
 public:
  /// Loads the programs, allocates, and writes inputs and metadata. `cluster` and `routing` must outlive the
  /// node.
  static Expected<std::unique_ptr<IntranodeNode>> create(Cluster& cluster, const Scenario& scenario,
                                                         const Routing& routing, const TestData& data);

  /// Enqueues call number `call` on all ranks: start event, cached notify, main kernel, end event. Call 0 of
  /// NotifyMode::full counts and exchanges on the GPUs instead of the cached notify.
  Expected<std::vector<RankCall>> enqueue_call(uint32_t call);
  /// Lets the hosts get ahead of the GPUs, as the flush between the calls of a benchmark does.
  Expected<void> enqueue_delay();

  [[nodiscard]] const RankBuffers& buffers(uint32_t rank) const { return buffers_[rank]; }
  [[nodiscard]] Cluster& cluster() const { return cluster_; }
  [[nodiscard]] const Scenario& scenario() const { return scenario_; }
  [[nodiscard]] const Routing& routing() const { return routing_; }

 private:
  IntranodeNode(Cluster& cluster, Scenario scenario, const Routing& routing)
      : cluster_(cluster), scenario_(std::move(scenario)), routing_(routing), layout_(scenario_) {}

  Expected<void> load_programs();
  Expected<void> allocate(uint32_t rank);
  Expected<void> allocate_dispatch(uint32_t rank);
  Expected<void> allocate_combine(uint32_t rank);
  Expected<void> fill_dispatch(uint32_t rank, const TestData& data);
  Expected<void> fill_combine(uint32_t rank, const TestData& data);
  Expected<void> fill_topk(uint32_t rank, const TestData& data);

  [[nodiscard]] CommBuffers comm_buffers(uint32_t rank) const;
  [[nodiscard]] LaunchConfig notify_launch(uint32_t rank, int32_t barrier) const;
  [[nodiscard]] LaunchConfig main_launch(uint32_t rank) const;
  Expected<void> enqueue_full_notify(uint32_t rank, int32_t barrier);

  Cluster& cluster_;
  Scenario scenario_;
  const Routing& routing_;
  CommLayout layout_;
  ScenarioPrograms programs_;
  uint32_t main_module_ = 0, notify_module_ = 0, full_notify_module_ = 0, layout_module_ = 0,
           delay_module_ = 0;
  std::vector<RankBuffers> buffers_;
  std::vector<StreamId> compute_, comm_;  ///< per rank
  int32_t barriers_ = 0;                  ///< passed so far, the same on all ranks
};

}  // namespace ptxwire::sim
