// Internode combine: the role that sends rows back over NVLink to the GPUs that forwarded them.
#pragma once

#include "internode_combine.cuh"

namespace ptxwire {

/// The warp that serves GPU `destination`. Lane m looks after the rows that go on to node m.
__device__ inline void send_rows_back(const InternodeComm& comm, const InternodeCombineInput& in,
                                      const InternodeCombineShape& shape, int channels, int channel,
                                      int destination, int lane) {
  constexpr PayloadHint kHint = PayloadHint::standard;
  const RowShape& row = shape.row;
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
  int produced = 0, consumed = 0;

  while (__any_sync(kFullWarp, range.begin < range.end)) {
    bool ready;
    const Deadline deadline;
    while (true) {
      ready = range.begin < range.end && slots - (produced - consumed) >= shape.nvlink_chunk;
      if (__any_sync(kFullWarp, ready)) break;
      if (range.begin < range.end) consumed = load_volatile(consumed_index);
      deadline.check("NVLink sender", comm.rank(), channel, destination);
    }

    unsigned nodes = __ballot_sync(kFullWarp, ready);
    for (; nodes != 0; nodes &= nodes - 1) {
      const int m = __ffs(static_cast<int>(nodes)) - 1;
      const CombineSlots ring(comm, row, destination, channel, comm.nvlink.rank, m);
      const int from = shuffle(range.begin, m);
      const int rows = min(shape.nvlink_chunk, shuffle(range.end, m) - from);
      RingSlot to(shuffle(produced, m), slots);
      for (int i = from; i < from + rows; ++i, to.next()) {
        warp_copy<5, kHint, CopySource::payload>(
            lane, row.row_vectors, ring.rows + static_cast<int64_t>(to.slot()) * row.row_vectors,
            in.rows + static_cast<int64_t>(i) * row.row_vectors);
        if (lane == 0) store_payload(ring.meta + to.slot(), load_payload<kHint>(in.meta + i));
        if (lane < row.topk)
          store_payload(ring.weights + to.slot() * row.topk + lane,
                        load_payload<kHint>(in.topk_weights + static_cast<int64_t>(i) * row.topk + lane));
      }
      if (lane == m) {
        range.begin += rows;
        produced += rows;
      }
    }
    __syncwarp();
    if (ready) store_release_sys(produced_index, produced);
  }
}

}  // namespace ptxwire
