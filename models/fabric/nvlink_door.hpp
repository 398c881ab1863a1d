// One GPU's end of NVLink: an egress queue per link, which waits for credit of the switch's input buffer, the
// arrival of pieces at their home, and of answers at their source.
#pragma once

#include <cstdint>
#include <vector>

#include "models/base/logical_process.hpp"
#include "models/base/spread.hpp"
#include "models/fabric/nvlink.hpp"
#include "models/fabric/nvlink_piece.hpp"

namespace ptxwire::models {

class GpuMemorySystem;
class SwitchPlane;
struct MemoryCounters;

class NvlinkDoor {
 public:
  /// `gpu` counts within the node, whose first GPU is `first`.
  NvlinkDoor(const NvlinkParameters& nvlink, const NvlinkTiming& timing, GpuId first, GpuId gpu,
             LogicalProcess& process);

  void connect(uint32_t link, SwitchPlane& plane) { egress_[link].plane = &plane; }
  /// `doors[g]` is GPU g's, where acknowledgements go.
  void connect(const std::vector<NvlinkDoor*>& doors) { doors_ = doors; }
  void attach(GpuMemorySystem& memory);

  void inject(Transaction& transaction, Picoseconds now);

  [[nodiscard]] LogicalProcess& process() { return process_; }
  [[nodiscard]] EventHandler& at_arrival() { return at_arrival_; }
  [[nodiscard]] EventHandler& at_credit() { return at_credit_; }
  [[nodiscard]] const LinkUse& use(uint32_t link) const { return egress_[link].use; }
  /// Nothing waits and all credits are back.
  [[nodiscard]] bool idle() const;

  /// Argument of a credit event: link and bytes.
  [[nodiscard]] static uint64_t pack_credit(uint32_t link, uint32_t bytes) {
    return uint64_t{link} << 32U | bytes;
  }

 private:
  struct Egress {
    SwitchPlane* plane = nullptr;
    PieceQueue queue;
    Server server;
    int64_t credit_bytes = 0;
    LinkUse use;
  };

  void on_arrival(Picoseconds now, uint64_t piece);
  void on_answer_ready(Picoseconds now, uint64_t piece);
  void prepare(uint64_t piece) const;
  void on_acknowledgement(Picoseconds now, uint64_t piece);
  void on_credit(Picoseconds now, uint64_t packed);

  void serve(NvlinkPiece& piece, Picoseconds now);
  void finish(NvlinkPiece& piece, Picoseconds now);
  void enqueue(NvlinkPiece& piece, Picoseconds arrival);
  void transmit(Egress& egress, NvlinkPiece& piece, Picoseconds now);
  void claim(Egress& egress, Picoseconds now, uint32_t wire_bytes, uint32_t payload_bytes);
  [[nodiscard]] bool has_credit(const Egress& egress, const NvlinkPiece& piece) const;
  [[nodiscard]] uint64_t granule_of(uint64_t line) const;
  [[nodiscard]] uint32_t link_of(uint64_t granule) const;
  void size_request(NvlinkPiece& piece) const;
  void size_answer(NvlinkPiece& piece) const;

  const NvlinkParameters& nvlink_;
  const NvlinkTiming& timing_;
  FastDivider links_, lines_per_granule_;
  GpuId first_, gpu_;
  LogicalProcess& process_;
  GpuMemorySystem* memory_ = nullptr;
  MemoryCounters* counters_ = nullptr;
  std::vector<NvlinkDoor*> doors_;
  std::vector<Egress> egress_;
  PiecePool pool_;
  EventMember<NvlinkDoor, &NvlinkDoor::on_arrival, &NvlinkDoor::prepare> at_arrival_{*this};
  EventMember<NvlinkDoor, &NvlinkDoor::on_answer_ready> at_answer_ready_{*this};
  EventMember<NvlinkDoor, &NvlinkDoor::on_acknowledgement, &NvlinkDoor::prepare> at_acknowledgement_{*this};
  EventMember<NvlinkDoor, &NvlinkDoor::on_credit> at_credit_{*this};
};

}  // namespace ptxwire::models
