#include "models/fabric/infiniband_switch.hpp"

#include <algorithm>

#include "models/base/spread.hpp"

namespace ptxwire::models {

InfinibandSwitch::InfinibandSwitch(const NetworkTopology& network, uint32_t vertex,
                                   const InfinibandTiming& timing, LogicalProcess& process)
    : vertex_(vertex), timing_(timing), process_(process) {
  const std::vector<NetworkLink>& all = network.links();
  for (uint32_t i = 0; i < all.size(); ++i)
    if (all[i].up && (all[i].a == vertex || all[i].b == vertex)) links_.push_back(i);
  const auto count = static_cast<uint32_t>(links_.size());
  ports_.reserve(count);
  for (const uint32_t link : links_) {
    const double rate = all[link].bytes_per_second;
    fastest_bytes_per_second_ = std::max(fastest_bytes_per_second_, rate);
    ports_.push_back({{timing, process, rate, count}, {timing, process, timing.switch_buffer_bytes}});
  }
  for (uint32_t to = 0; to < network.nics(); ++to) {
    first_way_.push_back(static_cast<uint32_t>(ways_.size()));
    for (const uint32_t link : network.routes().ways(vertex, NicId{to})) ways_.push_back(port_of(link));
  }
  first_way_.push_back(static_cast<uint32_t>(ways_.size()));
}

uint32_t InfinibandSwitch::port_of(uint32_t link) const {
  return static_cast<uint32_t>(std::lower_bound(links_.begin(), links_.end(), link) - links_.begin());
}

FabricPeer InfinibandSwitch::as_peer(uint32_t port) {
  return {.process = &process_,
          .at_packet = &at_packet_,
          .at_credit = &at_credit_,
          .port = port,
          .fastest_bytes_per_second = fastest_bytes_per_second_,
          .buffer_bytes = timing_.switch_buffer_bytes};
}

void InfinibandSwitch::connect(uint32_t port, const FabricPeer& peer) {
  ports_[port].output.connect(peer);
  ports_[port].input.connect(peer);
}

uint32_t InfinibandSwitch::choose_port(const FabricPacket& packet) const {
  const uint32_t first = first_way_[packet.to.value];
  const uint32_t count = first_way_[packet.to.value + 1] - first;
  if (count == 1) return ways_[first];
  // Each switch draws anew, or all packets of a flow would agree on the ways further on.
  const uint32_t ends = golden_hash(uint64_t{packet.from.value} << 32U | packet.to.value);
  const uint32_t hash = golden_hash(uint64_t{ends ^ vertex_} << 32U | packet.flow);
  const auto drawn = static_cast<uint32_t>((uint64_t{hash} * count) >> 32U);
  uint32_t best = ways_[first + drawn];
  if (!packet.adaptive) return best;
  for (uint32_t i = 1; i < count; ++i) {
    const uint32_t port = ways_[first + (drawn + i) % count];
    if (ports_[port].output.backlog_bytes() < ports_[best].output.backlog_bytes()) best = port;
  }
  return best;
}

void InfinibandSwitch::on_packet(Picoseconds now, uint64_t argument) {
  FabricPacket& packet = *reinterpret_cast<FabricPacket*>(argument);
  ports_[packet.input].input.take(packet.virtual_lane % timing_.lanes, credit_bytes(packet.wire_bytes));
  const uint32_t port = choose_port(packet);
  ports_[port].output.push(packet.input, packet);
  start(port, now);
}

void InfinibandSwitch::start(uint32_t port, Picoseconds now) {
  if (ports_[port].output.start(now)) process_.at(ports_[port].output.end(), at_sent_, port);
}

void InfinibandSwitch::on_sent(Picoseconds now, uint64_t port) {
  const FabricOutput::Departure sent = ports_[port].output.finish();
  ports_[sent.input].input.free(sent.lane, credit_bytes(sent.wire_bytes), now);
  start(static_cast<uint32_t>(port), now);
}

void InfinibandSwitch::on_credit(Picoseconds now, uint64_t argument) {
  const FabricCredit credit = FabricCredit::unpack(argument);
  ports_[credit.port].output.add_credit(credit.lane, credit.bytes);
  start(credit.port, now);
}

FabricPortUse InfinibandSwitch::use(uint32_t port) const {
  FabricPortUse use = ports_[port].output.use();
  use.peak_buffer_bytes = ports_[port].input.peak_bytes();
  return use;
}

}  // namespace ptxwire::models
