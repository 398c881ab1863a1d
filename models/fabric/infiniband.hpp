// The InfiniBand fabric between NICs, packet by packet. A packet travels:
//   queue of its virtual lane at the NIC's port (lanes in turn, link rate, needs credit in the switch's input
//   buffer)
//   -> link latency, switch latency -> input buffer (a queue per output: see infiniband_switch.hpp)
//   -> output port (lanes in turn, inputs in turn, link rate, needs credit of the next buffer) -> ...
//   -> link latency -> receive buffer of the NIC it is for.
// A packet alone is there after the time of its bytes on one link, a link latency for each hop and a switch
// latency for each switch. Buffers and credit are per virtual lane; nothing is ever dropped for want of room.
//
// Which of several shortest ways: static routing hashes (from, to, flow) at each switch, so a flow keeps its
// order; adaptive routing takes the output with least waiting, so packets overtake each other.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/base/logical_process.hpp"
#include "models/fabric/infiniband_door.hpp"
#include "models/fabric/infiniband_packet.hpp"
#include "models/fabric/infiniband_port.hpp"
#include "models/fabric/network_topology.hpp"
#include "models/machines/machine.hpp"

namespace ptxwire::models {

/// One direction of one cable after a run.
struct FabricLinkUse {
  uint32_t from = 0, to = 0;  ///< vertices of the network
  uint32_t link = 0;          ///< index in NetworkTopology::links()
  double bytes_per_second = 0;
  FabricPortUse use;  ///< peak_buffer_bytes: of the buffer at `to` behind this link
};

class InfinibandFabric {
 public:
  /// `nic_processes[i]` is NIC i's process (its GPU's may serve), `switch_processes[s]` that of switch s, in
  /// the order of the network's vertices; two switches may share one. The network must outlive this; its
  /// faults are set before. Its `mtu_bytes` and headers must fit the buffers.
  InfinibandFabric(const NetworkTopology& network, const InfinibandParameters& parameters,
                   const std::vector<LogicalProcess*>& nic_processes,
                   const std::vector<LogicalProcess*>& switch_processes);
  ~InfinibandFabric();

  /// Must be called once for each NIC before the first packet.
  void attach(NicId nic, NicPort& port, ReceiveBuffer buffer = ReceiveBuffer::drains_at_once);

  /// Joins the queue of its virtual lane at the port of `packet.from`. Called in the process of that NIC.
  /// What a NIC sends to itself goes through its switch; a NIC that loops back inside keeps it for itself.
  void send(FabricPacket& packet, Picoseconds now);

  /// `wire_bytes` of a packet that arrived have left the receive buffer of `nic`. Called in its process, once
  /// for each packet, by NICs that were attached with ReceiveBuffer::freed_by_port.
  void freed(NicId nic, uint8_t virtual_lane, uint32_t wire_bytes, Picoseconds now);

  /// Smallest latency of a message between two processes: the lookahead of the engine.
  [[nodiscard]] Picoseconds lookahead() const;
  /// Nothing is queued or on its way, and all buffers are empty.
  [[nodiscard]] bool idle() const;
  [[nodiscard]] const NetworkTopology& network() const;

  /// From a NIC into the network, and from its switch to it.
  [[nodiscard]] FabricLinkUse egress_use(NicId nic) const;
  [[nodiscard]] FabricLinkUse ingress_use(NicId nic) const;
  /// Both directions of all cables that are up.
  [[nodiscard]] std::vector<FabricLinkUse> link_uses() const;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace ptxwire::models
