#include "sim/nic/host_proxy.hpp"

#include <algorithm>
#include <cstring>

#include "sim/memory/address_map.hpp"
#include "sim/nic/queue_entry.hpp"

namespace ptxwire::sim {

using models::Picoseconds;

namespace {

/// kernels/src/proxy.cuh.
enum class Request : uint8_t { put = 1, add = 2, quiet = 3 };

}  // namespace

HostProxy::HostProxy(const models::HostParameters& host, const HostProxyConfig& config, DeviceGroup& group,
                     Device& device, NicDevice& nic)
    : request_time_(models::nanoseconds(host.proxy_request_ns)),
      poll_time_(models::nanoseconds(host.proxy_poll_ns)),
      doorbell_latency_(models::nanoseconds(host.pcie_latency_ns)),
      config_(config),
      group_(group),
      device_(device),
      nic_(nic) {
  for (const HostProxyConfig::Peer& peer : config.peers) peers_.push_back({peer, 0});
  device.tell_of_writes(config.ring, uint64_t{config.entries} * kRequestBytes, *this);
}

uint8_t* HostProxy::memory(uint64_t address, uint64_t bytes) const {
  const MemorySpace* space = group_.space(home_of(address));
  return space == nullptr ? nullptr : space->resolve(address, bytes);
}

void HostProxy::written(uint64_t, uint64_t, Picoseconds now) {
  if (!busy_) look(now);
}

/// Every word carries the number of the lap in its low byte, so a request is there when all four have come.
bool HostProxy::next_request(Words& words) const {
  const uint64_t slot = done_ & (config_.entries - 1);
  const uint8_t* from = memory(config_.ring + slot * kRequestBytes, kRequestBytes);
  if (from == nullptr) return false;
  std::memcpy(words.data(), from, kRequestBytes);
  const auto phase = static_cast<uint8_t>(done_ / config_.entries + 1);
  return std::all_of(words.begin(), words.end(),
                     [phase](uint64_t word) { return static_cast<uint8_t>(word) == phase; });
}

void HostProxy::look(Picoseconds now) {
  Words words;
  busy_ = next_request(words);
  if (busy_) device_.process().at(now + poll_time_ + request_time_, at_served_, 0);
}

void HostProxy::on_served(Picoseconds now, uint64_t) {
  Words words;
  static_cast<void>(next_request(words));
  for (uint64_t& word : words) word >>= 8U;
  if (static_cast<Request>(words[0] & 0xffU) == Request::quiet) {
    if (!everything_complete()) {
      device_.process().at(now + poll_time_, at_served_, 0);
      return;
    }
  } else {
    post(words, now);
  }
  finish_request(now);
  look(now);
}

void HostProxy::finish_request(Picoseconds now) {
  ++done_;
  if (uint8_t* counter = memory(config_.completed, sizeof done_)) std::memcpy(counter, &done_, sizeof done_);
  device_.notify_write(config_.completed, sizeof done_, now, kWokenByHost);
}

/// The completion of the last entry of every queue has come (collapsed: entry 0 names the latest).
bool HostProxy::everything_complete() const {
  return std::all_of(peers_.begin(), peers_.end(), [this](const Peer& peer) {
    if (peer.posted == 0) return true;
    const uint8_t* entry = memory(peer.given.queue.completion, kEntryBlockBytes);
    const auto counter = static_cast<uint16_t>(entry[60] << 8U | entry[61]);
    return counter == static_cast<uint16_t>(peer.posted - 1);
  });
}

void HostProxy::post(const Words& words, Picoseconds now) {
  const auto rank = static_cast<uint32_t>(words[0] >> 8U);
  const auto found = std::find_if(peers_.begin(), peers_.end(),
                                  [rank](const Peer& peer) { return peer.given.rank == rank; });
  if (found == peers_.end()) return;
  Peer& peer = *found;
  const uint64_t remote = words[1];
  const auto key_at = [this](const std::vector<uint32_t>& keys, uint64_t offset) {
    const uint64_t chunk = offset >> config_.key_shift;
    return chunk < keys.size() ? keys[chunk] : 0;
  };
  const bool add = static_cast<Request>(words[0] & 0xffU) == Request::add;
  const EntryRequest request{.queue = peer.given.number,
                             .index = peer.posted,
                             .remote_address = peer.given.heap + remote,
                             .remote_key = key_at(peer.given.keys, remote),
                             .local_address = add ? config_.unwanted : config_.heap + words[2],
                             .local_key = add ? config_.unwanted_key : key_at(config_.keys, words[2]),
                             .value = static_cast<uint32_t>(words[2]),
                             .bytes = add ? 4 : static_cast<uint32_t>(words[3])};
  const auto entry = add ? encode_add(request) : encode_write(request);
  const uint64_t slot = peer.posted & (peer.given.queue.entries - 1);
  if (uint8_t* to = memory(peer.given.queue.ring + slot * kEntryBlockBytes, kEntryBlockBytes))
    std::copy(entry.begin(), entry.end(), to);
  ++peer.posted;
  const auto which = static_cast<uint64_t>(found - peers_.begin());
  device_.process().at(now + doorbell_latency_, at_doorbell_, which << 16U | (peer.posted & 0xffffU));
}

void HostProxy::on_doorbell(Picoseconds now, uint64_t argument) {
  const uint32_t number = peers_[argument >> 16U].given.number;
  nic_.ring(number, static_cast<uint16_t>(argument & 0xffffU), now);
}

}  // namespace ptxwire::sim
