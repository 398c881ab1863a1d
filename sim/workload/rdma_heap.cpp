#include "sim/workload/rdma_heap.hpp"

#include <algorithm>
#include <array>

#include "sim/workload/device_buffers.hpp"

namespace ptxwire::sim {

namespace {

constexpr uint64_t kHeapAlign = 1U << 21U;
constexpr uint32_t kEntryBytes = 64, kInternalBytes = 256;
constexpr int32_t kReliableConnection = 3;

uint32_t big_endian(uint32_t v) { return __builtin_bswap32(v); }

/// CompletionQueue, QueuePair and MemoryKey of kernels/src/rdma.cuh.
struct DeviceCompletionQueue {
  int32_t version = 0, type = kReliableConnection;
  DeviceAddress doorbell_record = 0, entries = 0, produced = 0, consumed = 0, reserved = 0, ready = 0;
  uint32_t number = 0, entry_count = 0, queue_number = 0, pad = 0;
};
struct DeviceQueuePair {
  int32_t version = 0, type = kReliableConnection;
  uint32_t number = 0;
  int32_t device = 0;
  uint32_t internal_slots = 1, pad0 = 0;
  DeviceAddress internal_buffer = 0;
  uint32_t internal_local_key = 0, internal_remote_key = 0;
  uint16_t ring_entries = 0;
  std::array<uint16_t, 3> pad1{};
  DeviceAddress ring = 0, doorbell_record = 0, doorbell = 0, completion = 0, produced = 0;
  int32_t state_version = 0, post_lock = 0;
  uint64_t reserved_index = 0, ready_index = 0, produced_index = 0, consumed_index = 0;
  std::array<uint64_t, 7> unused{};
};
static_assert(sizeof(DeviceCompletionQueue) == 72 && sizeof(DeviceQueuePair) == 184);
struct DeviceMemoryKey {
  uint32_t key = 0, pad = 0;
  uint64_t end = 0;
};

/// Memory of one rank's queues, [queue slot] each.
struct QueueMemory {
  DeviceAddress pairs = 0, completions = 0, rings = 0, records = 0, entries = 0, internal = 0;
  MemoryKeys internal_keys;
};

class Setup {
 public:
  Setup(Cluster& cluster, const RdmaHeapConfig& config, std::vector<RdmaState>& states,
        std::vector<HostProxyConfig>& proxies)
      : cluster_(cluster),
        config_(config),
        states_(states),
        proxies_(proxies),
        simulated_(config.simulated_ranks != 0 ? config.simulated_ranks : config.ranks),
        memory_(simulated_),
        keys_(config.ranks) {}

  Expected<void> run() {
    states_.resize(config_.ranks);
    proxies_.resize(simulated_);
    for (uint32_t rank = 0; rank < simulated_; ++rank)
      if (const auto made = allocate(rank); !made) return made.error();
    for (uint32_t rank = simulated_; rank < config_.ranks; ++rank)
      if (const auto made = mirror(rank); !made) return made.error();
    for (uint32_t rank = 0; rank < simulated_; ++rank)
      if (const auto written = write_tables(rank); !written) return written.error();
    if (!config_.network) return {};
    for (uint32_t first = 0; first < simulated_; ++first)
      for (uint32_t second = first + 1; second < config_.ranks; ++second) {
        if (config_.connected && !config_.connected(first, second)) continue;
        const auto made = second < simulated_            ? connect(first, second)
                          : second % simulated_ == first ? connect_to_mirror(first, second)
                                                         : Expected<void>{};
        if (!made) return made.error();
      }
    return {};
  }

 private:
  [[nodiscard]] uint64_t slots() const { return uint64_t{config_.ranks} * config_.queues_per_rank; }
  [[nodiscard]] uint64_t chunks() const {
    const uint64_t chunk = uint64_t{1} << config_.key_shift;
    return std::max<uint64_t>(1, (config_.heap_bytes + chunk - 1) / chunk);
  }

