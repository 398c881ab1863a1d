// Which rows of a low-latency run are not stored with `elide`. Kept is what goes to rank 0 in dispatch. In
// combine no sample can be told beforehand: messages of dispatch come in any order, and a sum of kept and
// elided rows would depend on bytes that are not there. Everything that is not a row is kept.
#include "sim/workload/low_latency.hpp"

namespace ptxwire::sim {

bool keeps_received(const Scenario& s, uint32_t rank) { return !s.elide || rank == 0; }

bool keeps_summands(const Scenario& s) { return !s.elide; }

bool LowLatencyRun::keeps_token(uint32_t rank, uint32_t token) const {
  return !scenario_.elide || routing_.selected(rank, token, 0);
}

Expected<void> LowLatencyRun::elide(uint32_t rank) {
  const Scenario& s = scenario_;
  const LowLatencyBuffers& b = buffers_[rank];
  Expected<void> result;
  const auto rows = [&](DeviceAddress address, uint64_t bytes, uint64_t stride, uint64_t count) {
    if (result && count > 0)
      result = cluster_.elide({.address = address, .bytes = bytes, .stride = stride, .count = count});
  };
  const auto whole = [&](DeviceAddress address, uint64_t bytes) {
    if (bytes > 0) rows(address, bytes, bytes, 1);
  };

  const uint64_t places = local_experts() * expert_rows();
  const uint64_t message = dispatch_message_bytes(s), slot = combine_slot_bytes(s);
  const DeviceAddress heap = heap_->heap(rank);
  const uint64_t payload_at = dispatch_payload_offset(s);
  for (uint32_t token = 0; token < s.tokens; ++token) {
    if (keeps_token(rank, token)) continue;
    uint32_t end = token + 1;
    while (end < s.tokens && !keeps_token(rank, end)) ++end;
    rows(heap + layout_.halves[0].send + token * message + payload_at, s.row_bytes(), message, end - token);
    rows(b.rows + token * combine_row_bytes(s), combine_row_bytes(s), combine_row_bytes(s), end - token);
    token = end;
  }
  whole(heap + layout_.halves[1].send, places * slot);
  if (!s.zero_copy) whole(b.summands, places * b.summand_stride);
  whole(heap + layout_.halves[1].receive, places * slot);
  whole(b.combined, s.tokens * combine_row_bytes(s));
  if (keeps_received(s, rank)) return result;
  rows(heap + layout_.halves[0].receive + payload_at, s.row_bytes(), message, places);
  whole(b.received.rows, places * (s.row_bytes() - s.scales() * sizeof(float)));
  whole(b.received.scales, places * s.scales() * sizeof(float));
  return result;
}

}  // namespace ptxwire::sim
