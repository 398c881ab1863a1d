#include "models/fabric/infiniband.hpp"

#include <algorithm>
#include <cassert>

#include "models/fabric/infiniband_switch.hpp"

namespace ptxwire::models {

struct InfinibandFabric::Implementation {
  Implementation(const NetworkTopology& its_network, const InfinibandParameters& parameters,
                 const std::vector<LogicalProcess*>& nic_processes,
                 const std::vector<LogicalProcess*>& switch_processes)
      : network(its_network), timing(parameters) {
    assert(nic_processes.size() == network.nics() && switch_processes.size() == network.switches());
    for (uint32_t nic = 0; nic < network.nics(); ++nic)
      doors.push_back(std::make_unique<InfinibandDoor>(network, NicId{nic}, timing, *nic_processes[nic]));
    for (uint32_t i = 0; i < network.switches(); ++i)
      switches.push_back(
          std::make_unique<InfinibandSwitch>(network, network.nics() + i, timing, *switch_processes[i]));
    for (uint32_t link = 0; link < network.links().size(); ++link) {
      const auto [a, b, number, rate, up] = network.links()[link];
      if (!up) continue;
      connect(a, link, as_peer(b, link));
      connect(b, link, as_peer(a, link));
    }
  }

  [[nodiscard]] InfinibandSwitch& switch_at(uint32_t vertex) const {
    return *switches[vertex - network.nics()];
  }

  [[nodiscard]] FabricPeer as_peer(uint32_t vertex, uint32_t link) const {
    if (!network.is_switch(vertex)) return doors[vertex]->as_peer();
    return switch_at(vertex).as_peer(switch_at(vertex).port_of(link));
  }

  void connect(uint32_t vertex, uint32_t link, const FabricPeer& peer) const {
    if (!network.is_switch(vertex)) return doors[vertex]->connect(peer);
    switch_at(vertex).connect(switch_at(vertex).port_of(link), peer);
  }

  [[nodiscard]] const FabricOutput& output(uint32_t vertex, uint32_t link) const {
    if (!network.is_switch(vertex)) return doors[vertex]->output();
    return switch_at(vertex).output(switch_at(vertex).port_of(link));
  }

  [[nodiscard]] const FabricInput& input(uint32_t vertex, uint32_t link) const {
    if (!network.is_switch(vertex)) return doors[vertex]->input();
    return switch_at(vertex).input(switch_at(vertex).port_of(link));
  }

  /// Of the direction that leaves `from`.
  [[nodiscard]] FabricLinkUse use(uint32_t from, uint32_t link) const {
    const NetworkLink& cable = network.links()[link];
    FabricLinkUse result{from, cable.other_end(from), link, cable.bytes_per_second, {}};
    if (!cable.up) return result;
    result.use = output(from, link).use();
    result.use.peak_buffer_bytes = input(result.to, link).peak_bytes();
    return result;
  }

  /// No credit of this direction is out, which a packet anywhere would hold.
  [[nodiscard]] bool idle(uint32_t from, uint32_t link) const {
    const FabricOutput& sender = output(from, link);
    const FabricInput& receiver = input(network.links()[link].other_end(from), link);
    if (sender.backlog_bytes() != 0) return false;
    for (uint32_t lane = 0; lane < timing.lanes; ++lane)
      if (sender.credit(lane) + receiver.withheld(lane) != sender.peer().buffer_bytes) return false;
    return true;
  }

  const NetworkTopology& network;
  InfinibandTiming timing;
  std::vector<std::unique_ptr<InfinibandDoor>> doors;       // [NIC]
  std::vector<std::unique_ptr<InfinibandSwitch>> switches;  // [vertex - NICs]
};

InfinibandFabric::InfinibandFabric(const NetworkTopology& network, const InfinibandParameters& parameters,
                                   const std::vector<LogicalProcess*>& nic_processes,
                                   const std::vector<LogicalProcess*>& switch_processes)
    : implementation_(
          std::make_unique<Implementation>(network, parameters, nic_processes, switch_processes)) {}
InfinibandFabric::~InfinibandFabric() = default;

void InfinibandFabric::attach(NicId nic, NicPort& port, ReceiveBuffer buffer) {
  implementation_->doors[nic.value]->attach(port, buffer);
}

void InfinibandFabric::send(FabricPacket& packet, Picoseconds now) {
  implementation_->doors[packet.from.value]->send(packet, now);
}

void InfinibandFabric::freed(NicId nic, uint8_t virtual_lane, uint32_t wire_bytes, Picoseconds now) {
  implementation_->doors[nic.value]->freed(virtual_lane, wire_bytes, now);
}

Picoseconds InfinibandFabric::lookahead() const { return implementation_->timing.link; }
const NetworkTopology& InfinibandFabric::network() const { return implementation_->network; }

bool InfinibandFabric::idle() const {
  const std::vector<NetworkLink>& links = implementation_->network.links();
  for (uint32_t i = 0; i < links.size(); ++i)
    if (links[i].up && (!implementation_->idle(links[i].a, i) || !implementation_->idle(links[i].b, i)))
      return false;
  return true;
}

FabricLinkUse InfinibandFabric::egress_use(NicId nic) const {
  return implementation_->use(nic.value, implementation_->network.nic_link(nic));
}

FabricLinkUse InfinibandFabric::ingress_use(NicId nic) const {
  const uint32_t link = implementation_->network.nic_link(nic);
  return implementation_->use(implementation_->network.links()[link].other_end(nic.value), link);
}

std::vector<FabricLinkUse> InfinibandFabric::link_uses() const {
  std::vector<FabricLinkUse> uses;
  const std::vector<NetworkLink>& links = implementation_->network.links();
  for (uint32_t i = 0; i < links.size(); ++i) {
    if (!links[i].up) continue;
    uses.push_back(implementation_->use(links[i].a, i));
    uses.push_back(implementation_->use(links[i].b, i));
  }
  return uses;
}

}  // namespace ptxwire::models
