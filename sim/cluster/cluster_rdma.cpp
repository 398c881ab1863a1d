// RDMA as the host sees it: registered memory, connected queue pairs, the doorbell.
#include "sim/cluster/cluster_implementation.hpp"

namespace ptxwire::sim {

namespace {

constexpr uint64_t kDoorbellOffset = 0x800;  ///< of the register in its page (mlx5 UAR)

}  // namespace

Expected<MemoryKeys> ClusterImplementation::register_memory(GpuId, DeviceAddress, uint64_t,
                                                            const MemoryRights&) {
  return Error{.message = "the cluster has no network"};
}

Expected<QueueNumbers> ClusterImplementation::connect(const QueueEnd&, const QueueEnd&, const QueueOptions&) {
  return Error{.message = "the cluster has no network"};
}

DeviceAddress ClusterImplementation::doorbell(GpuId gpu) const {
  return home_base(kRegisterBias + gpu.value) + kDoorbellOffset;
}

}  // namespace ptxwire::sim
