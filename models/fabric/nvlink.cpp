#include "models/fabric/nvlink.hpp"

#include <algorithm>
#include <cassert>

#include "models/fabric/nvlink_door.hpp"
#include "models/fabric/nvlink_piece.hpp"
#include "models/fabric/switch_plane.hpp"

namespace ptxwire::models {

struct NvlinkFabric::Implementation {
  Implementation(const NvlinkParameters& parameters, const std::vector<LogicalProcess*>& gpu_processes,
                 const std::vector<LogicalProcess*>& switch_processes, GpuId first_gpu)
      : nvlink(parameters), timing(nvlink), first(first_gpu) {
    assert(!switch_processes.empty() && gpu_processes.size() <= SwitchPlane::kMaxGpus);
    const auto gpus = static_cast<uint32_t>(gpu_processes.size());
    std::vector<NvlinkDoor*> all_doors;
    for (uint32_t gpu = 0; gpu < gpus; ++gpu) {
      doors.push_back(std::make_unique<NvlinkDoor>(nvlink, timing, first, GpuId{gpu}, *gpu_processes[gpu]));
      all_doors.push_back(doors.back().get());
    }
    for (uint32_t link = 0; link < nvlink.links_per_gpu; ++link) {
      const uint32_t home = link < nvlink.link_switch.size() ? nvlink.link_switch[link] : link;
      LogicalProcess& process = *switch_processes[home % switch_processes.size()];
      planes.push_back(std::make_unique<SwitchPlane>(timing, link, process, gpus));
    }
    for (uint32_t gpu = 0; gpu < gpus; ++gpu) {
      doors[gpu]->connect(all_doors);
      for (uint32_t link = 0; link < nvlink.links_per_gpu; ++link) {
        doors[gpu]->connect(link, *planes[link]);
        planes[link]->connect(GpuId{gpu}, *doors[gpu]);
      }
    }
  }

  NvlinkParameters nvlink;
  NvlinkTiming timing;
  GpuId first;
  [[nodiscard]] uint32_t local(GpuId gpu) const { return gpu.value - first.value; }
  std::vector<std::unique_ptr<NvlinkDoor>> doors;    // [gpu]
  std::vector<std::unique_ptr<SwitchPlane>> planes;  // [link]
};

NvlinkFabric::NvlinkFabric(const Machine& machine, const std::vector<LogicalProcess*>& gpu_processes,
                           const std::vector<LogicalProcess*>& switch_processes, GpuId first)
    : implementation_(
          std::make_unique<Implementation>(machine.nvlink, gpu_processes, switch_processes, first)) {}
NvlinkFabric::~NvlinkFabric() = default;

void NvlinkFabric::attach(GpuId gpu, GpuMemorySystem& memory) {
  implementation_->doors[implementation_->local(gpu)]->attach(memory);
}

void NvlinkFabric::inject(Transaction& transaction, Picoseconds now) {
  implementation_->doors[implementation_->local(transaction.source_gpu)]->inject(transaction, now);
}

Picoseconds NvlinkFabric::lookahead() const { return implementation_->timing.link; }

LinkUse NvlinkFabric::egress_use(GpuId gpu, uint32_t link) const {
  return implementation_->doors[implementation_->local(gpu)]->egress().use(link);
}

LinkUse NvlinkFabric::ingress_use(GpuId gpu, uint32_t link) const {
  return implementation_->planes[link]->output_use(GpuId{implementation_->local(gpu)});
}

bool NvlinkFabric::idle() const {
  const auto& doors = implementation_->doors;
  const auto& planes = implementation_->planes;
  return std::all_of(doors.begin(), doors.end(), [](const auto& door) { return door->egress().idle(); }) &&
         std::all_of(planes.begin(), planes.end(), [](const auto& plane) { return plane->idle(); });
}

}  // namespace ptxwire::models