  Expected<void> allocate(uint32_t rank) {
    QueueMemory& m = memory_[rank];
    RdmaState& state = states_[rank];
    state.rank = static_cast<int32_t>(rank);
    state.ranks = static_cast<int32_t>(config_.ranks);
    state.queues_per_rank = static_cast<int32_t>(config_.queues_per_rank);
    state.key_shift = static_cast<int32_t>(config_.key_shift);
    const auto heap =
        cluster_.allocate(GpuId{rank}, std::max<uint64_t>(config_.heap_bytes, kSmallestAllocation),
                          "symmetric heap", kHeapAlign);
    if (!heap) return heap.error();
    state.heap = *heap;
    BufferAllocator allocate(cluster_, rank);
    allocate(m.pairs, slots() * sizeof(DeviceQueuePair), "queue pairs");
    allocate(m.completions, slots() * sizeof(DeviceCompletionQueue), "completion queues");
    const auto place = [&](DeviceAddress& out, uint64_t bytes, const char* name) {
      config_.queues_in_host_memory ? allocate.host_mapped(out, bytes, name) : allocate(out, bytes, name);
    };
    place(m.rings, slots() * config_.queue_entries * kEntryBytes, "queue entries");
    place(m.records, slots() * sizeof(uint64_t), "doorbell records");
    place(m.entries, slots() * kEntryBytes, "completion entries");
    allocate(m.internal, kInternalBytes, "unwanted RDMA results");
    allocate(state.remote_heaps, config_.ranks * sizeof(uint64_t), "heaps by RDMA");
    allocate(state.peer_heaps, config_.ranks * sizeof(uint64_t), "heaps by NVLink");
    allocate(state.local_keys, chunks() * sizeof(DeviceMemoryKey), "local keys");
    allocate(state.remote_keys, chunks() * config_.ranks * sizeof(DeviceMemoryKey), "remote keys");
    if (!allocate.result()) return allocate.result();
    state.queues = m.pairs;
    if (!config_.network) return {};
    const auto internal = cluster_.register_memory(GpuId{rank}, m.internal, kInternalBytes);
    if (!internal) return internal.error();
    m.internal_keys = *internal;
    for (uint64_t chunk = 0; chunk < chunks(); ++chunk) {
      const auto keys = cluster_.register_memory(GpuId{rank}, state.heap + (chunk << config_.key_shift),
                                                 chunk_end(chunk) - (chunk << config_.key_shift));
      if (!keys) return keys.error();
      keys_[rank].push_back(*keys);
    }
    HostProxyConfig& proxy = proxies_[rank];
    proxy.gpu = GpuId{rank};
    proxy.heap = state.heap;
    proxy.key_shift = config_.key_shift;
    proxy.unwanted = m.internal;
    proxy.unwanted_key = m.internal_keys.local;
    for (const MemoryKeys& keys : keys_[rank]) proxy.keys.push_back(keys.local);
    return {};
  }

  /// A rank without memory: that of its index in the simulated ones stands for it.
  Expected<void> mirror(uint32_t rank) {
    const uint32_t own = rank % simulated_;
    states_[rank].heap = states_[own].heap;
    if (!config_.network) return {};
    for (uint64_t chunk = 0; chunk < chunks(); ++chunk) {
      const uint64_t begin = chunk << config_.key_shift;
      const auto keys =
          cluster_.mirror_memory(GpuId{own}, states_[own].heap + begin, chunk_end(chunk) - begin,
                                 config_.mirror_areas(states_[own].heap, rank));
      if (!keys) return keys.error();
      keys_[rank].push_back(*keys);
    }
    return {};
  }

  [[nodiscard]] uint64_t chunk_end(uint64_t chunk) const {
    return std::min(std::max<uint64_t>(config_.heap_bytes, kSmallestAllocation), (chunk + 1)
                                                                                     << config_.key_shift);
  }

  Expected<void> write_tables(uint32_t rank) {
    std::vector<uint64_t> remote, peer;
    std::vector<DeviceMemoryKey> local_keys, remote_keys;
    for (uint32_t other = 0; other < config_.ranks; ++other) {
      remote.push_back(states_[other].heap);
      peer.push_back(cluster_.reaches(GpuId{rank}, GpuId{other}) ? states_[other].heap : 0);
    }
    for (uint64_t chunk = 0; chunk < chunks(); ++chunk) {
      if (!config_.network) break;
      local_keys.push_back({big_endian(keys_[rank][chunk].local), 0, chunk_end(chunk)});
      for (uint32_t other = 0; other < config_.ranks; ++other)
        remote_keys.push_back({big_endian(keys_[other][chunk].remote), 0, chunk_end(chunk)});
    }
    BufferWriter write(cluster_);
    write(states_[rank].remote_heaps, remote);
    write(states_[rank].peer_heaps, peer);
    write(states_[rank].local_keys, local_keys);
    write(states_[rank].remote_keys, remote_keys);
    return write.result();
  }

