// Which rows of an internode run are not stored. The tokens of channel 0 stay real on all their way: in the
// inputs, in the rings of that channel, in the outputs. Everything that is not a row stays real for all
// tokens.
#include <algorithm>

#include "sim/workload/handle.hpp"
#include "sim/workload/internode.hpp"

namespace ptxwire::sim {

uint32_t real_tokens(const Scenario& s) {
  const uint32_t share = s.channels() == 0 ? s.tokens : (s.tokens + s.channels() - 1) / s.channels();
  return s.elide ? std::min(share, s.tokens) : s.tokens;
}

Expected<void> InternodeCluster::elide(uint32_t rank) {
  const Scenario& s = scenario();
  const InternodeBuffers& b = buffers_[rank];
  const uint64_t payload = row_payload_bytes(s), real = real_tokens(s);
  const uint64_t nodes = node_count(s), other_channels = s.channels() - 1;
  Expected<void> result;
  const auto rows = [&](DeviceAddress address, uint64_t stride, uint64_t count) {
    if (result)
      result = cluster().elide({.address = address, .bytes = payload, .stride = stride, .count = count});
  };
  // Rings are indexed by channel first.
  const uint64_t heap_ring = nodes * layout_.rdma_slots;
  for (const int64_t area : {layout_.heap.send, layout_.heap.receive})
    rows(heap_->heap(rank) + static_cast<uint64_t>(area) + heap_ring * layout_.slot_bytes, layout_.slot_bytes,
         other_channels * heap_ring);
  const uint64_t nvlink_ring = uint64_t{kGpusPerNode} * s.nvlink_slots, stride = layout_.nvlink_row_stride;
  rows(b.comm + static_cast<uint64_t>(layout_.nvlink.rows) + nvlink_ring * stride, stride,
       other_channels * nvlink_ring);
  // Rows of all ranks by source, then by token.
  const auto received = [&](DeviceAddress address) {
    uint64_t row = 0;
    for (uint32_t source = 0; source < s.ranks; ++source) {
      uint64_t kept = 0;
      for (uint32_t token = 0; token < real; ++token) kept += routing().selected(source, token, rank) ? 1 : 0;
      const uint64_t all = routing().count(source, rank);
      rows(address + (row + kept) * payload, payload, all - kept);
      row += all;
    }
  };
  const auto own = [&](DeviceAddress address) { rows(address + real * payload, payload, s.tokens - real); };
  if (is_dispatch(s)) {
    own(b.input_rows);
    received(b.output_rows);
  } else {
    received(b.input_rows);
    own(b.output_rows);
  }
  return result;
}

}  // namespace ptxwire::sim
