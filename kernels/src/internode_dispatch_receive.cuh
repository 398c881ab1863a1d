// Internode dispatch, the receiving role: from the rings over NVLink to the final place.
#pragma once

#include "internode_dispatch.cuh"

namespace ptxwire {

/// How a receiver takes the parts of a slot to their final place through registers.
struct RegisterReceive {
  RowShape row;
  DispatchSlots slots;
  const InternodeDispatchOutput& out;

  __device__ RowMeta meta(int slot) const { return load_meta(slots.meta + slot); }
  __device__ void operator()(int slot, RowMeta meta, int64_t to, int lane) const {
    constexpr PayloadHint kHint = PayloadHint::standard;
    warp_copy<5, kHint, CopySource::payload>(lane, row.row_vectors, out.rows + to * row.row_vectors,
                                             slots.rows + static_cast<int64_t>(slot) * row.row_vectors);
    if (lane == 0) store_payload(out.meta + to, pack_meta(meta));
#pragma unroll 1
    for (int i = lane; i < row.scales; i += 32)
      store_payload(out.scales + to * row.scales + i,
                    load_payload<kHint>(slots.scales + static_cast<int64_t>(slot) * row.scales + i));
    if (lane < row.topk) {
      store_payload(out.topk_idx + to * row.topk + lane,
                    static_cast<int64_t>(load_payload<kHint>(slots.idx + slot * row.topk + lane)));
      store_payload(out.topk_weights + to * row.topk + lane,
                    load_payload<kHint>(slots.weights + slot * row.topk + lane));
    }
  }
};

/// The warp that takes what GPU `source` of the node forwards. Lane m looks after what came from node m.
/// `receive(slot, meta, row, lane)` takes a slot of the ring to row `row` of the output.
template <typename Receive>
__device__ void receive_rows(const InternodeComm& comm, const InternodeDispatchInput& in,
                             const InternodeDispatchOutput& out, Receive& receive, int channels, int channel,
                             int source, int lane) {
  const int ring = channel * kGpusPerNode + source;
  const DispatchCounters here(comm, comm.nvlink.rank, channels);
  int* consumed_index =
      DispatchCounters(comm, source, channels).consumed + channel * kGpusPerNode + comm.nvlink.rank;

  int next_row = 0, left = 0;
  if (lane < comm.nodes) {
    int start, end;
    const Deadline deadline;
    while ((start = load_volatile(here.start + ring * comm.nodes + lane)) == 0)
      deadline.check("NVLink receiver, start", comm.rank(), channel, source);
    while ((end = load_volatile(here.end + ring * comm.nodes + lane)) == 0)
      deadline.check("NVLink receiver, end", comm.rank(), channel, source);
    const int rank = lane * kGpusPerNode + source, offset = -start - 1;
    left = start - end;
    next_row = before(in.received_per_rank, rank) + offset;
    out.rank_channel_offsets[rank * channels + channel] = offset;
  }
  left = __reduce_add_sync(kFullWarp, left);

  int consumed = 0;
  RingSlot from(0, comm.nvlink_slots);
  while (left > 0) {
    int produced = 0;
    if (lane == 0) {
      const Deadline deadline;
      while ((produced = load_acquire_sys(here.produced + ring)) == consumed)
        deadline.check("NVLink receiver, rows", comm.rank(), channel, source);
    }
    produced = shuffle(produced, 0);
    left -= produced - consumed;
    for (; consumed < produced; ++consumed, from.next()) {
      const int slot = from.slot();
      const RowMeta meta = receive.meta(slot);
      const int64_t to = shuffle(next_row, meta.node);
      next_row += lane == meta.node;
      receive(slot, meta, to, lane);
    }
    __syncwarp();
    if (lane == 0) store_relaxed_sys(consumed_index, consumed);
  }
}

}  // namespace ptxwire
