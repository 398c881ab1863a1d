// What stands behind Cluster: one logical process per GPU and per switch, and what they share.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/fabric/infiniband.hpp"
#include "models/fabric/network_topology.hpp"
#include "models/fabric/nvlink.hpp"
#include "models/gpu/memory_system.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/cluster/stream_queue.hpp"
#include "sim/exec/device.hpp"
#include "sim/memory/memory_space.hpp"
#include "sim/nic/host_proxy.hpp"
#include "sim/nic/nic_device.hpp"

namespace ptxwire::sim {

struct LoadedModule {
  std::shared_ptr<const ptx::Program> program;
  std::vector<std::vector<uint64_t>> addresses;          ///< [gpu][variable]
  std::vector<std::unique_ptr<ExecProgram>> executable;  ///< [gpu]
};

struct EnqueuedLaunch {
  LaunchId id = 0;
  GpuId gpu;
  std::string role;
  Launch launch;
};

class ClusterImplementation final : public Cluster {
 public:
  ClusterImplementation(const models::Machine& machine, uint32_t gpus,
                        const models::NetworkTopology* network);

  [[nodiscard]] uint32_t gpus() const override { return gpu_count_; }
  [[nodiscard]] const models::Machine& machine() const override { return machine_; }

  Expected<uint32_t> load(std::shared_ptr<const ptx::Program> program) override;
  Expected<DeviceAddress> allocate(GpuId gpu, uint64_t bytes, std::string name, uint64_t align) override;
  Expected<DeviceAddress> allocate_host_mapped(GpuId gpu, uint64_t bytes, std::string name) override;
  Expected<void> free(DeviceAddress address) override;
  Expected<void> write(DeviceAddress address, std::span<const uint8_t> bytes) override;
  Expected<void> read(DeviceAddress address, std::span<uint8_t> bytes) const override;
  Expected<void> elide(const ElidedRows& rows) override;
  std::span<uint8_t> view(DeviceAddress address, uint64_t bytes) override;
  Expected<DeviceAddress> symbol(uint32_t module, std::string_view name, GpuId gpu) override;

  [[nodiscard]] bool reaches(GpuId from, GpuId to) const override {
    return from.value / machine_.gpus == to.value / machine_.gpus;
  }
  // cluster_rdma.cpp
  Expected<MemoryKeys> register_memory(GpuId gpu, DeviceAddress address, uint64_t bytes,
                                       const MemoryRights& rights) override;
  Expected<QueueNumbers> connect(const QueueEnd& first, const QueueEnd& second,
                                 const QueueOptions& options) override;
  Expected<MemoryKeys> mirror_memory(GpuId gpu, DeviceAddress address, uint64_t bytes,
                                     std::vector<MirrorArea> areas) override;
  Expected<uint32_t> connect_to_itself(const QueueEnd& end, const QueueOptions& options) override;
  Expected<void> add_proxy(const HostProxyConfig& config) override;
  [[nodiscard]] DeviceAddress doorbell(GpuId gpu) const override;
  [[nodiscard]] Expected<void> check_own_memory(GpuId gpu, DeviceAddress address, uint64_t bytes) const;
  [[nodiscard]] Expected<void> check_queue_end(const QueueEnd& end) const;
  void clear_completions(const QueueEnd& end);
  [[nodiscard]] std::vector<std::string> rdma_errors() const;
  [[nodiscard]] std::string rdma_error_words() const;

  StreamId create_stream(GpuId gpu, int priority) override;
  Expected<LaunchId> launch(StreamId stream, LaunchConfig config) override;
  EventId record(StreamId stream) override;
  void wait(StreamId stream, EventId event) override;
  [[nodiscard]] Picoseconds event_time(EventId event) const override;
  void synchronize(StreamId stream) override;
  void delay_host(GpuId gpu, Picoseconds by) override;
  void flush_l2() override { flush_ = true; }
  Expected<void> add_background(GpuId gpu, const models::TrafficLoad& load, std::string role) override;
  void isolate(const std::vector<std::string>& roles, const models::SharedResources& resources) override;
  Expected<RunReport> run(const RunLimits& limits) override;

 private:
  void add_gpu(uint32_t gpu);

  static constexpr uint8_t kOtherOwners = models::kMaxOwners - 1;

