#include "sim/cluster/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "sim/cluster/cluster_implementation.hpp"
#include "sim/cluster/launch_check.hpp"

namespace ptxwire::sim {

using models::GpuMemorySystem;
using models::LogicalProcess;
using models::Machine;
using models::NvlinkFabric;

// Processes in order: GPUs (with their NICs), NVSwitches node by node, InfiniBand switches.
ClusterImplementation::ClusterImplementation(const Machine& machine, uint32_t gpus,
                                             const models::NetworkTopology* network)
    : machine_(machine), gpu_count_(gpus) {
  if (network != nullptr) network_ = *network;
  const auto add_process = [&] {
    processes_.push_back(std::make_unique<LogicalProcess>(static_cast<uint32_t>(processes_.size())));
    return processes_.back().get();
  };
  std::vector<LogicalProcess*> gpu_processes, switch_processes;
  for (uint32_t g = 0; g < gpus; ++g) gpu_processes.push_back(add_process());
  for (uint32_t first = 0; first < gpus; first += machine_.gpus) {
    const uint32_t last = std::min(gpus, first + machine_.gpus);
    const std::vector<LogicalProcess*> node(gpu_processes.begin() + first, gpu_processes.begin() + last);
    std::vector<LogicalProcess*> switches;
    for (uint32_t s = 0; s < machine_.nvlink.switches; ++s) switches.push_back(add_process());
    nvlink_.push_back(std::make_unique<NvlinkFabric>(machine_, node, switches, GpuId{first}));
  }
  lookahead_ = nvlink_.front()->lookahead();
  if (network_) {
    for (uint32_t s = 0; s < network_->switches(); ++s) switch_processes.push_back(add_process());
    // NICs beyond the GPUs in use are there and idle.
    std::vector<LogicalProcess*> nic_processes = gpu_processes;
    nic_processes.resize(network_->nics(), gpu_processes.front());
    infiniband_ = std::make_unique<models::InfinibandFabric>(*network_, machine_.infiniband, nic_processes,
                                                             switch_processes);
    lookahead_ = min(lookahead_, infiniband_->lookahead());
  }
  group_.machine = &machine_;
  for (uint32_t g = 0; g < gpus; ++g) add_gpu(g);
  stream_priority_.resize(gpus);
  host_delay_.resize(gpus);
}

void ClusterImplementation::add_gpu(uint32_t g) {
  memories_.push_back(std::make_unique<MemorySpace>(g));
  host_memories_.push_back(std::make_unique<MemorySpace>(kHostBias + g));
  group_.device_memory.push_back(memories_.back().get());
  group_.host_memory.push_back(host_memories_.back().get());
  NvlinkFabric& nvlink = *nvlink_[g / machine_.gpus];
  systems_.push_back(std::make_unique<GpuMemorySystem>(machine_, GpuId{g}, *processes_[g], &nvlink));
  nvlink.attach(GpuId{g}, *systems_.back());
  devices_.push_back(std::make_unique<Device>(group_, GpuId{g}, *processes_[g], *systems_.back()));
  group_.devices.push_back(devices_.back().get());
  streams_.push_back(std::make_unique<StreamQueue>(models::LaunchTimer(machine_.host), lookahead_,
                                                   *processes_[g], *devices_.back()));
  if (!infiniband_) return;
  nics_.push_back(std::make_unique<NicDevice>(machine_, group_, *devices_.back(), *infiniband_));
  group_.registers.push_back(nics_.back().get());
  nic_registers_.push_back(std::make_unique<MemorySpace>(kRegisterBias + g));
  static_cast<void>(nic_registers_.back()->allocate(NicDevice::kRegisterBytes, "NIC registers", 512));
  group_.nic_registers.push_back(nic_registers_.back().get());
}

Error ClusterImplementation::no_gpu(GpuId gpu) const {
  return Error{.message = fmt::format("GPU {} does not exist, the cluster has {}", gpu.value, gpu_count_)};
}

// ------------------------------------------------------------------------------------------------ memory

Expected<DeviceAddress> ClusterImplementation::allocate(GpuId gpu, uint64_t bytes, std::string name,
                                                        uint64_t align) {
  if (gpu.value >= gpu_count_) return no_gpu(gpu);
  return memories_[gpu.value]->allocate(bytes, std::move(name), align);
}

Expected<DeviceAddress> ClusterImplementation::allocate_host_mapped(GpuId gpu, uint64_t bytes,
                                                                    std::string name) {
  if (gpu.value >= gpu_count_) return no_gpu(gpu);
  return host_memories_[gpu.value]->allocate(bytes, std::move(name), 512);
}

Expected<void> ClusterImplementation::free(DeviceAddress address) {
  MemorySpace* space = space_of(address);
  if (space == nullptr)
    return Error{.message = fmt::format("{:#x} is not the start of an allocation", address)};
  return space->free(address);
}

Error ClusterImplementation::outside(DeviceAddress address, uint64_t bytes) const {
  const MemorySpace* space = space_of(address);
  return Error{.message = fmt::format("{} bytes at {:#x} are not inside one allocation", bytes, address),
               .hint = space == nullptr ? "no GPU has this address" : space->describe(address, bytes)};
}

Expected<void> ClusterImplementation::write(DeviceAddress address, std::span<const uint8_t> bytes) {
  MemorySpace* space = space_of(address);
  if (space == nullptr || space->resolve(address, bytes.size()) == nullptr)
    return outside(address, bytes.size());
  if (!bytes.empty()) space->write(address, bytes.size(), bytes.data());
  return {};
}

Expected<void> ClusterImplementation::read(DeviceAddress address, std::span<uint8_t> bytes) const {
  const MemorySpace* space = space_of(address);
  const uint8_t* source = space == nullptr ? nullptr : space->resolve(address, bytes.size());
  if (source == nullptr) return outside(address, bytes.size());
  if (!bytes.empty()) space->read(address, bytes.size(), bytes.data());
  return {};
}

Expected<void> ClusterImplementation::elide(const ElidedRows& rows) {
  MemorySpace* space = space_of(rows.address);
  return space == nullptr ? outside(rows.address, rows.bytes) : space->elide(rows);
}

std::span<uint8_t> ClusterImplementation::view(DeviceAddress address, uint64_t bytes) {
  const MemorySpace* space = space_of(address);
  const bool viewable = space != nullptr && !space->is_elided(address, bytes);
  uint8_t* data = viewable ? space->resolve(address, bytes) : nullptr;
  return data == nullptr ? std::span<uint8_t>{} : std::span<uint8_t>{data, bytes};
}

Expected<DeviceAddress> ClusterImplementation::symbol(uint32_t module, std::string_view name, GpuId gpu) {
  if (module >= modules_.size()) return Error{.message = fmt::format("module {} is not loaded", module)};
  if (gpu.value >= gpu_count_) return no_gpu(gpu);
  const std::vector<ptx::ProgramVariable>& variables = modules_[module].program->variables;
  for (size_t v = 0; v < variables.size(); ++v)
    if (variables[v].name == name && variables[v].space == ptx::Space::global)
      return modules_[module].addresses[gpu.value][v];
  return Error{.message = fmt::format("the module has no .global variable '{}'", name)};
}

// ------------------------------------------------------------------------------------------------ streams
// and events

bool ClusterImplementation::has_stream(StreamId stream) const {
  return stream / kPerGpu < gpu_count_ && streams_[stream / kPerGpu]->has_stream(stream % kPerGpu);
}

bool ClusterImplementation::has_event(EventId event) const {
  return event / kPerGpu < gpu_count_ && streams_[event / kPerGpu]->has_event(event % kPerGpu);
}

void ClusterImplementation::refuse(std::string message) {
  if (!refused_) refused_ = Error{.message = std::move(message)};
}

StreamId ClusterImplementation::create_stream(GpuId gpu, int priority) {
  if (gpu.value >= gpu_count_) {
    refuse(no_gpu(gpu).message);
    return kNoId;
  }
  const uint32_t index = streams_[gpu.value]->add_stream();
  stream_priority_[gpu.value].push_back(priority);
  return gpu.value * kPerGpu + index;
}

EventId ClusterImplementation::record(StreamId stream) {
  if (!has_stream(stream)) {
    refuse(fmt::format("record on stream {}, which does not exist", stream));
    return kNoId;
  }
  const uint32_t gpu = stream / kPerGpu;
  const uint32_t event = streams_[gpu]->add_event();
  streams_[gpu]->enqueue({HostCall::Kind::record, stream % kPerGpu, nullptr, event});
  return gpu * kPerGpu + event;
}

void ClusterImplementation::wait(StreamId stream, EventId event) {
  if (!has_stream(stream) || !has_event(event))
    return refuse(fmt::format("stream {} waits for event {}: no such {}", stream, event,
                              has_stream(stream) ? "event" : "stream"));
  StreamQueue& waiting = *streams_[stream / kPerGpu];
  StreamQueue& recording = *streams_[event / kPerGpu];
  uint32_t index = event % kPerGpu;
  if (&waiting != &recording) index = waiting.follow_event(recording, index);
  waiting.enqueue({HostCall::Kind::wait, stream % kPerGpu, nullptr, index});
}

Picoseconds ClusterImplementation::event_time(EventId event) const {
  return has_event(event) ? streams_[event / kPerGpu]->event_time(event % kPerGpu) : Picoseconds{};
}

void ClusterImplementation::synchronize(StreamId stream) {
  if (!has_stream(stream))
    return refuse(fmt::format("synchronize with stream {}, which does not exist", stream));
  streams_[stream / kPerGpu]->enqueue({HostCall::Kind::synchronize, stream % kPerGpu, nullptr, 0});
}

void ClusterImplementation::delay_host(GpuId gpu, Picoseconds by) {
  if (gpu.value >= gpu_count_) return refuse(no_gpu(gpu).message);
  host_delay_[gpu.value] = by;
}

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

uint8_t ClusterImplementation::owner_of(const std::string& role) {
  const auto known = std::find(owners_.begin(), owners_.end(), role);
  const auto index = static_cast<size_t>(known - owners_.begin());
  if (index >= kOtherOwners) return kOtherOwners;
  if (known == owners_.end()) owners_.push_back(role);
  return static_cast<uint8_t>(index);
}

Expected<LaunchId> ClusterImplementation::launch(StreamId stream, LaunchConfig config) {
  if (!has_stream(stream)) return Error{.message = fmt::format("stream {} does not exist", stream)};
  const uint32_t gpu = stream / kPerGpu;
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
  launch.priority = config.priority != 0 ? config.priority : stream_priority_[gpu][stream % kPerGpu];
  launch.owner = owner_of(enqueued.role);
  launch.parameters = std::move(config.parameters);
  launch.parameters.resize(entry.parameter_bytes);
  launch.constants = launch.program->constants(dynamic_shared_offset(entry));
  launch.footprint = launch_footprint(*module.program, entry, config);
  launch.ctas = config.grid.count();
  if (config.cooperative) {
    Expected<uint64_t> workspace = memories_[gpu]->allocate(64, "cooperative grid workspace", 256);
    if (!workspace) return workspace.error();
    launch.grid_workspace = *workspace;
  }
  streams_[gpu]->enqueue({HostCall::Kind::launch, stream % kPerGpu, &launch, 0});
  return enqueued.id;
}

void ClusterImplementation::isolate(const std::vector<std::string>& roles,
                                    const models::SharedResources& resources) {
  uint32_t owners = 0;
  for (const std::string& role : roles) owners |= 1U << owner_of(role);
  for (const std::unique_ptr<GpuMemorySystem>& system : systems_) system->isolate(owners, resources);
}

std::string_view wait_reason_name(WaitReason reason) {
  static constexpr std::array<std::string_view, static_cast<size_t>(WaitReason::count)> kNames = {
      "issuing",         "local load",   "remote load",      "local poll",  "remote poll",
      "shared memory",   "store window", "release or fence", "CTA barrier", "named barrier",
      "cluster barrier", "mbarrier",     "bulk copy",        "sleep",       "atomic",
      "reconvergence",   "tensor cores"};
  return kNames[static_cast<size_t>(reason)];
}

Expected<std::unique_ptr<Cluster>> Cluster::create(const models::Machine& machine, uint32_t gpus,
                                                   const models::NetworkTopology* network) {
  if (gpus == 0 || (network == nullptr && gpus > machine.gpus))
    return Error{.message = fmt::format("{} ranks asked for, a node of machine '{}' has {} GPUs", gpus,
                                        machine.name, machine.gpus),
                 .path = machine.path,
                 .hint = gpus > machine.gpus ? "more nodes need a network" : ""};
  if (network != nullptr && network->node().gpus() != machine.gpus)
    return Error{.message = fmt::format("nodes of the network have {} GPUs, those of machine '{}' have {}",
                                        network->node().gpus(), machine.name, machine.gpus),
                 .path = network->path()};
  if (network != nullptr && gpus > network->nics())
    return Error{.message = fmt::format("{} ranks asked for, the network has {} NICs", gpus, network->nics()),
                 .path = network->path()};
  return std::unique_ptr<Cluster>(std::make_unique<ClusterImplementation>(machine, gpus, network));
}

}  // namespace ptxwire::sim
