// Internode combine, revision D: rows and pieces of rows move with bulk copies through shared memory, and the
// CTA of the forwarders does nothing else. Launched in clusters of 2 CTAs where their number is even; the
// kernel itself does not depend on it. _2, _4, _8: nodes that a token can go to, at most.
//
// F = N max(24/N, 1) forwarders. The even CTA of a channel has 8 warps that send over NVLink, F - 8 that add
// what came over RDMA and one that gives slots over RDMA back; the odd one has the forwarders and one that
// gives slots over NVLink back.
#include "internode_bulk.cuh"
#include "internode_combine_forward.cuh"
#include "internode_combine_receive.cuh"

namespace ptxwire {
namespace {

constexpr int kBulkForwarderWarps = 24;  ///< shared by the nodes, one each at least
constexpr int kBulkCombineThreads = (kBulkForwarderWarps + 1) * 32;

/// A piece of a row, a vector per lane, in shared memory: that of up to 8 GPUs and their sum.
constexpr int kPieceBytes = 512, kPieces = kGpusPerNode + 1, kStages = 2;
/// Dynamic shared memory of a forwarder: its stages, then their mbarriers.
constexpr int kForwarderBytes = kStages * kPieces * kPieceBytes + 32;
/// Of a sender, which has no forwarder beside it: a slot, then the mbarrier.
constexpr int kSenderBytes = kBulkForwarderWarps / kGpusPerNode * kForwarderBytes;

/// The part for one node of the ring of one channel and source GPU over NVLink, at its consumer.
__device__ __forceinline__ char* ring_part(const InternodeComm& comm, int consumer, int channel, int source,
                                           int node) {
  return bulk_ring(comm, consumer, channel, source) +
         static_cast<int64_t>(node) * (comm.nvlink_slots / comm.nodes) * comm.slot_bytes;
}

/// The warp that serves GPU `destination`. Lane m looks after the rows that go on to node m.
__device__ void send_rows_back(const InternodeComm& comm, const InternodeCombineInput& in,
                               const InternodeCombineShape& shape, char* shared, int channels, int channel,
                               int destination, int lane) {
  constexpr PayloadHint kHint = PayloadHint::standard;
  const BulkSlot part{shape.row};
  const uint32_t address = shared_address(shared);
  BulkStaging staging(address, address + kSenderBytes - 32, 1, lane);
  const bool has_node = lane < comm.nodes;
  const int node = has_node ? lane : 0;
  RowRange range{0, 0};
  if (has_node)
    range = channel_rows(in.received_per_rank, in.rank_channel_offsets, lane * kGpusPerNode + destination,
                         channels, channel);
  int* produced_index =
      CombineCounters(comm, destination, channels, channel, comm.nvlink.rank).produced + node;
  const int* consumed_index =
      CombineCounters(comm, comm.nvlink.rank, channels, channel, destination).consumed + node;
  const int slots = comm.nvlink_slots / comm.nodes;
  int produced = 0, consumed = 0, last = comm.nodes - 1;

  while (__any_sync(kFullWarp, range.begin < range.end)) {
    bool ready;
    const Deadline deadline;
    while (true) {
      ready = range.begin < range.end && slots - (produced - consumed) >= shape.nvlink_chunk;
      if (__any_sync(kFullWarp, ready)) break;
      if (range.begin < range.end) consumed = load_volatile(consumed_index);
      deadline.check("NVLink sender", comm.rank(), channel, destination);
    }

    const unsigned nodes = __ballot_sync(kFullWarp, ready);
    const int first = last + 1;
    for (int i = 0; i < comm.nodes; ++i) {
      const int m = (first + i) % comm.nodes;
      if ((nodes >> m & 1) == 0) continue;
      last = m;
      char* const ring = ring_part(comm, destination, channel, comm.nvlink.rank, m);
      const int from = shuffle(range.begin, m);
      const int rows = min(shape.nvlink_chunk, shuffle(range.end, m) - from);
      RingSlot to(shuffle(produced, m), slots);
      for (int row = from; row < from + rows; ++row, to.next()) {
        if (lane == 0) {
          bulk_store_wait<0>();  // of the row before
          staging.load(in.rows + static_cast<int64_t>(row) * part.row.row_vectors, part.row_bytes(),
                       kEvictFirst);
          *reinterpret_cast<int64_t*>(shared + part.meta()) = load_payload<kHint>(in.meta + row);
        }
        if (lane < part.row.topk)
          reinterpret_cast<float*>(shared + part.weight_offset())[lane] =
              load_payload<kHint>(in.topk_weights + static_cast<int64_t>(row) * part.row.topk + lane);
        fence_proxy_async_shared();
        __syncwarp();
        if (lane == 0)
          bulk_store(ring + static_cast<int64_t>(to.slot()) * comm.slot_bytes, address, comm.slot_bytes,
                     kEvictNormal);
        __syncwarp();
      }
      if (lane == m) {
        range.begin += rows;
        produced += rows;
      }
    }
    if (lane == 0) bulk_store_wait<0>();
    __syncwarp();
    if (ready) store_release_sys(produced_index, produced);
  }
}

/// Adds rows piece by piece: while a piece is added the next one is on its way.
class PieceAdder {
 public:
  __device__ PieceAdder(char* shared, int lane)
      : shared_(shared), address_(shared_address(shared)), mbarriers_(address_ + kForwarderBytes - 32) {
    if (lane == 0) {
#pragma unroll
      for (int stage = 0; stage < kStages; ++stage) mbarrier_init(mbarriers_ + 8 * stage, 32);
      fence_mbarrier_init();
    }
    __syncwarp();
  }

