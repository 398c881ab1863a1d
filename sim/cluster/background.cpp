// Loads without a kernel: agents of the model that sweep memory.
#include <algorithm>

#include "sim/cluster/cluster_implementation.hpp"

namespace ptxwire::sim {

Expected<void> ClusterImplementation::add_background(GpuId gpu, const models::TrafficLoad& load,
                                                     std::string role) {
  if (gpu.value >= gpu_count_) return no_gpu(gpu);
  const bool sensible = load.footprint_bytes >= models::TrafficAgent::kPieceBytes && load.flops > 0 &&
                        load.flops_per_clk > 0 && load.bytes_per_flop > 0 && load.write_share >= 0 &&
                        load.write_share <= 1;
  if (!sensible)
    return Error{.message =
                     "a background load needs a footprint of at least 512 bytes, operations, a rate, bytes "
                     "per operation, and a share of stores from 0 to 1"};
  const Expected<DeviceAddress> address = allocate(gpu, load.footprint_bytes, "footprint of " + role, 512);
  if (!address) return address.error();
  Background& background = backgrounds_.emplace_back();
  background.load = load;
  background.report = {.gpu = gpu, .role = std::move(role)};
  background.address = *address;
  return {};
}

void ClusterImplementation::start_backgrounds(Picoseconds begin) {
  const Picoseconds start = begin + models::microseconds(machine_.host.launch_latency_us);
  for (Background& background : backgrounds_) {
    const uint32_t gpu = background.report.gpu.value;
    const models::SmPartition& partition = devices_[gpu]->scheduler().partition();
    background.agent = std::make_unique<models::TrafficAgent>(
        machine_, GpuId{gpu}, *processes_[gpu], *systems_[gpu],
        [&partition](uint32_t sm) { return partition.room(sm).ctas() == 0; });
    background.report.started = start;
    background.agent->start(background.load, background.address, owner_of(background.report.role), start,
                            [&background](Picoseconds now) {
                              background.report.finished = now;
                              background.done = true;
                            });
  }
}

}  // namespace ptxwire::sim
