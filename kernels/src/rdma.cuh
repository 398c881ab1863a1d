// Posting RDMA from the GPU: the kernel writes queue entries (mlx5 layout, as in rdma-core's mlx5dv.h) into
// memory and rings the doorbell; the NIC does the rest. Everything in queue entries is big-endian; the keys
// in the tables are kept that way.
#pragma once

#include <cstdint>

#include "ptx.cuh"

namespace ptxwire {

/// Completion queue and queue pair as the publicly documented IBGDA device state lays them out (NVSHMEM 3.4,
/// nvshmem_common_ibgda.h); members that these kernels do not use keep their place.
struct CompletionQueue {
  int version, type;
  uint64_t doorbell_record;
  void* entries;  ///< 64 bytes each; collapsed: the NIC always writes entry 0
  unsigned long long *produced, *consumed, *reserved, *ready;
  unsigned number, entry_count, queue_number, pad;
};

struct QueuePair {
  int version, type;
  unsigned number;  ///< 24 bits, host order
  int device;
  struct {
    unsigned slots, pad;
    void* buffer;
    unsigned local_key, remote_key;  ///< big-endian
  } internal;                        ///< where results go that nobody wants
  struct {
    uint16_t entries;  ///< of the ring, a power of two
    void* ring;
    unsigned* doorbell_record;
    unsigned long long* doorbell;  ///< register of the NIC
    CompletionQueue* completion;
    unsigned long long* produced;
  } send;
  int state_version;
  int post_lock;
  unsigned long long reserved, ready, produced, consumed;  ///< indices of queue entries, never wrapped
  unsigned long long get_head, get_tail, internal_head, internal_tail;
  unsigned long long tail[3];
};
static_assert(sizeof(CompletionQueue) == 72 && sizeof(QueuePair) == 184);

struct MemoryKey {
  unsigned key, pad;  ///< big-endian
  uint64_t end;       ///< of the chunk it covers, in bytes from the start of the heap
};

/// What a rank knows: its queues to every rank and the symmetric heap.
struct RdmaState {
  QueuePair* queues;  ///< [rank][queues_per_rank]
  int queues_per_rank;
  int key_shift;                 ///< a chunk of the heap with one key is 1 << key_shift bytes
  char* heap;                    ///< own
  const uint64_t* remote_heaps;  ///< [rank] start of its heap as the NIC knows it
  const uint64_t* peer_heaps;    ///< [rank] start of its heap where NVLink reaches it, else 0
  const MemoryKey* local_keys;   ///< [chunk]
  const MemoryKey* remote_keys;  ///< [chunk][rank]
  int rank, ranks;
};

__device__ __forceinline__ QueuePair* queue_to(const RdmaState& rdma, int rank, int queue) {
  return rdma.queues + rank * rdma.queues_per_rank + queue % rdma.queues_per_rank;
}
/// `pointer` of the own heap at another rank as an address for loads and stores; null without NVLink.
template <typename T>
__device__ __forceinline__ T* peer_pointer(const RdmaState& rdma, T* pointer, int rank) {
  if (rank == rdma.rank) return pointer;
  const uint64_t base = rdma.peer_heaps[rank];
  if (base == 0) return nullptr;
  return reinterpret_cast<T*>(base + (reinterpret_cast<const char*>(pointer) - rdma.heap));
}

namespace rdma_detail {

__device__ __forceinline__ unsigned big_endian(unsigned v) {
  unsigned r;
  asm("prmt.b32 %0, %1, 0, 0x0123;" : "=r"(r) : "r"(v));
  return r;
}
__device__ __forceinline__ uint64_t big_endian(uint64_t v) {
  return static_cast<uint64_t>(big_endian(static_cast<unsigned>(v))) << 32 |
         big_endian(static_cast<unsigned>(v >> 32));
}

__device__ __forceinline__ void store_entry(void* address, unsigned x, unsigned y, unsigned z, unsigned w) {
  asm volatile("st.relaxed.gpu.global.L1::no_allocate.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(x),
               "r"(y), "r"(z), "r"(w)
               : "memory");
}
__device__ __forceinline__ void store_entry(void* address, unsigned x, unsigned y) {
  asm volatile("st.relaxed.gpu.global.L1::no_allocate.v2.b32 [%0], {%1, %2};" ::"l"(address), "r"(x), "r"(y)
               : "memory");
}

enum : unsigned { kOpWrite = 0x08, kOpMaskedFetchAdd = 0x15 };
/// fm_ce_se byte: a completion for every entry.
inline constexpr unsigned kAlwaysComplete = 0x08;

__device__ __forceinline__ char* entry_at(const QueuePair* queue, unsigned long long index) {
  return static_cast<char*>(queue->send.ring) + (index & (queue->send.entries - 1u)) * 64;
}

__device__ __forceinline__ void store_control(char* entry, const QueuePair* queue, unsigned long long index,
                                              unsigned opcode, unsigned modifier, unsigned segments) {
  store_entry(entry, big_endian(modifier << 24 | static_cast<unsigned>(index & 0xffff) << 8 | opcode),
              big_endian(queue->number << 8 | segments), kAlwaysComplete << 24, 0);
}
__device__ __forceinline__ void store_remote(char* segment, uint64_t address, unsigned key) {
  const uint64_t swapped = big_endian(address);
  store_entry(segment, static_cast<unsigned>(swapped), static_cast<unsigned>(swapped >> 32), key, 0);
}
__device__ __forceinline__ void store_data(char* segment, unsigned bytes, unsigned key, uint64_t address) {
  const uint64_t swapped = big_endian(address);
  store_entry(segment, big_endian(bytes), key, static_cast<unsigned>(swapped),
              static_cast<unsigned>(swapped >> 32));
}

__device__ __forceinline__ unsigned long long load_ready(const unsigned long long* address) {
  unsigned long long v;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(v) : "l"(address) : "memory");
  return v;
}

/// Tells the NIC of entries up to `end`, unless somebody has told it more.
__device__ __forceinline__ void ring_doorbell(QueuePair* queue, unsigned long long end) {
  while (atomicCAS(&queue->post_lock, 0, 1) != 0) {
  }
  asm volatile("fence.acq_rel.cta;" ::: "memory");
  const unsigned long long before = atomicMax(queue->send.produced, end);
  if (end > before) {
    const unsigned index = static_cast<unsigned>(end) & 0xffff;
    asm volatile("st.release.gpu.global.L1::no_allocate.b32 [%0], %1;" ::"l"(queue->send.doorbell_record),
                 "r"(big_endian(index))
                 : "memory");
    const uint64_t value =
        static_cast<uint64_t>(big_endian(queue->number << 8)) << 32 | big_endian(index << 8);
    asm volatile("st.release.gpu.global.L1::no_allocate.b64 [%0], %1;" ::"l"(queue->send.doorbell), "l"(value)
                 : "memory");
  }
  asm volatile("fence.acq_rel.cta;" ::: "memory");
  asm volatile("st.relaxed.gpu.global.L1::no_allocate.b32 [%0], 0;" ::"l"(&queue->post_lock) : "memory");
}

/// The entries [begin, end) are written: they become ready in order. With `ring` the NIC is told.
__device__ __forceinline__ void submit(QueuePair* queue, unsigned long long begin, unsigned long long end,
                                       bool ring) {
  __threadfence();
  while (atomicCAS(&queue->ready, begin, end) != begin) {
  }
  if (ring) ring_doorbell(queue, end);
}

}  // namespace rdma_detail

