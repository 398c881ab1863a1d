// What the internode kernels of revision D share: slots whose order suits bulk copies, and the staging of a
// warp in shared memory.
#pragma once

#include "internode_post.cuh"

namespace ptxwire {

/// Where the parts of a slot of revision D lie in it, of both kinds of rings: row and scales in front, so
/// that both are 16-byte aligned; then meta, idx, weights.
struct BulkSlot {
  RowShape row;
  __device__ int row_bytes() const { return row.row_vectors * 16; }
  __device__ int scale_bytes() const { return row.scales * 4; }
  __device__ int scale_offset() const { return row_bytes(); }
  __device__ int meta() const { return scale_offset() + scale_bytes(); }
  __device__ int idx_offset() const { return meta() + 8; }
  __device__ int weight_offset() const { return idx_offset() + row.topk * 4; }
};

/// A piece of shared memory that one warp loads into and stores from, with the mbarrier that its loads
/// complete.
struct BulkStaging {
  uint32_t address, mbarrier, parity;

  /// `arrivals`: lanes that say what they expect. By the whole warp.
  __device__ BulkStaging(uint32_t its_address, uint32_t its_mbarrier, int arrivals, int lane)
      : address(its_address), mbarrier(its_mbarrier), parity(0) {
    if (lane == 0) {
      mbarrier_init(mbarrier, arrivals);
      fence_mbarrier_init();
    }
    __syncwarp();
  }
  /// One thread loads and waits.
  __device__ void load(const void* from, int bytes, uint64_t policy) {
    mbarrier_arrive_expect(mbarrier, bytes);
    bulk_load(address, from, bytes, mbarrier, policy);
    wait();
  }
  __device__ void wait() {
    mbarrier_wait(mbarrier, parity);
    parity ^= 1;
  }
};

/// Start of the slots of the ring of one channel and source GPU over NVLink, at its consumer.
__device__ __forceinline__ char* bulk_ring(const InternodeComm& comm, int consumer, int channel, int source) {
  return at<char>(comm.nvlink.peer[consumer], comm.nvlink.rows) +
         static_cast<int64_t>(channel * kGpusPerNode + source) * comm.nvlink_slots * comm.slot_bytes;
}

}  // namespace ptxwire
