#include "sim/workload/micro_run.hpp"

#include <algorithm>
#include <filesystem>

#include "models/fabric/network_topology.hpp"
#include "sim/workload/micro_plan.hpp"
#include "sim/workload/network.hpp"
#include "sim/workload/rdma_heap.hpp"
#include "sim/workload/run_parts.hpp"
#include "support/data_path.hpp"

namespace ptxwire::sim {

namespace {

constexpr int kUrgent = -1;  ///< beside somebody else's kernels, as communication is

Error about(const Scenario& scenario, std::string message) {
  return Error{.message = std::move(message), .path = scenario.path, .hint = {}};
}

template <typename T>
std::span<const uint8_t> bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(T)};
}

/// One scenario on one cluster.
class MicroRun final : public MicroInstance {
 public:
  MicroRun(const Scenario& scenario, MicroPlan plan, Cluster& cluster, const MicroPlace& place)
      : scenario_(scenario), plan_(std::move(plan)), cluster_(cluster), place_(place) {}

  /// Loads the program and allocates all memory.
  Expected<void> prepare() {
    if (auto done = load(); !done) return done;
    if (auto fits = check_size(); !fits) return fits;
    if (uses_rdma(scenario_.micro))
      if (auto done = make_heap(); !done) return done;
    uint64_t in_heap = 0;
    for (const MicroMemory& buffer : plan_.memory()) {
      if (buffer.in_heap) {
        addresses_.push_back(heap_->heap(place_.first_gpu + buffer.gpu) + in_heap);
        in_heap += heap_bytes(buffer);
        continue;
      }
      const auto address = cluster_.allocate(GpuId{place_.first_gpu + buffer.gpu}, buffer.bytes, buffer.name);
      if (!address) return about(scenario_, "buffer '" + buffer.name + "': " + address.error().message);
      addresses_.push_back(*address);
    }
    for (const uint32_t gpu : plan_.launch_gpus()) {
      const GpuId id{place_.first_gpu + gpu};
      const auto address =
          cluster_.allocate(id, std::max<uint64_t>(1, plan_.records()) * sizeof(MicroRecord), "report");
      if (!address) return address.error();
      reports_.push_back(*address);
      streams_.push_back(cluster_.create_stream(id, place_.priority));
    }
    return {};
  }

  /// All calls, each on memory as the scenario states it. The last one counts.
  Expected<void> run(const RunOptions& options) {
    for (uint32_t call = 0; call < scenario_.calls; ++call) {
      if (auto done = fill(); !done) return done;
      if (scenario_.flush_l2 && call + 1 == scenario_.calls) cluster_.flush_l2();
      begin_ = cluster_.record(streams_.front());
      auto launched = enqueue();
      if (!launched) return launched.error();
      launches_ = *std::move(launched);
      end_ = cluster_.record(streams_.front());
      const bool counts = call + 1 == scenario_.calls;
      if (auto done = counts ? runs_.run(cluster_, options) : runs_.run_alone(cluster_, options); !done)
        return done;
    }
    return {};
  }

  Expected<void> fill() override {
    for (size_t i = 0; i < addresses_.size(); ++i) {
      const std::span<uint8_t> bytes = cluster_.view(addresses_[i], plan_.memory()[i].bytes);
      if (bytes.size() != plan_.memory()[i].bytes) return about(scenario_, "device memory cannot be viewed");
      plan_.fill(i, addresses_[i], bytes);
    }
    const std::vector<MicroRecord> zero(plan_.records());
    for (const DeviceAddress report : reports_)
      if (auto done = cluster_.write(report, bytes_of(zero)); !done) return done;
    return {};
  }

  Expected<std::vector<LaunchId>> enqueue() override {
    std::vector<LaunchId> launches;
    for (size_t i = 0; i < streams_.size(); ++i) {
      const auto launched = launch(i);
      if (!launched) return launched.error();
      launches.push_back(*launched);
    }
    return launches;
  }

  Expected<void> finish() override {
    output_ = {};
    return read_output();
  }

  [[nodiscard]] const std::vector<StreamId>& streams() const override { return streams_; }

