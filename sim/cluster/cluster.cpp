#include "sim/cluster/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>
#include <thread>
#include <utility>

#include "models/fabric/nvlink.hpp"
#include "models/gpu/memory_system.hpp"
#include "sim/cluster/launch_check.hpp"
#include "sim/cluster/stream_queue.hpp"
#include "sim/engine/window_runner.hpp"
#include "sim/exec/device.hpp"
#include "sim/memory/memory_space.hpp"

namespace ptxwire::sim {
namespace {

using models::GpuMemorySystem;
using models::LogicalProcess;
using models::Machine;
using models::NvlinkFabric;

constexpr uint32_t kStreamsPerGpu = 1U << 16;  ///< a StreamId is gpu * kStreamsPerGpu + index; events alike

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
  ClusterImplementation(const Machine& machine, uint32_t gpus) : machine_(machine), gpu_count_(gpus) {
    std::vector<LogicalProcess*> gpu_processes;
    std::vector<LogicalProcess*> switch_processes;
    for (uint32_t i = 0; i < gpus + machine_.nvlink.switches; ++i) {
      processes_.push_back(std::make_unique<LogicalProcess>(i));
      (i < gpus ? gpu_processes : switch_processes).push_back(processes_.back().get());
    }
    fabric_ = std::make_unique<NvlinkFabric>(machine_, gpu_processes, switch_processes);
    group_.machine = &machine_;
    for (uint32_t g = 0; g < gpus; ++g) {
      memories_.push_back(std::make_unique<MemorySpace>(g));
      host_memories_.push_back(std::make_unique<MemorySpace>(kHostBias + g));
      group_.device_memory.push_back(memories_.back().get());
      group_.host_memory.push_back(host_memories_.back().get());
      systems_.push_back(
          std::make_unique<GpuMemorySystem>(machine_, GpuId{g}, *processes_[g], fabric_.get()));
      fabric_->attach(GpuId{g}, *systems_.back());
      devices_.push_back(std::make_unique<Device>(group_, GpuId{g}, *processes_[g], *systems_.back()));
      group_.devices.push_back(devices_.back().get());
      streams_.push_back(std::make_unique<StreamQueue>(machine_.host, *processes_[g], *devices_.back()));
    }
  }

  [[nodiscard]] uint32_t gpus() const override { return gpu_count_; }
  [[nodiscard]] const Machine& machine() const override { return machine_; }

  Expected<uint32_t> load(std::shared_ptr<const ptx::Program> program) override;
  Expected<DeviceAddress> allocate(GpuId gpu, uint64_t bytes, std::string name, uint64_t align) override {
    if (gpu.value >= gpu_count_) return no_gpu(gpu);
    return memories_[gpu.value]->allocate(bytes, std::move(name), align);
  }
  Expected<DeviceAddress> allocate_host_mapped(GpuId gpu, uint64_t bytes, std::string name) override {
    if (gpu.value >= gpu_count_) return no_gpu(gpu);
    return host_memories_[gpu.value]->allocate(bytes, std::move(name), 512);
  }
  Expected<void> free(DeviceAddress address) override {
    MemorySpace* space = space_of(address);
    if (space == nullptr)
      return Error{.message = fmt::format("{:#x} is not the start of an allocation", address)};
    return space->free(address);
  }
  Expected<void> write(DeviceAddress address, std::span<const uint8_t> bytes) override {
    const std::span<uint8_t> target = view(address, bytes.size());
    if (target.size() != bytes.size()) return outside(address, bytes.size());
    if (!bytes.empty()) std::memcpy(target.data(), bytes.data(), bytes.size());
    return {};
  }
  Expected<void> read(DeviceAddress address, std::span<uint8_t> bytes) const override {
    const MemorySpace* space = space_of(address);
    const uint8_t* source = space == nullptr ? nullptr : space->resolve(address, bytes.size());
    if (source == nullptr) return outside(address, bytes.size());
    if (!bytes.empty()) std::memcpy(bytes.data(), source, bytes.size());
    return {};
  }
  std::span<uint8_t> view(DeviceAddress address, uint64_t bytes) override {
    const MemorySpace* space = space_of(address);
    uint8_t* data = space == nullptr ? nullptr : space->resolve(address, bytes);
    return data == nullptr ? std::span<uint8_t>{} : std::span<uint8_t>{data, bytes};
  }
  Expected<DeviceAddress> symbol(uint32_t module, std::string_view name, GpuId gpu) override {
    if (module >= modules_.size()) return Error{.message = fmt::format("module {} is not loaded", module)};
    if (gpu.value >= gpu_count_) return no_gpu(gpu);
    const std::vector<ptx::ProgramVariable>& variables = modules_[module].program->variables;
    for (size_t v = 0; v < variables.size(); ++v)
      if (variables[v].name == name && variables[v].space == ptx::Space::global)
        return modules_[module].addresses[gpu.value][v];
    return Error{.message = fmt::format("the module has no .global variable '{}'", name)};
  }