/// A warp writes `bytes` from `source` to the place of `destination` (an address of the own heap) in the heap
/// of `rank`. `source` lies in the heap and is complete before the call (of all lanes). Without `ring` the
/// NIC learns of it with a later entry of the same queue.
__device__ __forceinline__ void rdma_put_warp(const RdmaState& rdma, int rank, int queue_index,
                                              void* destination, const void* source, int bytes, int lane,
                                              bool ring) {
  using namespace rdma_detail;
  QueuePair* queue = queue_to(rdma, rank, queue_index);
  int64_t to = static_cast<const char*>(destination) - rdma.heap;
  int64_t from = static_cast<const char*>(source) - rdma.heap;
  unsigned own_bytes = 0, local_key = 0, remote_key = 0;
  int64_t own_from = 0, own_to = 0;
  int entries = 0;
  // One entry, or one more for every boundary of a chunk that is crossed on either side.
  for (int left = bytes; left > 0; ++entries) {
    if (lane == entries) {
      const MemoryKey& local = rdma.local_keys[from >> rdma.key_shift];
      const MemoryKey& remote = rdma.remote_keys[(to >> rdma.key_shift) * rdma.ranks + rank];
      local_key = local.key;
      remote_key = remote.key;
      own_bytes =
          static_cast<unsigned>(min(static_cast<int64_t>(left), min(static_cast<int64_t>(local.end) - from,
                                                                    static_cast<int64_t>(remote.end) - to)));
      own_from = from;
      own_to = to;
    }
    const int step = static_cast<int>(__shfl_sync(0xffffffffu, own_bytes, entries));
    left -= step;
    from += step;
    to += step;
  }
  unsigned long long begin = 0;
  if (lane == 0) begin = atomicAdd(&queue->reserved, static_cast<unsigned long long>(entries));
  begin = __shfl_sync(0xffffffffu, begin, 0);
  if (lane < entries) {
    char* entry = entry_at(queue, begin + lane);
    store_control(entry, queue, begin + lane, kOpWrite, 0, 3);
    store_remote(entry + 16, rdma.remote_heaps[rank] + own_to, remote_key);
    store_data(entry + 32, own_bytes, local_key, reinterpret_cast<uint64_t>(rdma.heap) + own_from);
  }
  __syncwarp();
  if (lane == 0) submit(queue, begin, begin + entries, ring);
  __syncwarp();
}

