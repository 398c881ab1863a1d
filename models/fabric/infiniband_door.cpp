#include "models/fabric/infiniband_door.hpp"

#include <cassert>

namespace ptxwire::models {

InfinibandDoor::InfinibandDoor(const NetworkTopology& network, NicId nic, const InfinibandTiming& timing,
                               LogicalProcess& process)
    : routes_(network.routes()),
      nic_(nic),
      timing_(timing),
      process_(process),
      output_(timing, process, network.links()[network.nic_link(nic)].bytes_per_second, 1),
      input_(timing, process, timing.nic_buffer_bytes) {}

FabricPeer InfinibandDoor::as_peer() {
  return {.process = &process_,
          .at_packet = &at_packet_,
          .at_credit = &at_credit_,
          .is_nic = true,
          .buffer_bytes = timing_.nic_buffer_bytes};
}

void InfinibandDoor::connect(const FabricPeer& peer) {
  output_.connect(peer);
  input_.connect(peer);
}

void InfinibandDoor::attach(NicPort& port, ReceiveBuffer buffer) {
  port_ = &port;
  buffer_ = buffer;
}

void InfinibandDoor::send(FabricPacket& packet, Picoseconds now) {
  assert(packet.from == nic_);
  if (!routes_.reachable(nic_, packet.to)) {
    port_->lost(packet, now);
    return;
  }
  output_.push(0, packet);
  start(now);
}

void InfinibandDoor::start(Picoseconds now) {
  if (output_.start(now)) process_.at(output_.end(), at_sent_, 0);
}

void InfinibandDoor::on_sent(Picoseconds now, uint64_t) {
  const FabricOutput::Departure sent = output_.finish();
  start(now);
  port_->departed(*sent.packet, now);
}

void InfinibandDoor::on_packet(Picoseconds now, uint64_t argument) {
  FabricPacket& packet = *reinterpret_cast<FabricPacket*>(argument);
  const uint8_t lane = packet.virtual_lane;
  const uint32_t wire_bytes = packet.wire_bytes;
  input_.take(lane % timing_.lanes, credit_bytes(wire_bytes));
  port_->arrived(packet, now);
  if (buffer_ == ReceiveBuffer::drains_at_once) freed(lane, wire_bytes, now);
}

void InfinibandDoor::freed(uint8_t virtual_lane, uint32_t wire_bytes, Picoseconds now) {
  input_.free(virtual_lane % timing_.lanes, credit_bytes(wire_bytes), now);
}

void InfinibandDoor::on_credit(Picoseconds now, uint64_t argument) {
  const FabricCredit credit = FabricCredit::unpack(argument);
  output_.add_credit(credit.lane, credit.bytes);
  start(now);
}

FabricPortUse InfinibandDoor::use() const {
  FabricPortUse use = output_.use();
  use.peak_buffer_bytes = input_.peak_bytes();
  return use;
}

}  // namespace ptxwire::models