  [[nodiscard]] Expected<DeviceAddress> buffer(const std::string& name) const override {
    for (size_t i = 0; i < addresses_.size(); ++i)
      if (plan_.memory()[i].name == name) return addresses_[i];
    return about(scenario_, "the scenario has no buffer '" + name + "'");
  }

  /// Times and figures of the last call.
  Expected<ScenarioResult> result() {
    ScenarioResult result;
    result.time_us = result.time_us_rank0 = (cluster_.event_time(end_) - cluster_.event_time(begin_)).us();
    Picoseconds started = models::kNever, finished{};
    KernelTime kernel{.role = scenario_.entry};
    for (const LaunchReport& launch : runs_.report.launches) {
      if (std::find(launches_.begin(), launches_.end(), launch.id) == launches_.end()) continue;
      started = std::min(started, launch.started);
      finished = std::max(finished, launch.finished);
      const double us = (launch.finished - launch.started).us();
      if (launch.id == launches_.front()) kernel.rank0_us = us;
      kernel.max_us = std::max(kernel.max_us, us);
    }
    output_ = {.duration = finished - started, .clock_hz = cluster_.machine().sm.clock_hz};
    result.kernels.push_back(std::move(kernel));
    if (const auto done = read_output(); !done) return done.error();
    auto figures = plan_.figures(output_);
    if (!figures) return figures.error();
    result.figures = *std::move(figures);
    result.warp_instructions = runs_.warp_instructions;
    result.events = runs_.events;
    result.timed = runs_.report;
    return result;
  }

  /// Empty if checksums and memory are as expected.
  Expected<std::string> mismatch() const override {
    return plan_.mismatch(output_.records, [&](size_t i) -> Expected<std::span<const uint8_t>> {
      return std::span<const uint8_t>(cluster_.view(addresses_[i], plan_.memory()[i].bytes));
    });
  }

 private:
  Expected<void> load() {
    const auto path = micro_program_path(scenario_);
    if (!path) return path.error();
    auto loaded = load_on(cluster_, scenario_, *path, scenario_.entry);
    if (!loaded) return loaded.error();
    program_ = std::move(loaded->program);
    module_ = loaded->module;
    return {};
  }

  static uint64_t heap_bytes(const MicroMemory& buffer) {
    constexpr uint64_t kAlign = 512;
    return buffer.in_heap ? (buffer.bytes + kAlign - 1) / kAlign * kAlign : 0;
  }

  Expected<void> make_heap() {
    const auto queues = value_or(scenario_.micro, "queues", 1);
    if (!queues) return queues.error();
    uint64_t bytes = 0;
    for (const MicroMemory& buffer : plan_.memory()) bytes += heap_bytes(buffer);
    auto heap = RdmaHeap::create(
        cluster_,
        {.ranks = scenario_.ranks, .heap_bytes = bytes, .queues_per_rank = static_cast<uint32_t>(*queues)});
    if (!heap) return heap.error();
    heap_ = std::move(*heap);
    return {};
  }

  /// Buffers as a kernel of this GPU names them.
  [[nodiscard]] std::vector<DeviceAddress> addresses_on(uint32_t gpu) const {
    std::vector<DeviceAddress> addresses = addresses_;
    for (size_t i = 0; i < addresses.size(); ++i)
      if (const MicroMemory& buffer = plan_.memory()[i]; buffer.in_heap)
        addresses[i] += heap_->heap(gpu) - heap_->heap(place_.first_gpu + buffer.gpu);
    return addresses;
  }

  /// Before anything is allocated: the host would try to hold it.
  [[nodiscard]] Expected<void> check_size() const {
    std::vector<uint64_t> left(scenario_.ranks, cluster_.machine().hbm.bytes);
    for (const MicroMemory& buffer : plan_.memory()) {
      if (buffer.bytes > left[buffer.gpu])
        return about(scenario_, "buffer '" + buffer.name + "' of " + std::to_string(buffer.bytes) +
                                    " bytes does not fit the memory of a GPU of '" + cluster_.machine().name +
                                    "'");
      left[buffer.gpu] -= buffer.bytes;
    }
    return {};
  }

