// The way out of a GPU onto its NVLinks. What an SM asks of other GPUs leaves through the SM's port in order
// and enters the queue of its link when that has room; a port whose first piece finds none holds up what is
// behind it, whichever link that is for. A link sends what it has credit for in the input buffer of the
// switch.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "models/base/logical_process.hpp"
#include "models/fabric/nvlink.hpp"
#include "models/fabric/nvlink_piece.hpp"

namespace ptxwire::models {

class SwitchPlane;
struct MemoryCounters;

class NvlinkEgress {
 public:
  NvlinkEgress(const NvlinkParameters& nvlink, const NvlinkTiming& timing, LogicalProcess& process);

  void connect(uint32_t link, SwitchPlane& plane) { links_[link].plane = &plane; }
  void attach(MemoryCounters& counters) { counters_ = &counters; }

  /// A request of an SM, at the door at `arrival`. Nothing overtakes what came before it from this SM.
  void send_request(NvlinkPiece& piece, SmId sm, Picoseconds arrival);
  /// Data for another GPU's load or atomic. Answers have a virtual channel of their own: they wait for the
  /// link and for credit, not for room.
  void send_answer(NvlinkPiece& piece, Picoseconds arrival) { enqueue(piece, arrival); }
  /// Acknowledgements: bandwidth, no queue.
  void claim(uint32_t link, Picoseconds now, uint32_t wire_bytes) { claim(links_[link], now, wire_bytes, 0); }

  [[nodiscard]] EventHandler& at_credit() { return at_credit_; }
  [[nodiscard]] const LinkUse& use(uint32_t link) const { return links_[link].use; }
  /// Nothing waits and all credits are back.
  [[nodiscard]] bool idle() const;

  /// Argument of a credit event: link and bytes.
  [[nodiscard]] static uint64_t pack_credit(uint32_t link, uint32_t bytes) {
    return uint64_t{link} << 32U | bytes;
  }

 private:
  struct Link {
    SwitchPlane* plane = nullptr;
    PieceQueue queue;
    int64_t queued_bytes = 0;
    std::deque<SmId> waiting;  ///< SMs whose first piece is for this link and finds no room
    bool wake_scheduled = false;
    Server server;
    int64_t credit_bytes = 0;
    LinkUse use;
  };

  void on_credit(Picoseconds now, uint64_t packed);
  void on_room(Picoseconds now, uint64_t link);

  void drain_port(SmId sm, Picoseconds now);
  void wake_when_room(Link& link, Picoseconds now);
  [[nodiscard]] bool has_room(const Link& link, const NvlinkPiece& piece, Picoseconds now) const;
  void enqueue(NvlinkPiece& piece, Picoseconds arrival);
  [[nodiscard]] bool has_credit(const Link& link, const NvlinkPiece& piece) const;
  void transmit(Link& link, NvlinkPiece& piece, Picoseconds now);
  void claim(Link& link, Picoseconds now, uint32_t wire_bytes, uint32_t payload_bytes);

  const NvlinkTiming& timing_;
  LogicalProcess& process_;
  MemoryCounters* counters_ = nullptr;
  std::vector<Link> links_;
  std::vector<PieceQueue> ports_;  // [sm]
  EventMember<NvlinkEgress, &NvlinkEgress::on_credit> at_credit_{*this};
  EventMember<NvlinkEgress, &NvlinkEgress::on_room> at_room_{*this};
};

}  // namespace ptxwire::models
