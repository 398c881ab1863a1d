// What a library for GPU-initiated RDMA sets up before kernels run: a symmetric heap on every rank, keys for
// its chunks, queue pairs between ranks, and the tables through which kernels find them
// (kernels/src/rdma.cuh).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "sim/cluster/cluster.hpp"

namespace ptxwire::sim {

/// RdmaState of kernels/src/rdma.cuh, as a kernel parameter.
struct RdmaState {
  DeviceAddress queues = 0;
  int32_t queues_per_rank = 0, key_shift = 0;
  DeviceAddress heap = 0, remote_heaps = 0, peer_heaps = 0, local_keys = 0, remote_keys = 0;
  int32_t rank = 0, ranks = 0;
};
static_assert(sizeof(RdmaState) == 64);

struct RdmaHeapConfig {
  uint32_t ranks = 0;
  uint64_t heap_bytes = 0;
  uint32_t queues_per_rank = 1;  ///< to each rank that is connected
  uint32_t queue_entries = 1024;
  uint32_t key_shift = 29;             ///< chunks of 512 MiB have a key each
  bool queues_in_host_memory = false;  ///< for queues that a CPU thread posts to
  bool network = true;                 ///< false: the heaps are reached over NVLink alone; no keys, no queues
  QueueOptions options;
  /// Which pairs of different ranks get queues; asked with first < second. Empty: all.
  std::function<bool(uint32_t, uint32_t)> connected;
  /// 0: all ranks are. Else ranks from here on have tables but no memory: requests to rank r, from the rank
  /// (r mod so many) alone, come back to it (Cluster::mirror_memory).
  uint32_t simulated_ranks = 0;
  std::function<std::vector<MirrorArea>(DeviceAddress heap, uint32_t rank)> mirror_areas;
};

class RdmaHeap {
 public:
  /// Allocates and registers on every rank, connects, and writes the tables. Errors: those of Cluster.
  static Expected<std::unique_ptr<RdmaHeap>> create(Cluster& cluster, const RdmaHeapConfig& config);

  [[nodiscard]] const RdmaState& state(uint32_t rank) const { return states_[rank]; }
  /// Start of the heap of a rank; a symmetric object has the same offset on all.
  [[nodiscard]] DeviceAddress heap(uint32_t rank) const { return states_[rank].heap; }
  /// A proxy of `rank` that posts on queue 0 of each peer; ring and counter are the caller's to add.
  [[nodiscard]] const HostProxyConfig& proxy(uint32_t rank) const { return proxies_[rank]; }

 private:
  RdmaHeap() = default;
  std::vector<RdmaState> states_;
  std::vector<HostProxyConfig> proxies_;
};

}  // namespace ptxwire::sim