/// One thread writes `bytes` (at most one chunk of the heap), as rdma_put_warp.
__device__ __forceinline__ void rdma_put_thread(const RdmaState& rdma, int rank, int queue_index,
                                                void* destination, const void* source, int bytes, bool ring) {
  using namespace rdma_detail;
  QueuePair* queue = queue_to(rdma, rank, queue_index);
  const int64_t to = static_cast<const char*>(destination) - rdma.heap;
  const int64_t from = static_cast<const char*>(source) - rdma.heap;
  const unsigned long long index = atomicAdd(&queue->reserved, 1ull);
  char* entry = entry_at(queue, index);
  store_control(entry, queue, index, kOpWrite, 0, 3);
  store_remote(entry + 16, rdma.remote_heaps[rank] + to,
               rdma.remote_keys[(to >> rdma.key_shift) * rdma.ranks + rank].key);
  store_data(entry + 32, static_cast<unsigned>(bytes), rdma.local_keys[from >> rdma.key_shift].key,
             reinterpret_cast<uint64_t>(rdma.heap) + from);
  submit(queue, index, index + 1, ring);
}

/// One thread writes 4 bytes, which travel inside the queue entry.
__device__ __forceinline__ void rdma_put_inline(const RdmaState& rdma, int rank, int queue_index,
                                                int* destination, int value) {
  using namespace rdma_detail;
  QueuePair* queue = queue_to(rdma, rank, queue_index);
  const int64_t to = reinterpret_cast<const char*>(destination) - rdma.heap;
  const unsigned long long index = atomicAdd(&queue->reserved, 1ull);
  char* entry = entry_at(queue, index);
  store_control(entry, queue, index, kOpWrite, 0, 3);
  store_remote(entry + 16, rdma.remote_heaps[rank] + to,
               rdma.remote_keys[(to >> rdma.key_shift) * rdma.ranks + rank].key);
  store_entry(entry + 32, big_endian(0x80000000u | 4u), static_cast<unsigned>(value));
  submit(queue, index, index + 1, true);
}

/// One thread adds to a 32-bit word of another rank (masked fetch-and-add, 4 bytes, no field boundary). What
/// the same queue was given before is in place when it happens. The word must not be in the own heap.
__device__ __forceinline__ void rdma_add(const RdmaState& rdma, int rank, int queue_index, void* destination,
                                         int value) {
  using namespace rdma_detail;
  QueuePair* queue = queue_to(rdma, rank, queue_index);
  const int64_t to = static_cast<const char*>(destination) - rdma.heap;
  const unsigned long long index = atomicAdd(&queue->reserved, 1ull);
  char* entry = entry_at(queue, index);
  store_control(entry, queue, index, kOpMaskedFetchAdd, 0x08, 4);
  store_remote(entry + 16, rdma.remote_heaps[rank] + to,
               rdma.remote_keys[(to >> rdma.key_shift) * rdma.ranks + rank].key);
  store_entry(entry + 32, big_endian(static_cast<unsigned>(value)), 0, 0, 0);
  store_data(entry + 48, 4, queue->internal.local_key, reinterpret_cast<uint64_t>(queue->internal.buffer));
  submit(queue, index, index + 1, true);
}

/// One thread waits until everything made ready in the queue is complete. Of several threads that wait for
/// one queue at once one may see too early an end.
__device__ __forceinline__ void rdma_quiet(const RdmaState& rdma, int rank, int queue_index) {
  using namespace rdma_detail;
  QueuePair* queue = queue_to(rdma, rank, queue_index);
  const unsigned long long end = load_ready(&queue->ready);
  const CompletionQueue* completion = queue->send.completion;
  const auto* counter = reinterpret_cast<const uint16_t*>(static_cast<const char*>(completion->entries) + 60);
  unsigned counter_be;
  uint16_t done, word;
  // The counter names the first entry of the last completed one; 0xffff before the first.
  do {
    asm volatile("ld.relaxed.gpu.global.L1::no_allocate.b16 %0, [%1];"
                 : "=h"(word)
                 : "l"(counter)
                 : "memory");
    counter_be = word;
    done = static_cast<uint16_t>(counter_be >> 8 | counter_be << 8);
  } while (static_cast<uint16_t>(static_cast<uint16_t>(end) - done - 2) < completion->entry_count);
  *completion->consumed = end;
  asm volatile("" ::: "memory");
}

}  // namespace ptxwire