  StreamId create_stream(GpuId gpu, int priority) override {
    const uint32_t index = streams_[gpu.value]->add_stream();
    if (stream_priority_.size() <= gpu.value) stream_priority_.resize(gpu.value + 1);
    stream_priority_[gpu.value].push_back(priority);
    return gpu.value * kStreamsPerGpu + index;
  }
  Expected<LaunchId> launch(StreamId stream, LaunchConfig config) override;
  EventId record(StreamId stream) override {
    const uint32_t gpu = stream / kStreamsPerGpu;
    const uint32_t event = streams_[gpu]->add_event();
    streams_[gpu]->enqueue({HostCall::Kind::record, stream % kStreamsPerGpu, nullptr, event});
    return gpu * kStreamsPerGpu + event;
  }
  void wait(StreamId stream, EventId event) override {
    if (stream / kStreamsPerGpu != event / kStreamsPerGpu) {
      refused_ = Error{.message = fmt::format(
                           "a stream of GPU {} waits for an event of GPU {}, which is not in this version",
                           stream / kStreamsPerGpu, event / kStreamsPerGpu)};
      return;
    }
    streams_[stream / kStreamsPerGpu]->enqueue(
        {HostCall::Kind::wait, stream % kStreamsPerGpu, nullptr, event % kStreamsPerGpu});
  }
  [[nodiscard]] Picoseconds event_time(EventId event) const override {
    return streams_[event / kStreamsPerGpu]->event_time(event % kStreamsPerGpu);
  }
  void synchronize(StreamId stream) override {
    streams_[stream / kStreamsPerGpu]->enqueue(
        {HostCall::Kind::synchronize, stream % kStreamsPerGpu, nullptr, 0});
  }
  void flush_l2() override { flush_ = true; }
  Expected<RunReport> run(const RunLimits& limits) override;

 private:
  MemorySpace* space_of(DeviceAddress address) const {
    return address >> kGpuShift == 0 ? nullptr : group_.space(home_of(address));
  }
  Error no_gpu(GpuId gpu) const {
    return Error{.message = fmt::format("GPU {} does not exist, the cluster has {}", gpu.value, gpu_count_)};
  }
  Error outside(DeviceAddress address, uint64_t bytes) const {
    const MemorySpace* space = space_of(address);
    return Error{.message = fmt::format("{} bytes at {:#x} are not inside one allocation", bytes, address),
                 .hint = space == nullptr ? "no GPU has this address" : space->describe(address, bytes)};
  }
  [[nodiscard]] std::optional<Error> first_fault() const;
  Error deadlock() const;
  struct Before {  ///< cumulative counters at the start of a run
    std::vector<models::MemoryCounters> memory;
    std::vector<std::vector<std::array<models::LinkUse, 2>>> links;  ///< [gpu][link]: egress, ingress
    uint64_t events = 0;
  };
  [[nodiscard]] Before snapshot() const;
  RunReport report(Picoseconds begin, Picoseconds end, const Before& before);

