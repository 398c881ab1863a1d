// The host side of our intranode kernels: buffers on every GPU, their contents, and the launches of one call.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/workload/expert_calls.hpp"
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

/// Device addresses of one rank. 0 where a scenario does not use the buffer.
struct RankBuffers {
  DeviceAddress comm = 0, signals = 0;
  DeviceAddress matrix = 0, channel_prefix = 0, channel_offsets = 0, slot_record = 0, membership = 0;
  DeviceAddress input_rows = 0, input_scales = 0, topk_idx = 0, topk_weights = 0, input_source = 0;
  DeviceAddress output_rows = 0, output_scales = 0, output_source = 0, output_idx = 0, output_weights = 0;
  DeviceAddress per_rank = 0, per_expert = 0, host_total = 0, host_experts = 0;  ///< NotifyMode::full
};

class IntranodeNode final : public ExpertCalls {
 public:
  /// Loads the programs, allocates, and writes inputs and metadata. `cluster` and `routing` must outlive the
  /// node.
  static Expected<std::unique_ptr<IntranodeNode>> create(Cluster& cluster, const Scenario& scenario,
                                                         const Routing& routing, const TestData& data);

  [[nodiscard]] const RankBuffers& buffers(uint32_t rank) const { return buffers_[rank]; }
  /// Rows that the call at hand has put into the rings of this rank, as its kernels count them: [C][R] by
  /// channel and sender. Empty where the buffer cannot be looked at.
  [[nodiscard]] std::span<const int32_t> produced(uint32_t rank) const;

 private:
  IntranodeNode(Cluster& cluster, const Scenario& scenario, const Routing& routing)
      : ExpertCalls(cluster, scenario, routing), layout_(scenario) {}

  Expected<void> allocate(uint32_t rank);
  Expected<void> allocate_dispatch(uint32_t rank);
  Expected<void> allocate_combine(uint32_t rank);
  Expected<void> fill_dispatch(uint32_t rank, const TestData& data);
  Expected<void> fill_combine(uint32_t rank, const TestData& data);

  [[nodiscard]] CommBuffers comm_buffers(uint32_t rank) const;
  [[nodiscard]] LaunchConfig notify_launch(uint32_t rank, int32_t barrier) const override;
  [[nodiscard]] LaunchConfig main_launch(uint32_t rank) const override;
  [[nodiscard]] std::vector<LaunchConfig> full_notify_launches(uint32_t rank, int32_t barrier) const override;

  CommLayout layout_;
  std::vector<RankBuffers> buffers_;
};

}  // namespace ptxwire::sim
