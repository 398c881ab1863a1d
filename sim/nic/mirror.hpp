// Requests to a GPU that is not simulated because it would do what the own one does: they come back, to where
// that GPU's requests would have gone.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "models/fabric/nic.hpp"
#include "sim/nic/queue_pair.hpp"

namespace ptxwire::sim {

class RequestMirror {
 public:
  /// Requests that use `key` are about memory of a GPU that is mirrored.
  void add(uint32_t key, std::vector<MirrorArea> areas) { areas_[key] = std::move(areas); }

  /// Where the message is about, as the mirror has it. By its first byte.
  void redirect(models::NicMessage& message) const {
    if (areas_.empty()) return;
    for (const MirrorArea& area : areas_of(message.remote_key))
      if (contains(area, message.remote_address)) {
        message.remote_address += static_cast<uint64_t>(area.shift);
        return;
      }
  }

  /// Words of a redirected packet that name the sender. Only of payload that was read from memory.
  void rewrite(models::NicPacket& packet) const;

 private:
  [[nodiscard]] const std::vector<MirrorArea>& areas_of(uint32_t key) const {
    static const std::vector<MirrorArea> kNone;
    const auto found = areas_.find(key);
    return found == areas_.end() ? kNone : found->second;
  }
  [[nodiscard]] static bool contains(const MirrorArea& area, uint64_t address) {
    const uint64_t offset = address - area.address;  // below it: a large number
    return offset < area.stride * area.count && offset % area.stride < area.bytes;
  }

  std::unordered_map<uint32_t, std::vector<MirrorArea>> areas_;  ///< by key
};

}  // namespace ptxwire::sim
