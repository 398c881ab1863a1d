// The host side of the low-latency kernels: the symmetric heap in two halves, buffers, their contents, and
// the launches of a pair of dispatch and combine.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/workload/low_latency_arguments.hpp"
#include "sim/workload/rdma_heap.hpp"
#include "sim/workload/routing.hpp"
#include "sim/workload/scenario.hpp"
#include "sim/workload/test_data.hpp"

namespace ptxwire::sim {

/// Settings of kernel = "low_latency_*" that exclude each other.
Expected<void> validate_low_latency(const Scenario& scenario);

/// The PTX files that a scenario runs, and the entries in them.
struct LowLatencyPrograms {
  std::string dispatch_path, dispatch_entry, combine_path, combine_entry, delay_path;
};
Expected<LowLatencyPrograms> low_latency_programs(const Scenario& scenario);

/// Whether messages may go through a NIC: always in revision a, in c between nodes. False for other kernels.
bool low_latency_uses_network(const Scenario& scenario);

/// Of each queue: a message per token of every expert that shares it and a flag, for dispatch and combine.
uint32_t low_latency_queue_entries(const Scenario& scenario);

RoutingShape low_latency_routing(const Scenario& scenario);

/// Bytes of a message of dispatch: row, scales and a header of 16; where row and scales lie in it; bytes of a
/// row of combine; of a slot for one.
uint64_t dispatch_message_bytes(const Scenario& scenario);
uint64_t dispatch_payload_offset(const Scenario& scenario);
uint64_t combine_row_bytes(const Scenario& scenario);
uint64_t combine_slot_bytes(const Scenario& scenario);

/// With `elide` (low_latency_elision.cpp): whether the rows are kept that a rank receives; whether rows are
/// kept on their way back.
bool keeps_received(const Scenario& scenario, uint32_t rank);
bool keeps_summands(const Scenario& scenario);

/// Where the parts of the symmetric heap start.
struct LowLatencyLayout {
  struct Half {
    uint64_t send = 0, receive = 0, flags = 0;
  };
  std::array<Half, 2> halves;
  uint64_t bytes = 0;
  explicit LowLatencyLayout(const Scenario& scenario);
};

/// Device addresses of one rank.
struct LowLatencyBuffers {
  LowLatencyWorkspace work;
  DeviceAddress rows = 0, experts = 0, weights = 0;  ///< inputs of the own tokens
  LowLatencyDispatchOutput received;
  DeviceAddress summands = 0;  ///< [L][R T] rows that go back
  uint64_t summand_stride = 0;
  DeviceAddress combined = 0;  ///< [T][H] BF16
};

/// Launches of a pair on one rank: one each, or one per phase.
struct LowLatencyCall {
  std::vector<LaunchId> dispatch, combine;
};

class LowLatencyRun {
 public:
  /// Loads the programs, allocates, connects and writes the inputs. `cluster` and `routing` must outlive it.
  static Expected<std::unique_ptr<LowLatencyRun>> create(Cluster& cluster, const Scenario& scenario,
                                                         const Routing& routing, const TestData& data);

  /// Enqueues dispatch and combine on all ranks; `calls` says how on each.
  Expected<std::vector<LowLatencyCall>> enqueue_pair();
  /// Lets the hosts get ahead of the GPUs by `pairs` pairs.
  Expected<void> enqueue_delay(uint32_t pairs);

  [[nodiscard]] const LowLatencyBuffers& buffers(uint32_t rank) const { return buffers_[rank]; }
  [[nodiscard]] Cluster& cluster() const { return cluster_; }
  [[nodiscard]] const Scenario& scenario() const { return scenario_; }
  [[nodiscard]] const Routing& routing() const { return routing_; }
  [[nodiscard]] uint32_t local_experts() const { return scenario_.experts / scenario_.ranks; }
  /// Whether the row of a token is kept on its way to the experts.
  [[nodiscard]] bool keeps_token(uint32_t rank, uint32_t token) const;
  /// Rows that a local expert has room for.
  [[nodiscard]] uint64_t expert_rows() const { return uint64_t{scenario_.ranks} * scenario_.tokens; }

 private:
  LowLatencyRun(Cluster& cluster, Scenario scenario, const Routing& routing)
      : cluster_(cluster), scenario_(std::move(scenario)), routing_(routing), layout_(scenario_) {}

  Expected<void> load_programs();
  Expected<void> create_heap();
  Expected<void> allocate(uint32_t rank);
  Expected<void> elide(uint32_t rank);
  Expected<void> fill_tokens(uint32_t rank, const TestData& data);
  Expected<void> fill_summands(uint32_t rank, const TestData& data);

  [[nodiscard]] LowLatencySet set(uint32_t rank, uint32_t half) const;
  [[nodiscard]] LowLatencyShape shape(int32_t phases) const;
  [[nodiscard]] LaunchConfig dispatch_launch(uint32_t rank, int32_t phases) const;
  [[nodiscard]] LaunchConfig combine_launch(uint32_t rank, int32_t phases) const;
  [[nodiscard]] LaunchConfig kernel_launch(uint32_t module, const std::string& entry) const;
  Expected<std::vector<LaunchId>> enqueue_kernel(uint32_t rank,
                                                 LaunchConfig (LowLatencyRun::*launch)(uint32_t, int32_t)
                                                     const);
  Expected<void> enqueue_wait(uint32_t rank, int64_t cycles, const char* role);

  Cluster& cluster_;
  Scenario scenario_;
  const Routing& routing_;
  LowLatencyLayout layout_;
  LowLatencyPrograms programs_;
  uint32_t dispatch_module_ = 0, combine_module_ = 0, delay_module_ = 0;
  uint32_t groups_ = 1;  ///< of warps per CTA
  std::unique_ptr<RdmaHeap> heap_;
  std::vector<LowLatencyBuffers> buffers_;
  std::vector<StreamId> streams_;  ///< per rank
  uint32_t half_ = 0;              ///< of the heap, for the next kernel
};

}  // namespace ptxwire::sim
