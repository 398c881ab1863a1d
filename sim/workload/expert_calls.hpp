// What the hosts of our dispatch and combine kernels have in common, on one node and across nodes: programs,
// streams, and the launches of one call.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/workload/routing.hpp"
#include "sim/workload/scenario.hpp"
#include "sim/workload/test_data.hpp"

namespace ptxwire::sim {

/// The PTX files that a scenario runs, and the entries in them.
struct ScenarioPrograms {
  std::string main_path, main_entry;
  std::string notify_path, notify_entry;
  std::string full_notify_path, full_notify_entry;  ///< empty unless NotifyMode::full
  std::string layout_path, layout_entry;
  std::string delay_path, delay_entry;
};
Expected<ScenarioPrograms> scenario_programs(const Scenario& scenario);

/// Payload bytes of a row without its scales, as the kernels copy them in 16-byte vectors.
uint64_t row_payload_bytes(const Scenario& scenario);
/// Selections that travel with a row: K or none.
uint32_t topk_on_wire(const Scenario& scenario);
/// Rows come to the experts, rather than back from them.
bool is_dispatch(const Scenario& scenario);

/// Events and launches of one call on one rank.
struct RankCall {
  EventId start = 0, end = 0;
  LaunchId notify = 0, main = 0;
};

class ExpertCalls {
 public:
  virtual ~ExpertCalls() = default;
  ExpertCalls(const ExpertCalls&) = delete;
  ExpertCalls& operator=(const ExpertCalls&) = delete;

  /// Enqueues call number `call` on all ranks: start event, cached notify, main kernel, end event. Call 0 of
  /// NotifyMode::full counts and exchanges on the GPUs instead of the cached notify.
  Expected<std::vector<RankCall>> enqueue_call(uint32_t call);
  /// Lets the hosts get ahead of the GPUs, as the flush between the calls of a benchmark does.
  Expected<void> enqueue_delay();

  [[nodiscard]] Cluster& cluster() const { return cluster_; }
  [[nodiscard]] const Scenario& scenario() const { return scenario_; }
  [[nodiscard]] const Routing& routing() const { return routing_; }

 protected:
  ExpertCalls(Cluster& cluster, Scenario scenario, const Routing& routing)
      : cluster_(cluster), scenario_(std::move(scenario)), routing_(routing) {}

  /// Loads the programs and makes the streams.
  Expected<void> prepare();

  /// A cooperative launch with one CTA per SM; revision d has clusters of two where the number of CTAs
  /// allows.
  [[nodiscard]] LaunchConfig communication_launch(uint32_t module, const std::string& entry, uint32_t ctas,
                                                  uint32_t threads, std::string role) const;
  /// The count of `experts_of_tokens` ([T][K]) into tokens per rank, per node (or 0), per expert and
  /// membership.
  struct LayoutBuffers {
    DeviceAddress experts_of_tokens = 0, per_rank = 0, per_node = 0, per_expert = 0, membership = 0;
  };
  [[nodiscard]] LaunchConfig layout_launch(const LayoutBuffers& buffers) const;

  /// What the tokens of a rank bring to a dispatch. 0 where a scenario does not use the buffer.
  struct TokenBuffers {
    DeviceAddress rows = 0, scales = 0, topk_idx = 0, topk_weights = 0;
  };
  /// Writes them; rows of the first `real_tokens` only.
  Expected<void> fill_tokens(uint32_t rank, const TokenBuffers& buffers, const TestData& data,
                             uint32_t real_tokens) const;

  /// `barrier`: barriers that have passed on all ranks before this kernel.
  [[nodiscard]] virtual LaunchConfig notify_launch(uint32_t rank, int32_t barrier) const = 0;
  [[nodiscard]] virtual LaunchConfig main_launch(uint32_t rank) const = 0;
  /// Layout and notify that counts, which takes three barriers instead of two.
  [[nodiscard]] virtual std::vector<LaunchConfig> full_notify_launches(uint32_t rank,
                                                                       int32_t barrier) const = 0;

  struct Modules {
    uint32_t main = 0, notify = 0, full_notify = 0, layout = 0, delay = 0;
  };
  [[nodiscard]] const Modules& modules() const { return modules_; }
  [[nodiscard]] const ScenarioPrograms& programs() const { return programs_; }

 private:
  Expected<void> load_programs();

  Cluster& cluster_;
  Scenario scenario_;
  const Routing& routing_;
  ScenarioPrograms programs_;
  Modules modules_;
  std::vector<StreamId> compute_, comm_;  ///< per rank
  int32_t barriers_ = 0;                  ///< passed so far, the same on all ranks
};

}  // namespace ptxwire::sim
