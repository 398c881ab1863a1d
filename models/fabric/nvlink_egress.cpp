#include "models/fabric/nvlink_egress.hpp"

#include <algorithm>

#include "models/fabric/switch_plane.hpp"
#include "models/gpu/memory_system.hpp"

namespace ptxwire::models {

NvlinkEgress::NvlinkEgress(const NvlinkParameters& nvlink, const NvlinkTiming& timing,
                           LogicalProcess& process)
    : timing_(timing), process_(process), links_(nvlink.links_per_gpu) {
  for (Link& link : links_) link.credit_bytes = timing.input_buffer_bytes;
}

// --- from the ports of the SMs to the queues of the links
// -----------------------------------------------------------------------------------------------------------

void NvlinkEgress::send_request(NvlinkPiece& piece, SmId sm, Picoseconds arrival) {
  if (ports_.size() <= sm.value) ports_.resize(sm.value + 1);
  PieceQueue& port = ports_[sm.value];
  const bool first = port.empty();
  piece.ready = arrival;
  port.push(&piece);
  if (first) drain_port(sm, arrival);
}

void NvlinkEgress::drain_port(SmId sm, Picoseconds now) {
  PieceQueue& port = ports_[sm.value];
  while (NvlinkPiece* piece = port.head()) {
    Link& link = links_[piece->link];
    const Picoseconds arrival = max(now, piece->ready);
    // Who finds others waiting waits too, or the round would never be fair.
    if (!link.waiting.empty() || !has_room(link, *piece, arrival)) {
      link.waiting.push_back(sm);
      wake_when_room(link, arrival);
      return;
    }
    port.pop();
    enqueue(*piece, arrival);
  }
}

void NvlinkEgress::on_room(Picoseconds now, uint64_t index) {
  Link& link = links_[index];
  link.wake_scheduled = false;
  while (!link.waiting.empty()) {
    const SmId sm = link.waiting.front();
    NvlinkPiece& piece = *ports_[sm.value].head();
    if (!has_room(link, piece, now)) break;
    link.waiting.pop_front();
    ports_[sm.value].pop();
    enqueue(piece, max(now, piece.ready));
    drain_port(sm, now);
  }
  wake_when_room(link, now);
}

bool NvlinkEgress::has_room(const Link& link, const NvlinkPiece& piece, Picoseconds now) const {
  // What has been started still lies here as far as it is not on the link yet. One piece always fits.
  const Picoseconds held = max({}, link.server.free_at() - now) + timing_.transfer(link.queued_bytes);
  return held.value == 0 || held + timing_.transfer(piece.wire_bytes) <= timing_.egress_buffer;
}

void NvlinkEgress::wake_when_room(Link& link, Picoseconds now) {
  if (link.waiting.empty() || link.wake_scheduled) return;
  const NvlinkPiece& first = *ports_[link.waiting.front().value].head();
  const Picoseconds room =
      timing_.egress_buffer - timing_.transfer(link.queued_bytes + int64_t{first.wire_bytes});
  // Without credit the link does not drain; then credit brings us here again.
  if (room.value < 0 && link.queued_bytes != 0) return;
  link.wake_scheduled = true;
  process_.at(max(now, link.server.free_at() - max({}, room)), at_room_,
              static_cast<uint64_t>(&link - links_.data()));
}

// --- from the queues onto the links
// -----------------------------------------------------------------------------------------------------------

void NvlinkEgress::enqueue(NvlinkPiece& piece, Picoseconds arrival) {
  Link& link = links_[piece.link];
  piece.ready = arrival;
  if (link.queue.empty() && has_credit(link, piece)) {
    transmit(link, piece, arrival);
  } else {
    link.queue.push(&piece);
    link.queued_bytes += piece.wire_bytes;
  }
}

bool NvlinkEgress::has_credit(const Link& link, const NvlinkPiece& piece) const {
  // A piece larger than the buffer goes through it alone, packet by packet.
  return link.credit_bytes >= piece.wire_bytes || link.credit_bytes == timing_.input_buffer_bytes;
}

/// A link serves its queue in order and its pieces need nothing but credit, so the start is known as soon as
/// there is credit: no event for the link becoming free.
void NvlinkEgress::transmit(Link& link, NvlinkPiece& piece, Picoseconds now) {
  link.credit_bytes -= piece.wire_bytes;
  claim(link, now, piece.wire_bytes, piece.payload_bytes);
  // Cut-through: the switch may pass on the first packet while the last is still on the link. It cannot run
  // dry, since all links have one rate.
  const Picoseconds start = link.server.free_at() - timing_.transfer(piece.wire_bytes);
  const Picoseconds arrival =
      start + timing_.transfer(piece.first_packet_bytes) + timing_.link + timing_.through_switch;
  process_.send(link.plane->process(), arrival, link.plane->at_input(), reinterpret_cast<uint64_t>(&piece));
}

void NvlinkEgress::claim(Link& link, Picoseconds now, uint32_t wire_bytes, uint32_t payload_bytes) {
  const Picoseconds duration = timing_.transfer(wire_bytes);
  link.server.claim(now, duration);
  link.use.carry(duration, wire_bytes, payload_bytes);
  counters_->nvlink_sent_wire_bytes += wire_bytes;
  counters_->nvlink_sent_payload_bytes += payload_bytes;
}

void NvlinkEgress::on_credit(Picoseconds now, uint64_t packed) {
  Link& link = links_[packed >> 32U];
  link.credit_bytes += static_cast<int64_t>(packed & 0xffffffffU);
  while (!link.queue.empty() && has_credit(link, *link.queue.head())) {
    NvlinkPiece& piece = *link.queue.pop();
    link.queued_bytes -= piece.wire_bytes;
    const Picoseconds could_start = max(piece.ready, link.server.free_at());
    if (could_start < now) link.use.blocked += now - could_start;
    transmit(link, piece, max(now, piece.ready));
  }
  wake_when_room(link, now);
}

bool NvlinkEgress::idle() const {
  return std::all_of(links_.begin(), links_.end(), [&](const Link& link) {
    return link.queue.empty() && link.waiting.empty() && link.credit_bytes == timing_.input_buffer_bytes;
  });
}

}  // namespace ptxwire::models