  [[nodiscard]] QueueEnd end_of(uint32_t rank, uint64_t slot) const {
    const QueueMemory& m = memory_[rank];
    return {.gpu = GpuId{rank},
            .entries = config_.queue_entries,
            .ring = m.rings + slot * config_.queue_entries * kEntryBytes,
            .doorbell_record = m.records + slot * sizeof(uint64_t),
            .completion = m.entries + slot * kEntryBytes,
            .completion_entries = 1};
  }

  Expected<void> connect(uint32_t first, uint32_t second) {
    for (uint32_t queue = 0; queue < config_.queues_per_rank; ++queue) {
      const uint64_t slot = uint64_t{second} * config_.queues_per_rank + queue;
      const uint64_t other_slot = uint64_t{first} * config_.queues_per_rank + queue;
      const auto numbers = cluster_.connect(end_of(first, slot), end_of(second, other_slot), config_.options);
      if (!numbers) return numbers.error();
      if (const auto made = describe(first, slot, numbers->first); !made) return made.error();
      if (const auto made = describe(second, other_slot, numbers->second); !made) return made.error();
      if (queue != 0) continue;
      add_peer(first, second, end_of(first, slot), numbers->first);
      add_peer(second, first, end_of(second, other_slot), numbers->second);
    }
    return {};
  }

  Expected<void> connect_to_mirror(uint32_t rank, uint32_t peer) {
    for (uint32_t queue = 0; queue < config_.queues_per_rank; ++queue) {
      const uint64_t slot = uint64_t{peer} * config_.queues_per_rank + queue;
      const auto number = cluster_.connect_to_itself(end_of(rank, slot), config_.options);
      if (!number) return number.error();
      if (const auto made = describe(rank, slot, *number); !made) return made.error();
      if (queue == 0) add_peer(rank, peer, end_of(rank, slot), *number);
    }
    return {};
  }

  void add_peer(uint32_t rank, uint32_t peer, const QueueEnd& end, uint32_t number) {
    HostProxyConfig& proxy = proxies_[rank];
    HostProxyConfig::Peer& added = proxy.peers.emplace_back();
    added = {.rank = peer, .queue = end, .number = number, .heap = states_[peer].heap};
    for (const MemoryKeys& keys : keys_[peer]) added.keys.push_back(keys.remote);
  }

  /// Writes the structures of a queue pair as kernels find them.
  Expected<void> describe(uint32_t rank, uint64_t slot, uint32_t number) {
    const QueueMemory& m = memory_[rank];
    const QueueEnd end = end_of(rank, slot);
    const DeviceAddress pair = m.pairs + slot * sizeof(DeviceQueuePair);
    const auto index_at = [pair](size_t which) {
      return pair + offsetof(DeviceQueuePair, reserved_index) + which * sizeof(uint64_t);
    };
    const DeviceAddress completion = m.completions + slot * sizeof(DeviceCompletionQueue);
    DeviceQueuePair queue;
    queue.number = number;
    queue.internal_buffer = m.internal;
    queue.internal_local_key = big_endian(m.internal_keys.local);
    queue.internal_remote_key = big_endian(m.internal_keys.remote);
    queue.ring_entries = static_cast<uint16_t>(config_.queue_entries);
    queue.ring = end.ring;
    queue.doorbell_record = end.doorbell_record + sizeof(uint32_t);
    queue.doorbell = cluster_.doorbell(GpuId{rank});
    queue.completion = completion;
    queue.produced = index_at(2);
    DeviceCompletionQueue entries;
    entries.entries = end.completion;
    entries.produced = index_at(2);
    entries.consumed = index_at(3);
    entries.reserved = index_at(0);
    entries.ready = index_at(1);
    entries.number = number;
    entries.entry_count = config_.queue_entries;
    entries.queue_number = number;
    BufferWriter write(cluster_);
    write(pair, std::vector{queue});
    write(completion, std::vector{entries});
    return write.result();
  }

  Cluster& cluster_;
  const RdmaHeapConfig& config_;
  std::vector<RdmaState>& states_;
  std::vector<HostProxyConfig>& proxies_;
  uint32_t simulated_;
  std::vector<QueueMemory> memory_;
  std::vector<std::vector<MemoryKeys>> keys_;  ///< [rank][chunk]
};

}  // namespace

Expected<std::unique_ptr<RdmaHeap>> RdmaHeap::create(Cluster& cluster, const RdmaHeapConfig& config) {
  std::unique_ptr<RdmaHeap> heap(new RdmaHeap);
  if (const auto made = Setup(cluster, config, heap->states_, heap->proxies_).run(); !made)
    return made.error();
  return heap;
}

}  // namespace ptxwire::sim