  /// The sum, over lanes that have a row in ascending order, goes to `to`. By the whole warp.
  __device__ void operator()(const int4* own_row, bool has_row, int vectors, int4* to, int lane) {
    const unsigned lanes = __ballot_sync(kFullWarp, has_row);
    const int pieces = vectors / 32;
    load(own_row, has_row, 0, lane);
    for (int i = 0; i < pieces; ++i) {
      if (i + 1 < pieces) load(own_row, has_row, i + 1, lane);
      const int stage = next_ % kStages;
      mbarrier_wait(mbarriers_ + 8 * stage, static_cast<uint32_t>(next_ / kStages & 1));
      ++next_;
      const int4* const pieces_here = reinterpret_cast<const int4*>(shared_ + stage * kPieces * kPieceBytes);
      float sum[8] = {};
      for (unsigned left = lanes; left != 0; left &= left - 1)
        accumulate(sum, pieces_here[(__ffs(static_cast<int>(left)) - 1) * 32 + lane]);
      if (lane == 0) bulk_store_wait<kStages - 1>();  // the last one from this stage has left
      __syncwarp();
      reinterpret_cast<int4*>(shared_ + stage * kPieces * kPieceBytes)[kGpusPerNode * 32 + lane] = round(sum);
      fence_proxy_async_shared();
      __syncwarp();
      if (lane == 0)
        bulk_store(to + i * 32, address_ + stage * kPieces * kPieceBytes + kGpusPerNode * kPieceBytes,
                   kPieceBytes, kEvictFirst);
    }
  }
  __device__ static void finish(int lane) {
    if (lane == 0) bulk_store_wait<0>();
    __syncwarp();
  }

 private:
  /// Every lane says what it expects: those without a row nothing.
  __device__ void load(const int4* own_row, bool has_row, int piece, int lane) {
    const int stage = loads_++ % kStages;
    const uint32_t mbarrier = mbarriers_ + 8 * stage;
    mbarrier_arrive_expect(mbarrier, has_row ? kPieceBytes : 0);
    if (has_row)
      bulk_load(address_ + stage * kPieces * kPieceBytes + lane * kPieceBytes, own_row + piece * 32,
                kPieceBytes, mbarrier, kEvictFirst);
  }

