// Internode dispatch, revision D: forwarders and receivers move rows with bulk copies through shared memory,
// senders keep no turns, slots are given back on queue pairs of their own. Launched in clusters of 2 CTAs
// where their number is even; the kernel itself does not depend on it. _2, _4, _8: nodes that a token can go
// to, at most.
#include "internode_dispatch_d_send.cuh"
#include "internode_dispatch_forward.cuh"
#include "internode_dispatch_receive.cuh"

namespace ptxwire {
namespace {

/// Dynamic shared memory per warp that forwards or receives: a slot, then the mbarrier in the last 16 bytes.
constexpr int kStagingBytes = 16384;

/// How a forwarder brings a slot to another GPU: as it is.
struct BulkForward {
  BulkStaging& staging;
  char* ring;
  int slot_bytes;

  __device__ int meta_offset(const RowShape& row) const { return BulkSlot{row}.meta(); }
  __device__ void operator()(const char* slot, RowMeta, int to, int lane) {
    if (lane == 0) {
      staging.load(slot, slot_bytes, kEvictNormal);
      bulk_store(ring + static_cast<int64_t>(to) * slot_bytes, staging.address, slot_bytes, kEvictFirst);
      bulk_store_wait<0>();
    }
    __syncwarp();
  }
};

/// How a receiver takes slots to their final place.
struct BulkReceive {
  BulkStaging& staging;
  const InternodeDispatchOutput& out;
  BulkSlot part;
  const char* ring;
  int slot_bytes, first_expert, local_experts;

  __device__ RowMeta meta(int slot) const { return load_meta(at(slot) + part.meta()); }
  __device__ void operator()(int slot, RowMeta meta, int64_t to, int lane) {
    constexpr PayloadHint kHint = PayloadHint::standard;
    const char* const from = at(slot);
    const RowShape& row = part.row;
    if (lane == 0) {
      bulk_store_wait<0>();  // of the slot before
      staging.load(from, part.row_bytes() + part.scale_bytes(), kEvictFirst);
      bulk_store(out.rows + to * row.row_vectors, staging.address, part.row_bytes(), kEvictNormal);
      if (row.scales > 0)
        bulk_store(out.scales + to * row.scales, staging.address + part.scale_offset(), part.scale_bytes(),
                   kEvictNormal);
      store_payload(out.meta + to, pack_meta(meta));
    }
    if (lane < row.topk) {
      const int expert =
          load_payload<kHint>(reinterpret_cast<const int*>(from + part.idx_offset()) + lane) - first_expert;
      const float weight =
          load_payload<kHint>(reinterpret_cast<const float*>(from + part.weight_offset()) + lane);
      const bool local = expert >= 0 && expert < local_experts;
      store_payload(out.topk_idx + to * row.topk + lane, static_cast<int64_t>(local ? expert : -1));
      store_payload(out.topk_weights + to * row.topk + lane, local ? weight : 0.0f);
    }
    __syncwarp();
  }

 private:
  __device__ const char* at(int slot) const { return ring + static_cast<int64_t>(slot) * slot_bytes; }
};

template <int kMost>
__device__ void dispatch_d(const InternodeComm& comm, const InternodeDispatchInput& in,
                           const InternodeDispatchOutput& out, const InternodeDispatchShape& shape) {
  extern __shared__ __align__(128) char shared_bytes[];
  const ApartPosting post;
  const int channels = static_cast<int>(gridDim.x) / 2, channel = static_cast<int>(blockIdx.x) / 2;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int gpu = (warp + channel) % kGpusPerNode;
  const uint32_t staging_address = shared_address(shared_bytes) + warp % kGpusPerNode * kStagingBytes;
  if (blockIdx.x % 2 == 0) {
    __shared__ ForwarderBoard board;
    if (warp < kGpusPerNode) {
      BulkStaging staging(staging_address, staging_address + kStagingBytes - 16, 1, lane);
      BulkForward forward{staging, bulk_ring(comm, gpu, channel, comm.nvlink.rank), comm.slot_bytes};
      forward_rows(comm, in, out, shape, forward, board, channels, channel, gpu, lane);
    } else if (warp == kGpusPerNode) {
      return_slots(comm, post, shape, board, channel, lane);
    }
  } else {
    __shared__ SenderWindows windows;
    if (warp < kRdmaSenders) {
      send_rows_bulk<kMost>(comm, post, in, out.slot_record, shape, windows, channels, channel, warp, lane);
    } else if (warp == kRdmaSenders) {
      post_rows_bulk(comm, post, in, shape, windows, channels, channel, lane);
    } else {
      BulkStaging staging(staging_address, staging_address + kStagingBytes - 16, 1, lane);
      const int local_experts = shape.experts / (comm.nodes * kGpusPerNode);
      BulkReceive receive{staging,
                          out,
                          BulkSlot{shape.row},
                          bulk_ring(comm, comm.nvlink.rank, channel, gpu),
                          comm.slot_bytes,
                          comm.rank() * local_experts,
                          local_experts};
      receive_rows(comm, in, out, receive, channels, channel, gpu, lane);
      if (lane == 0) bulk_store_wait<0>();
    }
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kInternodeDispatchThreads, 1)
    internode_dispatch_d_2(InternodeComm comm, InternodeDispatchInput in, InternodeDispatchOutput out,
                           InternodeDispatchShape shape) {
  dispatch_d<2>(comm, in, out, shape);
}
extern "C" __global__ void __launch_bounds__(kInternodeDispatchThreads, 1)
    internode_dispatch_d_4(InternodeComm comm, InternodeDispatchInput in, InternodeDispatchOutput out,
                           InternodeDispatchShape shape) {
  dispatch_d<4>(comm, in, out, shape);
}
extern "C" __global__ void __launch_bounds__(kInternodeDispatchThreads, 1)
    internode_dispatch_d_8(InternodeComm comm, InternodeDispatchInput in, InternodeDispatchOutput out,
                           InternodeDispatchShape shape) {
  dispatch_d<8>(comm, in, out, shape);
}

}  // namespace ptxwire
