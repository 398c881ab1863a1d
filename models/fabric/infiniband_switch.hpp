// One InfiniBand switch: a process of its own. A packet that comes in waits in the buffer of its input port,
// in a queue of its own for each output (virtual output queues), so that one which waits does not hold up
// others for other outputs. Only a buffer that is full does: then the sender gets no credit. Cut through: a
// packet may leave before its tail is in.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/fabric/infiniband_port.hpp"
#include "models/fabric/network_topology.hpp"

namespace ptxwire::models {

class InfinibandSwitch {
 public:
  InfinibandSwitch(const NetworkTopology& network, uint32_t vertex, const InfinibandTiming& timing,
                   LogicalProcess& process);

  /// Cables of this switch that are up, indices of NetworkTopology::links(): port i has links()[i].
  [[nodiscard]] std::span<const uint32_t> links() const { return links_; }
  [[nodiscard]] uint32_t port_of(uint32_t link) const;
  [[nodiscard]] FabricPeer as_peer(uint32_t port);
  void connect(uint32_t port, const FabricPeer& peer);

  [[nodiscard]] FabricPortUse use(uint32_t port) const;
  [[nodiscard]] const FabricOutput& output(uint32_t port) const { return ports_[port].output; }
  [[nodiscard]] const FabricInput& input(uint32_t port) const { return ports_[port].input; }

 private:
  struct Port {
    FabricOutput output;
    FabricInput input;
  };
  void on_packet(Picoseconds now, uint64_t packet);
  void on_sent(Picoseconds now, uint64_t port);
  void on_credit(Picoseconds now, uint64_t credit);
  void start(uint32_t port, Picoseconds now);
  [[nodiscard]] uint32_t choose_port(const FabricPacket& packet) const;

  uint32_t vertex_;
  const InfinibandTiming& timing_;
  LogicalProcess& process_;
  double fastest_bytes_per_second_ = 0;
  std::vector<uint32_t> links_;
  std::vector<Port> ports_;
  std::vector<uint32_t> first_way_;  ///< [NIC], and the end: place in ways_
  std::vector<uint32_t> ways_;       ///< ports
  EventMember<InfinibandSwitch, &InfinibandSwitch::on_packet> at_packet_{*this};
  EventMember<InfinibandSwitch, &InfinibandSwitch::on_sent> at_sent_{*this};
  EventMember<InfinibandSwitch, &InfinibandSwitch::on_credit> at_credit_{*this};
};

}  // namespace ptxwire::models
