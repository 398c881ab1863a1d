#include "models/fabric/infiniband_port.hpp"

#include <algorithm>
#include <cassert>

namespace ptxwire::models {

FabricOutput::FabricOutput(const InfinibandTiming& timing, LogicalProcess& process, double bytes_per_second,
                           uint32_t inputs)
    : timing_(timing),
      process_(process),
      picoseconds_per_byte_(1e12 / bytes_per_second),
      lanes_(timing.lanes) {
  for (Lane& lane : lanes_) lane.inputs.resize(inputs);
}

void FabricOutput::connect(const FabricPeer& peer) {
  peer_ = peer;
  for (Lane& lane : lanes_) lane.credit = peer.buffer_bytes;
}

void FabricOutput::enlist(Lane& lane, uint32_t input) {
  lane.inputs[input].next_active = kNone;
  (lane.first_active == kNone ? lane.first_active : lane.inputs[lane.last_active].next_active) = input;
  lane.last_active = input;
}

void FabricOutput::push(uint32_t input, FabricPacket& packet) {
  Lane& lane = lanes_[packet.virtual_lane % timing_.lanes];
  backlog_bytes_ += packet.wire_bytes;
  const bool was_empty = lane.inputs[input].queue.empty();
  lane.inputs[input].queue.push(packet);
  if (was_empty) enlist(lane, input);
}

FabricOutput::Lane* FabricOutput::arbitrate() {
  for (uint32_t i = 0; i < timing_.lanes; ++i) {
    Lane& lane = lanes_[(next_lane_ + i) % timing_.lanes];
    if (lane.first_active == kNone) continue;
    const FabricPacket& head = *lane.inputs[lane.first_active].queue.head();
    if (credit_bytes(head.wire_bytes) > lane.credit) continue;
    next_lane_ = (next_lane_ + i + 1) % timing_.lanes;
    return &lane;
  }
  return nullptr;
}

bool FabricOutput::start(Picoseconds now) {
  if (sending_.packet != nullptr) return false;
  Lane* lane = arbitrate();
  if (lane == nullptr) {
    if (backlog_bytes_ != 0) blocked_since_ = min(blocked_since_, now);
    return false;
  }
  if (blocked_since_ != kNever) {
    use_.blocked += now - blocked_since_;
    blocked_since_ = kNever;
  }
  const uint32_t input = lane->first_active;
  Input& from = lane->inputs[input];
  FabricPacket& packet = from.queue.pop();
  lane->first_active = from.next_active;
  if (!from.queue.empty()) enlist(*lane, input);
  const auto duration_on = [&](double picoseconds_per_byte) {
    return Picoseconds{static_cast<int64_t>(packet.wire_bytes * picoseconds_per_byte + 0.5)};
  };
  const Picoseconds duration = duration_on(picoseconds_per_byte_);
  sending_ = {&packet, input, packet.virtual_lane % timing_.lanes, packet.wire_bytes, now + duration};
  lane->credit -= credit_bytes(packet.wire_bytes);
  use_.busy += duration;
  use_.wire_bytes += packet.wire_bytes;
  ++use_.packets;
  packet.input = peer_.port;
  Picoseconds arrival = sending_.end + timing_.link;
  if (!peer_.is_nic) {
    // Cut through: the head goes on at once. From a slower link it is held until the tail cannot come too
    // late for the fastest port.
    const Picoseconds held = max({}, duration - duration_on(1e12 / peer_.fastest_bytes_per_second));
    arrival = now + timing_.link + timing_.through_switch + held;
  }
  process_.send(*peer_.process, arrival, *peer_.at_packet, reinterpret_cast<uint64_t>(&packet));
  return true;
}

FabricOutput::Departure FabricOutput::finish() {
  const Departure departure = sending_;
  backlog_bytes_ -= departure.wire_bytes;
  sending_.packet = nullptr;
  return departure;
}

void FabricInput::take(uint32_t lane, uint32_t bytes) {
  lanes_[lane].occupied += bytes;
  assert(lanes_[lane].occupied <= buffer_bytes_);
  occupied_bytes_ += bytes;
  peak_bytes_ = std::max(peak_bytes_, occupied_bytes_);
}

void FabricInput::free(uint32_t lane_number, uint32_t bytes, Picoseconds now) {
  Lane& lane = lanes_[lane_number];
  lane.occupied -= bytes;
  lane.freed += bytes;
  occupied_bytes_ -= bytes;
  if (lane.freed * kLots < buffer_bytes_) return;
  const FabricCredit credit{sender_.port, lane_number, static_cast<uint32_t>(lane.freed)};
  process_.send(*sender_.process, now + timing_.link, *sender_.at_credit, credit.pack());
  lane.freed = 0;
}

}  // namespace ptxwire::models