  /// A StreamId is gpu * kPerGpu + index; events alike.
  static constexpr uint32_t kPerGpu = 1U << 16;
  static constexpr uint32_t kNoId = UINT32_MAX;

  [[nodiscard]] bool has_stream(StreamId stream) const;
  [[nodiscard]] bool has_event(EventId event) const;
  void refuse(std::string message);
  MemorySpace* space_of(DeviceAddress address) const {
    return address >> kGpuShift == 0 ? nullptr : group_.space(home_of(address));
  }
  uint8_t owner_of(const std::string& role);
  [[nodiscard]] std::string owner_name(unsigned owner) const;
  void report_memory(GpuReport& out, const models::MemoryCounters& now, const models::MemoryCounters& old,
                     double seconds) const;
  [[nodiscard]] std::vector<L2Evictions> evictions(const models::MemoryCounters& now,
                                                   const models::MemoryCounters& old) const;
  Error no_gpu(GpuId gpu) const;
  Error outside(DeviceAddress address, uint64_t bytes) const;

  // cluster_run.cpp
  [[nodiscard]] std::optional<Error> first_fault() const;
  [[nodiscard]] std::string waiting_report() const;
  [[nodiscard]] Picoseconds now() const;
  [[nodiscard]] bool idle() const;
  /// Arrived at all GPUs since the cluster was made.
  [[nodiscard]] uint64_t nvlink_payload_bytes() const;
  bool nudge(models::Picoseconds now, const Nudge& what);
  std::optional<Error> run_to_end(Picoseconds begin, const RunLimits& limits);

  // background.cpp
  struct Background {
    models::TrafficLoad load;
    BackgroundReport report;
    uint64_t address = 0;
    std::unique_ptr<models::TrafficAgent> agent;
    bool done = false;
  };
  void start_backgrounds(Picoseconds begin);

  // run_report.cpp
  struct Before {  ///< cumulative counters at the start of a run
    std::vector<models::MemoryCounters> memory;
    std::vector<double> tensor_busy_clk;
    std::vector<std::vector<std::array<models::LinkUse, 2>>> links;  ///< [gpu][link]: egress, ingress
    struct NicUse {
      models::NicCounters counters;
      models::FabricPortUse egress, ingress;
      models::Picoseconds pcie{};
    };
    std::vector<NicUse> nics;
    uint64_t events = 0;
  };
  [[nodiscard]] Before snapshot() const;
  [[nodiscard]] Before::NicUse nic_use(uint32_t gpu) const;
  [[nodiscard]] GpuReport::NicReport report_nic(uint32_t gpu, const Before::NicUse& before,
                                                double seconds) const;
  RunReport report(Picoseconds begin, Picoseconds end, const Before& before);

  models::Machine machine_;
  uint32_t gpu_count_;
  std::vector<std::unique_ptr<models::LogicalProcess>> processes_;
  std::vector<std::unique_ptr<models::NvlinkFabric>> nvlink_;  ///< by node
  [[nodiscard]] const models::NvlinkFabric& nvlink_of(uint32_t gpu) const {
    return *nvlink_[gpu / machine_.gpus];
  }
  models::Picoseconds lookahead_{};
  std::optional<models::NetworkTopology> network_;
  std::unique_ptr<models::InfinibandFabric> infiniband_;
  DeviceGroup group_;
  std::vector<std::unique_ptr<MemorySpace>> memories_, host_memories_, nic_registers_;
  std::vector<std::unique_ptr<models::GpuMemorySystem>> systems_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<std::unique_ptr<NicDevice>> nics_;  ///< by GPU; empty without a network
  std::vector<std::unique_ptr<HostProxy>> proxies_;
  std::vector<std::unique_ptr<StreamQueue>> streams_;
  std::vector<std::vector<int>> stream_priority_;
  std::vector<Picoseconds> host_delay_;  ///< by GPU, of the next run
  std::vector<LoadedModule> modules_;
  std::deque<EnqueuedLaunch> launches_;
  std::vector<std::string> owners_{"nobody"};  ///< roles that L2 tells apart, on all GPUs alike
  std::vector<Background> backgrounds_;        ///< of the run to come or at hand
  LaunchId next_launch_ = 0;
  bool flush_ = false;
  std::optional<Error> refused_;  ///< the first enqueued call that cannot be carried out; run() returns it
  bool broken_ = false;           ///< a run ended with an error: device state is undefined
};

}  // namespace ptxwire::sim
