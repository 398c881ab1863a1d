// The CPU thread that posts RDMA for kernels that cannot: it reads their requests from a ring in host memory,
// one after the other, and makes a queue entry of each. It runs in the logical process of its GPU.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/base/logical_process.hpp"
#include "models/machines/machine.hpp"
#include "sim/exec/device.hpp"
#include "sim/nic/nic_device.hpp"
#include "sim/nic/queue_pair.hpp"

namespace ptxwire::sim {

class HostProxy final : public WriteWatcher {
 public:
  static constexpr uint32_t kRequestBytes = 32;

  HostProxy(const models::HostParameters& host, const HostProxyConfig& config, DeviceGroup& group,
            Device& device, NicDevice& nic);

  void written(uint64_t address, uint64_t bytes, models::Picoseconds now) override;

 private:
  struct Peer {
    HostProxyConfig::Peer given;
    uint64_t posted = 0;
  };
  using Words = std::array<uint64_t, 4>;

  [[nodiscard]] bool next_request(Words& words) const;
  void look(models::Picoseconds now);
  void on_served(models::Picoseconds now, uint64_t unused);
  void on_doorbell(models::Picoseconds now, uint64_t peer_and_index);
  void post(const Words& words, models::Picoseconds now);
  [[nodiscard]] bool everything_complete() const;
  void finish_request(models::Picoseconds now);
  [[nodiscard]] uint8_t* memory(uint64_t address, uint64_t bytes) const;

  models::Picoseconds request_time_, poll_time_, doorbell_latency_;
  HostProxyConfig config_;
  DeviceGroup& group_;
  Device& device_;
  NicDevice& nic_;
  std::vector<Peer> peers_;
  uint64_t done_ = 0;  ///< requests
  bool busy_ = false;
  models::EventMember<HostProxy, &HostProxy::on_served> at_served_{*this};
  models::EventMember<HostProxy, &HostProxy::on_doorbell> at_doorbell_{*this};
};

}  // namespace ptxwire::sim