  Machine machine_;
  uint32_t gpu_count_;
  std::vector<std::unique_ptr<LogicalProcess>> processes_;
  std::unique_ptr<NvlinkFabric> fabric_;
  DeviceGroup group_;
  std::vector<std::unique_ptr<MemorySpace>> memories_, host_memories_;
  std::vector<std::unique_ptr<GpuMemorySystem>> systems_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<std::unique_ptr<StreamQueue>> streams_;
  std::vector<std::vector<int>> stream_priority_;
  std::vector<LoadedModule> modules_;
  std::deque<EnqueuedLaunch> launches_;
  LaunchId next_launch_ = 0;
  bool flush_ = false;
  std::optional<Error> refused_;  ///< an enqueued call that cannot be carried out; run() returns it
  bool broken_ = false;           ///< a run ended with an error: device state is undefined
};

// ------------------------------------------------------------------------------------------------ modules

Expected<uint32_t> ClusterImplementation::load(std::shared_ptr<const ptx::Program> program) {
  LoadedModule module;
  module.program = program;
  const std::vector<ptx::ProgramVariable>& variables = program->variables;
  for (uint32_t g = 0; g < gpu_count_; ++g) {
    std::vector<uint64_t> addresses(variables.size());
    std::vector<uint8_t> bank;
    for (size_t v = 0; v < variables.size(); ++v) {
      if (variables[v].space == ptx::Space::constant) {
        const uint64_t align = std::max<uint64_t>(variables[v].align, 1);
        addresses[v] = (bank.size() + align - 1) / align * align;
        bank.resize(addresses[v] + variables[v].bytes);
      } else {
        Expected<uint64_t> address = memories_[g]->allocate(variables[v].bytes, variables[v].name,
                                                            std::max<uint64_t>(variables[v].align, 256));
        if (!address) return address.error();
        addresses[v] = *address;
      }
    }
    for (size_t v = 0; v < variables.size(); ++v) {
      const bool constant = variables[v].space == ptx::Space::constant;
      uint8_t* data =
          constant ? bank.data() + addresses[v] : memories_[g]->resolve(addresses[v], variables[v].bytes);
      if (!variables[v].data.empty()) std::memcpy(data, variables[v].data.data(), variables[v].data.size());
      for (const ptx::ProgramVariable::Fixup& fixup : variables[v].fixups) {
        uint64_t value = static_cast<uint64_t>(fixup.addend);
        if (fixup.kind == ptx::RelocationKind::function) {
          value += ExecProgram::function_handle(fixup.symbol);
        } else {
          value += addresses[fixup.symbol];
          if (fixup.generic && variables[fixup.symbol].space == ptx::Space::constant)
            value += kConstantWindow;
        }
        value >>= fixup.shift;
        std::memcpy(data + fixup.offset, &value, fixup.bytes);
      }
    }
    module.executable.push_back(
        std::make_unique<ExecProgram>(program, machine_.sm, addresses, std::move(bank)));
    module.addresses.push_back(std::move(addresses));
  }
  modules_.push_back(std::move(module));
  return static_cast<uint32_t>(modules_.size() - 1);
}

Expected<LaunchId> ClusterImplementation::launch(StreamId stream, LaunchConfig config) {
  const uint32_t gpu = stream / kStreamsPerGpu;
  if (config.module >= modules_.size())
    return Error{.message = fmt::format("module {} is not loaded", config.module)};
  LoadedModule& module = modules_[config.module];
  Expected<uint32_t> function = check_launch(*module.program, config, machine_.sm);
  if (!function) return function.error();
  const ptx::ProgramFunction& entry = module.program->functions[*function];
  EnqueuedLaunch& enqueued = launches_.emplace_back();
  enqueued.id = next_launch_++;
  enqueued.gpu = GpuId{gpu};
  enqueued.role = config.role.empty() ? config.kernel : config.role;
  Launch& launch = enqueued.launch;
  launch.id = enqueued.id;
  launch.program = module.executable[gpu].get();
  launch.function = *function;
  launch.grid = {config.grid.x, config.grid.y, config.grid.z};
  launch.block = {config.block.x, config.block.y, config.block.z};
  launch.cluster = config.cluster;
  launch.dynamic_shared_bytes = config.dynamic_shared_bytes;
  launch.cooperative = config.cooperative;
  launch.priority = config.priority != 0 ? config.priority : stream_priority_[gpu][stream % kStreamsPerGpu];
  launch.parameters = std::move(config.parameters);
  launch.parameters.resize(entry.parameter_bytes);
  const uint32_t align = std::max(entry.shared_align, 16U);
  const uint32_t dynamic_offset = (entry.static_shared_bytes + align - 1) / align * align;
  launch.constants = launch.program->constants(dynamic_offset);
  launch.shared_bytes = config.dynamic_shared_bytes == 0 ? entry.static_shared_bytes
                                                         : dynamic_offset + config.dynamic_shared_bytes;
  launch.registers_per_thread = launch_registers(entry);
  launch.ctas = config.grid.count();
  if (config.cooperative) {
    Expected<uint64_t> workspace = memories_[gpu]->allocate(64, "cooperative grid workspace", 256);
    if (!workspace) return workspace.error();
    launch.grid_workspace = *workspace;
  }
  streams_[gpu]->enqueue({HostCall::Kind::launch, stream % kStreamsPerGpu, &launch, 0});
  return enqueued.id;
}

// ------------------------------------------------------------------------------------------------ running

std::optional<Error> ClusterImplementation::first_fault() const {
  const std::pair<Picoseconds, Error>* first = nullptr;
  for (const std::unique_ptr<Device>& device : devices_)
    if (device->fault_seen() && (first == nullptr || device->fault_seen()->first < first->first))
      first = &*device->fault_seen();
  if (first == nullptr) return std::nullopt;
  return first->second;
}

Error ClusterImplementation::deadlock() const {
  constexpr size_t kLines = 12;
  std::string text = "deadlock: nothing is in flight and these warps wait";
  size_t shown = 0;
  for (const std::unique_ptr<Device>& device : devices_) {
    for (const std::string& line : device->waiting_report(3)) {
      if (shown++ < kLines) text += "\n  " + line;
    }
  }
  return Error{.message = std::move(text),
               .hint = "each line names who waits and at which address, barrier or instruction"};
}

Expected<RunReport> ClusterImplementation::run(const RunLimits& limits) {
  if (broken_)
    return Error{.message = "an earlier run of this cluster ended with an error, so its state is not defined",
                 .hint = "create a new cluster"};
  if (refused_) return *std::exchange(refused_, std::nullopt);
  group_.park_polls = limits.park_polls;
  group_.quantum_cycles = limits.quantum_cycles;
  Picoseconds begin{};
  for (const std::unique_ptr<LogicalProcess>& process : processes_) begin = max(begin, process->now());
  std::vector<LogicalProcess*> processes;
  for (const std::unique_ptr<LogicalProcess>& process : processes_) {
    processes.push_back(process.get());
    process->run_until(begin);
  }
  const Before before = snapshot();
  for (uint32_t g = 0; g < gpu_count_; ++g) {
    if (flush_) systems_[g]->flush_l2();
    streams_[g]->start(begin);
  }
  flush_ = false;

  bool cancelled = false;
  uint32_t windows = 0;
  WindowRunnerOptions options;
  options.lookahead = fabric_->lookahead();
  options.max_time = limits.max_time == models::kNever ? models::kNever : begin + limits.max_time;
  options.threads = limits.threads != 0 ? limits.threads : std::max(1U, std::thread::hardware_concurrency());
  options.stop = [&](Picoseconds now) {
    for (const std::unique_ptr<Device>& device : devices_)
      if (device->fault_seen()) return true;
    if (limits.progress && (++windows & 0x3FU) == 0 && !limits.progress(now - begin)) cancelled = true;
    return cancelled;
  };
  Picoseconds jump = models::microseconds(1);
  for (;;) {
    const RunEnd end = run_windows(processes, options);
    if (std::optional<Error> fault = first_fault()) {
      broken_ = true;
      return *fault;
    }
    if (cancelled) {
      broken_ = true;
      return Error{.message = "stopped before the end"};
    }
    if (end == RunEnd::out_of_time) {
      broken_ = true;
      Error error = deadlock();
      error.message =
          fmt::format(
              "the kernels did not end within the budget of {:.0f} us of simulated time; these warps wait",
              limits.max_time.us()) +
          error.message.substr(error.message.find('\n') == std::string::npos ? error.message.size()
                                                                             : error.message.find('\n'));
      return error;
    }
    const bool idle =
        std::all_of(streams_.begin(), streams_.end(), [](const auto& queue) { return queue->idle(); });
    if (idle) break;
    // Nothing is in flight: lanes that wait for their warp go on; then polls that read a clock get a later
    // one.
    bool moved = false;
    Picoseconds now{};
    for (const std::unique_ptr<LogicalProcess>& process : processes_) now = max(now, process->now());
    for (const std::unique_ptr<Device>& device : devices_) moved = device->nudge(now, false) || moved;
    if (!moved && now - begin + jump < limits.max_time) {
      now = now + jump;
      jump = jump * 2;
      for (const std::unique_ptr<Device>& device : devices_) moved = device->nudge(now, true) || moved;
    }
    if (!moved) {
      broken_ = true;
      return deadlock();
    }
  }
  Picoseconds end{};
  for (const EnqueuedLaunch& enqueued : launches_) end = max(end, enqueued.launch.finished);
  RunReport result = report(begin, end, before);
  launches_.clear();
  return result;
}

ClusterImplementation::Before ClusterImplementation::snapshot() const {
  Before before;
  for (const std::unique_ptr<LogicalProcess>& process : processes_)
    before.events += process->events_handled();
  for (uint32_t g = 0; g < gpu_count_; ++g) {
    before.memory.push_back(systems_[g]->counters());
    auto& links = before.links.emplace_back();
    for (uint32_t l = 0; l < machine_.nvlink.links_per_gpu; ++l)
      links.push_back({fabric_->egress_use(GpuId{g}, l), fabric_->ingress_use(GpuId{g}, l)});
  }
  return before;
}

RunReport ClusterImplementation::report(Picoseconds begin, Picoseconds end, const Before& before) {
  RunReport result;
  result.time = end - begin;
  for (const std::unique_ptr<LogicalProcess>& process : processes_)
    result.events += process->events_handled();
  result.events -= before.events;
  for (const EnqueuedLaunch& enqueued : launches_) {
    const Launch& launch = enqueued.launch;
    LaunchReport& out = result.launches.emplace_back();
    out.id = enqueued.id;
    out.gpu = enqueued.gpu;
    out.kernel = launch.program->program().functions[launch.function].name;
    out.role = enqueued.role;
    out.started = launch.started - begin;
    out.finished = launch.finished - begin;
    out.warp_instructions = launch.instructions + launch.charged_instructions;
    result.warp_instructions += out.warp_instructions;
    result.parked_instructions += launch.charged_instructions;
    const models::ClockDomain clock(machine_.sm.clock_hz);
    for (size_t side = 0; side < 2; ++side) {
      out.profile[side].warps = launch.profile[side].warps;
      out.profile[side].instructions = launch.profile[side].instructions;
      for (size_t w = 0; w < launch.profile[side].waited.size(); ++w)
        out.profile[side].time[w] = clock.time(std::max<int64_t>(0, launch.profile[side].waited[w]));
    }
  }
  const double seconds = static_cast<double>(std::max<int64_t>(result.time.value, 1)) * 1e-12;
  for (uint32_t g = 0; g < gpu_count_; ++g) {
    const models::MemoryCounters& now = systems_[g]->counters();
    const models::MemoryCounters& old = before.memory[g];
    GpuReport& out = result.gpus.emplace_back();
    out.l2_read_bytes = (now.l2_sector_reads - old.l2_sector_reads) * models::kSectorBytes;
    out.l2_read_miss_bytes = (now.l2_sector_read_misses - old.l2_sector_read_misses) * models::kSectorBytes;
    out.l2_write_bytes = (now.l2_sector_writes - old.l2_sector_writes) * models::kSectorBytes;
    out.hbm_read_bytes = now.hbm_read_bytes - old.hbm_read_bytes;
    out.hbm_write_bytes = now.hbm_write_bytes - old.hbm_write_bytes;
    out.nvlink_sent_payload_bytes = now.nvlink_sent_payload_bytes - old.nvlink_sent_payload_bytes;
    out.nvlink_sent_wire_bytes = now.nvlink_sent_wire_bytes - old.nvlink_sent_wire_bytes;
    out.l2_utilisation =
        static_cast<double>((now.l2_busy - old.l2_busy).value) * 1e-12 / seconds / machine_.l2.slices;
    out.hbm_utilisation =
        static_cast<double>((now.hbm_busy - old.hbm_busy).value) * 1e-12 / seconds / machine_.hbm.channels;
    const uint32_t links = machine_.nvlink.links_per_gpu;
    for (uint32_t l = 0; l < links; ++l) {
      const models::LinkUse egress = fabric_->egress_use(GpuId{g}, l);
      const models::LinkUse ingress = fabric_->ingress_use(GpuId{g}, l);
      const auto& [egress_before, ingress_before] = before.links[g][l];
      const double busy = static_cast<double>((egress.busy - egress_before.busy).value) * 1e-12 / seconds;
      out.nvlink_egress_utilisation += busy / links;
      out.nvlink_egress_max_utilisation = std::max(out.nvlink_egress_max_utilisation, busy);
      out.nvlink_ingress_utilisation +=
          static_cast<double>((ingress.busy - ingress_before.busy).value) * 1e-12 / seconds / links;
      out.nvlink_blocked_share +=
          static_cast<double>((egress.blocked - egress_before.blocked).value) * 1e-12 / seconds / links;
    }
  }
  std::vector<std::pair<Picoseconds, std::string>> printed;
  for (const std::unique_ptr<Device>& device : devices_)
    printed.insert(printed.end(), device->printed().begin(), device->printed().end());
  std::stable_sort(printed.begin(), printed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [time, text] : printed) result.printf_output += text;
  return result;
}

}  // namespace

std::string_view wait_reason_name(WaitReason reason) {
  static constexpr std::array<std::string_view, static_cast<size_t>(WaitReason::count)> kNames = {
      "issuing",     "local load",    "remote load",     "local poll",
      "remote poll", "shared memory", "store window",    "release or fence",
      "CTA barrier", "named barrier", "cluster barrier", "mbarrier",
      "bulk copy",   "sleep",         "atomic",          "reconvergence"};
  return kNames[static_cast<size_t>(reason)];
}

Expected<std::unique_ptr<Cluster>> Cluster::create(const models::Machine& machine, uint32_t gpus) {
  if (gpus == 0 || gpus > machine.gpus)
    return Error{.message = fmt::format("{} ranks asked for, machine '{}' has {} GPUs", gpus, machine.name,
                                        machine.gpus),
                 .path = machine.path};
  return std::unique_ptr<Cluster>(std::make_unique<ClusterImplementation>(machine, gpus));
}

}  // namespace ptxwire::sim