  Expected<LaunchId> launch(size_t index) {
    LaunchConfig config;
    config.module = module_;
    config.kernel = scenario_.entry;
    config.grid = plan_.shape().grid;
    config.block = plan_.shape().block;
    config.cluster = plan_.shape().cluster;
    config.dynamic_shared_bytes = plan_.shape().shared;
    config.role = place_.role.empty() ? scenario_.entry : place_.role;
    const uint32_t entry = program_->find_entry(scenario_.entry);
    if (entry != UINT32_MAX) {  // launch() names the nearest one
      const uint32_t gpu = place_.first_gpu + plan_.launch_gpus()[index];
      const RdmaState rdma = heap_ ? heap_->state(gpu) : RdmaState{};
      auto parameters =
          plan_.parameters(index, program_->functions[entry], addresses_on(gpu), reports_[index], {},
                           heap_ ? std::span(reinterpret_cast<const uint8_t*>(&rdma), sizeof rdma)
                                 : std::span<const uint8_t>{});
      if (!parameters) return parameters.error();
      config.parameters = *std::move(parameters);
    }
    return cluster_.launch(streams_[index], std::move(config));
  }

  Expected<void> read_output() {
    for (size_t i = 0; i < reports_.size(); ++i) {
      std::vector<MicroRecord> records(plan_.records());
      auto read = cluster_.read(
          reports_[i], {reinterpret_cast<uint8_t*>(records.data()), records.size() * sizeof(MicroRecord)});
      if (!read) return read;
      plan_.take_records(i, records, output_);
    }
    for (size_t i = 0; i < addresses_.size(); ++i) {
      if (!plan_.memory()[i].samples) continue;
      output_.samples.resize(plan_.memory()[i].bytes / 4);
      auto read = cluster_.read(
          addresses_[i], {reinterpret_cast<uint8_t*>(output_.samples.data()), output_.samples.size() * 4});
      if (!read) return read;
    }
    return {};
  }

  const Scenario& scenario_;
  const MicroPlan plan_;
  Cluster& cluster_;
  std::shared_ptr<const ptx::Program> program_;
  const MicroPlace place_;
  uint32_t module_ = 0;
  std::unique_ptr<RdmaHeap> heap_;        ///< with the argument "rdma"
  std::vector<DeviceAddress> addresses_;  ///< of the plan's memory
  std::vector<DeviceAddress> reports_;
  std::vector<StreamId> streams_;
  std::vector<LaunchId> launches_;  ///< of the last call
  EventId begin_ = 0, end_ = 0;
  RunsSoFar runs_;
  MicroOutput output_;
};

}  // namespace

Expected<std::string> micro_program_path(const Scenario& scenario) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(scenario.ptx, ignored)) return scenario.ptx;
  return find_data_file("kernels/" + scenario.ptx);
}

Expected<std::unique_ptr<MicroInstance>> MicroInstance::create(const Scenario& scenario, Cluster& cluster,
                                                               const MicroPlace& place) {
  auto plan = MicroPlan::create(scenario);
  if (!plan) return plan.error();
  auto instance = std::make_unique<MicroRun>(scenario, *std::move(plan), cluster, place);
  if (const auto prepared = instance->prepare(); !prepared) return prepared.error();
  return std::unique_ptr<MicroInstance>(std::move(instance));
}

Expected<ScenarioResult> run_micro(const Scenario& scenario, const models::Machine& machine,
                                   const RunOptions& options) {
  std::optional<models::NetworkTopology> network;
  if (uses_rdma(scenario.micro)) {
    auto loaded = scenario_network(scenario);
    if (!loaded) return loaded.error();
    network = std::move(*loaded);
  }
  auto cluster = Cluster::create(machine, scenario.ranks, network ? &*network : nullptr);
  if (!cluster) return cluster.error();
  auto plan = MicroPlan::create(scenario);
  if (!plan) return plan.error();
  MicroRun micro(scenario, *std::move(plan), **cluster,
                 {.priority = options.companion != nullptr ? kUrgent : 0});
  if (const auto prepared = micro.prepare(); !prepared) return prepared.error();
  if (const auto done = micro.run(options); !done) return done.error();
  auto result = micro.result();
  if (!result || !options.check_results) return result;
  auto mismatch = micro.mismatch();
  if (!mismatch) return mismatch.error();
  judge(*result, *std::move(mismatch));
  return result;
}

}  // namespace ptxwire::sim
