// A NIC's end of the InfiniBand fabric: the queue of each virtual lane before its port, and its receive
// buffer.
#pragma once

#include <cstdint>

#include "models/fabric/infiniband_port.hpp"
#include "models/fabric/network_topology.hpp"

namespace ptxwire::models {

/// When what arrived leaves a NIC's receive buffer and the sender gets its credit back.
enum class ReceiveBuffer : uint8_t {
  drains_at_once,  ///< as it arrives: the NIC is never slower than its link
  freed_by_port,   ///< when the NIC says so, InfinibandFabric::freed()
};

class InfinibandDoor {
 public:
  InfinibandDoor(const NetworkTopology& network, NicId nic, const InfinibandTiming& timing,
                 LogicalProcess& process);

  [[nodiscard]] FabricPeer as_peer();
  void connect(const FabricPeer& peer);
  void attach(NicPort& port, ReceiveBuffer buffer);
  void send(FabricPacket& packet, Picoseconds now);
  void freed(uint8_t virtual_lane, uint32_t wire_bytes, Picoseconds now);

  [[nodiscard]] FabricPortUse use() const;
  [[nodiscard]] const FabricOutput& output() const { return output_; }
  [[nodiscard]] const FabricInput& input() const { return input_; }

 private:
  void on_packet(Picoseconds now, uint64_t packet);
  void on_sent(Picoseconds now, uint64_t);
  void on_credit(Picoseconds now, uint64_t credit);
  void start(Picoseconds now);

  const NetworkRoutes& routes_;
  NicId nic_;
  const InfinibandTiming& timing_;
  LogicalProcess& process_;
  NicPort* port_ = nullptr;
  ReceiveBuffer buffer_ = ReceiveBuffer::drains_at_once;
  FabricOutput output_;
  FabricInput input_;
  EventMember<InfinibandDoor, &InfinibandDoor::on_packet> at_packet_{*this};
  EventMember<InfinibandDoor, &InfinibandDoor::on_sent> at_sent_{*this};
  EventMember<InfinibandDoor, &InfinibandDoor::on_credit> at_credit_{*this};
};

}  // namespace ptxwire::models
