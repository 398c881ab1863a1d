// What travels through the InfiniBand fabric, and what a NIC hears of it.
#pragma once

#include <cstdint>

#include "models/base/units.hpp"

namespace ptxwire::models {

/// One packet, of one MTU at most. The sending NIC's until send(), the receiving one's from arrived() on; in
/// between the fabric writes `next` and `input`, and nobody else writes anything.
struct FabricPacket {
  NicId from, to;
  uint32_t wire_bytes = 0;       ///< with all headers
  uint32_t flow = 0;             ///< packets of equal (from, to, flow) and static routing keep their order
  uint8_t virtual_lane = 0;      ///< lanes beyond those there are wrap round
  bool adaptive = false;         ///< may take any way, and so overtake
  FabricPacket* next = nullptr;  ///< in the queue it is in
  uint32_t input = 0;            ///< port at which it enters the switch it is at or on the way to
};

/// Implemented by a NIC. All calls run in the process of that NIC.
class NicPort {
 public:
  /// The last byte of a packet that it sent has left its port. The packet is on its way and must stay.
  virtual void departed(FabricPacket& packet, Picoseconds now) = 0;
  /// The last byte of a packet to it is in its receive buffer.
  virtual void arrived(FabricPacket& packet, Picoseconds now) = 0;
  /// No way leads to where the packet was sent (links or switches that are down): it was not sent, and is the
  /// NIC's again.
  virtual void lost(FabricPacket& packet, Picoseconds now) = 0;

 protected:
  ~NicPort() = default;
};

/// First in, first out, without memory of its own.
class PacketQueue {
 public:
  [[nodiscard]] FabricPacket* head() const { return head_; }
  [[nodiscard]] bool empty() const { return head_ == nullptr; }
  void push(FabricPacket& packet) {
    packet.next = nullptr;
    (head_ == nullptr ? head_ : tail_->next) = &packet;
    tail_ = &packet;
  }
  FabricPacket& pop() {
    FabricPacket& packet = *head_;
    head_ = packet.next;
    return packet;
  }

 private:
  FabricPacket* head_ = nullptr;
  FabricPacket* tail_ = nullptr;
};

}  // namespace ptxwire::models
