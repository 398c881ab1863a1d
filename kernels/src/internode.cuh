// What the internode communication kernels share: who is where, the slots of the two kinds of rings, and
// where everything lies.
//
// Rank = node * 8 + GPU in the node. A row travels by RDMA to the GPU of the same index in another node and
// from there over NVLink, or the other way round; so it crosses a NIC once per node.
//
// Rings over RDMA lie in the symmetric heap, indexed [channel][other node]: a send area that the NIC reads, a
// receive area that it writes. The rings over NVLink lie in the buffer of the GPU that consumes them,
// [channel][source GPU]. Both kinds have S slots, indices that only grow, and slot = index mod S.
#pragma once

#include "comm.cuh"
#include "rdma.cuh"

namespace ptxwire {

inline constexpr int kGpusPerNode = 8;
inline constexpr int kMaxNodes = 32;  ///< one lane each
/// Counts that a sender puts before its rows: 8 starts, 8 ends (per GPU of the node), start and end of the
/// node.
inline constexpr int kRangeInts = 2 * kGpusPerNode + 2;

/// Offsets in bytes from the start of the symmetric heap.
struct RdmaLayout {
  int64_t send, receive;  ///< [C][N][slots][slot_bytes]
  /// Cleared before every call, in one piece: int [C][N][18] twice, u64 [C][N] twice.
  int64_t send_ranges, receive_ranges, consumed, produced;
  int64_t returned;                       ///< u64 [C][N]: consumed indices on their way (revision A)
  int64_t send_counts, receive_counts;    ///< int [N][8 + E/N + 1] (notify)
  int64_t send_barrier, receive_barrier;  ///< u64 [rounds]
};

struct InternodeComm {
  CommBuffers nvlink;  ///< GPUs of the own node; rank is the index in the node
  RdmaState rdma;
  RdmaLayout layout;
  int node, nodes;
  int rdma_slots, slot_bytes;  ///< a slot holds row, 8 bytes of meta, scales, idx, weights
  int nvlink_slots;
  int nvlink_metadata_ints;  ///< cleared before every call

  template <typename T>
  __device__ T* heap(int64_t offset) const {
    return reinterpret_cast<T*>(rdma.heap + offset);
  }
  /// The rank with which this GPU exchanges rows by RDMA.
  __device__ int rank_on(int other_node) const { return other_node * kGpusPerNode + nvlink.rank; }
  __device__ int rank() const { return rank_on(node); }

  __device__ char* send_slots(int channel, int other) const { return slots(layout.send, channel, other); }
  __device__ char* receive_slots(int channel, int other) const {
    return slots(layout.receive, channel, other);
  }
  __device__ int* send_ranges(int channel, int other) const {
    return heap<int>(layout.send_ranges) + (channel * nodes + other) * kRangeInts;
  }
  __device__ int* receive_ranges(int channel, int other) const {
    return heap<int>(layout.receive_ranges) + (channel * nodes + other) * kRangeInts;
  }
  /// Slots of the ring to `other` that it has given back: added to by `other`.
  __device__ unsigned long long* consumed(int channel, int other) const {
    return heap<unsigned long long>(layout.consumed) + channel * nodes + other;
  }
  /// Slots of the ring from `other` that it has filled: added to by `other`.
  __device__ unsigned long long* produced(int channel, int other) const {
    return heap<unsigned long long>(layout.produced) + channel * nodes + other;
  }
  __device__ unsigned long long* returned(int channel, int other) const {
    return heap<unsigned long long>(layout.returned) + channel * nodes + other;
  }

 private:
  __device__ char* slots(int64_t area, int channel, int other) const {
    return rdma.heap + area + static_cast<int64_t>(channel * nodes + other) * rdma_slots * slot_bytes;
  }
};

/// What travels with every row: from which node it came, and to which GPUs of the node at hand it goes
/// (bits).
struct RowMeta {
  int node, gpus;
};
__device__ __forceinline__ int64_t pack_meta(RowMeta meta) {
  return static_cast<int64_t>(static_cast<uint64_t>(static_cast<uint32_t>(meta.gpus)) << 32 |
                              static_cast<uint32_t>(meta.node));
}
__device__ __forceinline__ RowMeta load_meta(const void* address) {
  const auto word =
      static_cast<uint64_t>(load_payload<PayloadHint::standard>(static_cast<const int64_t*>(address)));
  return {static_cast<int>(word), static_cast<int>(word >> 32)};
}

/// Rows of a call, and where the parts of a slot over RDMA lie in it.
struct RowShape {
  int row_vectors, scales, topk;
  __device__ int meta() const { return row_vectors * 16; }
  __device__ int scale_offset() const { return meta() + 8; }
  __device__ int idx_offset() const { return scale_offset() + scales * 4; }
  __device__ int weight_offset() const { return idx_offset() + topk * 4; }
};

/// The slot of an index that only grows, kept without a division per step.
class RingSlot {
 public:
  __device__ RingSlot(int index, int slots) : slots_(slots), slot_(index % slots) {}
  __device__ int slot() const { return slot_; }
  __device__ void next() {
    if (++slot_ == slots_) slot_ = 0;
  }

 private:
  int slots_, slot_;
};

template <typename T>
__device__ __forceinline__ T shuffle(T value, int lane) {
  return __shfl_sync(kFullWarp, value, lane);
}
template <typename T>
__device__ __forceinline__ T* shuffle(T* pointer, int lane) {
  return reinterpret_cast<T*>(__shfl_sync(kFullWarp, reinterpret_cast<unsigned long long>(pointer), lane));
}

/// The first row or token that `prefix` (inclusive sums) puts before entry i.
__device__ __forceinline__ int before(const int* prefix, int i) { return i == 0 ? 0 : prefix[i - 1]; }

}  // namespace ptxwire