  char* shared_;
  uint32_t address_, mbarriers_;
  int loads_ = 0, next_ = 0;
};

/// Warp `warp` of the `warps` that serve node `node`.
__device__ void forward_sums(const InternodeComm& comm, const ApartPosting& post,
                             const InternodeCombineInput& in, const InternodeCombineShape& shape,
                             char* shared, volatile int* released, int channels, int channel, int node,
                             int warp, int warps, int lane) {
  const BulkSlot part{shape.row};
  const bool stays = node == comm.node;
  const RowRange range = channel_rows(in.received_per_node, in.node_channel_offsets, node, channels, channel);
  char* const area = stays ? comm.receive_slots(channel, node) : comm.send_slots(channel, node);
  const int gpu = lane < kGpusPerNode ? lane : 0, part_slots = comm.nvlink_slots / comm.nodes;
  const int* produced_index = CombineCounters(comm, comm.nvlink.rank, channels, channel, gpu).produced + node;
  const char* const ring = ring_part(comm, comm.nvlink.rank, channel, gpu, node);
  PieceAdder add(shared, lane);
  const auto join = [&] {
    if (warps == 1)
      __syncwarp();
    else
      named_barrier(kFirstForwarderBarrier + node, warps * 32);
  };

  int produced = 0;
  for (int first = range.begin; first < range.end; first += shape.rdma_chunk) {
    const int rows = min(shape.rdma_chunk, range.end - first), position = first - range.begin;
    if (warp == 0 && lane == 0) {
      const Deadline deadline;
      while (comm.rdma_slots - (position - static_cast<int>(load_volatile(comm.consumed(channel, node)))) <
             rows)
        deadline.check("combine forwarder, credit", comm.rank(), channel, node);
    }
    join();
    // A whole number of chunks makes a ring: the slots are in one piece.
    char* const slots = area + static_cast<int64_t>(position % comm.rdma_slots) * comm.slot_bytes;
    for (int i = warp; i < rows; i += warps) {
      int record = -1;
      if (lane < kGpusPerNode)
        record = load_payload<PayloadHint::standard>(in.forward_record +
                                                     static_cast<int64_t>(first + i) * kGpusPerNode + lane);
      if (record >= 0) {
        const Deadline deadline;
        while (produced <= record) {
          produced = load_acquire_sys(produced_index);
          deadline.check("combine forwarder, rows", comm.rank(), channel, gpu);
        }
      }
      __syncwarp();
      const char* const from =
          ring + static_cast<int64_t>(record >= 0 ? record % part_slots : 0) * comm.slot_bytes;
      char* const slot = slots + static_cast<int64_t>(i) * comm.slot_bytes;
      add(reinterpret_cast<const int4*>(from), record >= 0, part.row.row_vectors,
          reinterpret_cast<int4*>(slot), lane);
      if (part.row.topk > 0) {
        const Summands<kGpusPerNode> summands(reinterpret_cast<const int4*>(from), record >= 0);
        const float weight =
            summands.weight(reinterpret_cast<const float*>(from + part.weight_offset()), lane, part.row.topk);
        if (lane < part.row.topk)
          store_payload(reinterpret_cast<float*>(slot + part.weight_offset()) + lane, weight);
      }
      __syncwarp();  // all lanes have their values: only now may the slots be reused
      if (lane < kGpusPerNode) released[lane] = released_by(record);
    }
    PieceAdder::finish(lane);
    join();
    if (warp == warps - 1) {
      if (!stays)
        post.put_warp(comm, node, channel, comm.receive_slots(channel, comm.node) + (slots - area), slots,
                      rows * comm.slot_bytes, lane);
      if (lane == 0) {
        if (stays) {
          fence_sys();
          atomic_add_sys(comm.produced(channel, node), static_cast<unsigned long long>(rows));
        } else {
          post.add(comm, node, channel, comm.produced(channel, comm.node), rows);
        }
      }
    }
    __syncwarp();
  }
  if (lane < kGpusPerNode) released[lane] = kWarpRetired;
}

/// Every warp's progress is 0 before anybody looks. By the whole CTA.
template <typename Board>
__device__ void clear_board(Board& board) {
  constexpr int kColumns = sizeof(board.released[0]) / sizeof(int);
  constexpr int kWords = sizeof(board.released) / sizeof(int);
  for (int i = static_cast<int>(threadIdx.x); i < kWords; i += static_cast<int>(blockDim.x))
    board.released[i / kColumns][i % kColumns] = 0;
  __syncthreads();
}

template <int kMost>
__device__ void combine_d(const InternodeComm& comm, const InternodeCombineInput& in,
                          const InternodeCombineOutput& out, const InternodeCombineShape& shape) {
  extern __shared__ __align__(128) char shared_bytes[];
  const ApartPosting post;
  const int channels = static_cast<int>(gridDim.x) / 2, channel = static_cast<int>(blockIdx.x) / 2;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int warps_per_node = max(kBulkForwarderWarps / comm.nodes, 1);
  const int forwarders = comm.nodes * warps_per_node, receivers = forwarders - kGpusPerNode;
  if (blockIdx.x % 2 == 0) {
    __shared__ CombineReceiverBoard board;
    clear_board(board);
    if (warp < kGpusPerNode)
      send_rows_back(comm, in, shape, shared_bytes + warp * kSenderBytes, channels, channel,
                     (warp + channel) % kGpusPerNode, lane);
    else if (warp < forwarders)
      receive_sums<kMost>(comm, in, out, shape, board.released[warp - kGpusPerNode], channels, channel,
                          warp - kGpusPerNode, receivers, lane);
    else
      return_rdma_slots(comm, post, shape, board, channel, receivers, lane);
  } else {
    __shared__ CombineForwarderBoard<kBulkForwarderWarps> board;
    clear_board(board);
    if (warp < forwarders)
      forward_sums(comm, post, in, shape, shared_bytes + warp * kForwarderBytes, board.released[warp],
                   channels, channel, warp / warps_per_node, warp % warps_per_node, warps_per_node, lane);
    else
      return_nvlink_slots(comm, board, channels, channel, warps_per_node, lane);
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kBulkCombineThreads, 1)
    internode_combine_d_2(InternodeComm comm, InternodeCombineInput in, InternodeCombineOutput out,
                          InternodeCombineShape shape) {
  combine_d<2>(comm, in, out, shape);
}
extern "C" __global__ void __launch_bounds__(kBulkCombineThreads, 1)
    internode_combine_d_4(InternodeComm comm, InternodeCombineInput in, InternodeCombineOutput out,
                          InternodeCombineShape shape) {
  combine_d<4>(comm, in, out, shape);
}
extern "C" __global__ void __launch_bounds__(kBulkCombineThreads, 1)
    internode_combine_d_8(InternodeComm comm, InternodeCombineInput in, InternodeCombineOutput out,
                          InternodeCombineShape shape) {
  combine_d<8>(comm, in, out, shape);
}

}  // namespace ptxwire
