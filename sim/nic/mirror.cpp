#include "sim/nic/mirror.hpp"

#include <cstring>

namespace ptxwire::sim {

void RequestMirror::rewrite(models::NicPacket& packet) const {
  if (areas_.empty()) return;
  for (const MirrorArea& area : areas_of(packet.remote_key)) {
    const uint64_t address = packet.remote_address - static_cast<uint64_t>(area.shift);
    if (area.item_bytes == 0 || !contains(area, address)) continue;
    const uint64_t in_item = (address - area.address) % area.stride % area.item_bytes;
    // The first word at or behind the first byte. Items and packets are made of whole words.
    uint64_t at = (area.word_offset + area.item_bytes - in_item) % area.item_bytes;
    for (; at + sizeof area.word <= packet.bytes; at += area.item_bytes)
      std::memcpy(packet.data.data() + at, &area.word, sizeof area.word);
    return;
  }
}

}  // namespace ptxwire::sim
