// One GPU's end of NVLink: transactions become pieces and leave (nvlink_egress), pieces of others arrive at
// their home, and answers at their source.
#pragma once

#include <cstdint>
#include <vector>

#include "models/base/logical_process.hpp"
#include "models/base/spread.hpp"
#include "models/fabric/nvlink.hpp"
#include "models/fabric/nvlink_egress.hpp"
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

  void connect(uint32_t link, SwitchPlane& plane) { egress_.connect(link, plane); }
  /// `doors[g]` is GPU g's, where acknowledgements go.
  void connect(const std::vector<NvlinkDoor*>& doors) { doors_ = doors; }
  void attach(GpuMemorySystem& memory);

  void inject(Transaction& transaction, Picoseconds now);

  [[nodiscard]] LogicalProcess& process() { return process_; }
  [[nodiscard]] EventHandler& at_arrival() { return at_arrival_; }
  [[nodiscard]] NvlinkEgress& egress() { return egress_; }
  [[nodiscard]] const NvlinkEgress& egress() const { return egress_; }

 private:
  /// Of an SM: what it has submitted for a later time, which is when the port lets it pass.
  struct OnTheWay {
    Picoseconds last{};
    uint32_t count = 0;
  };

  void on_inject(Picoseconds now, uint64_t transaction);
  void on_arrival(Picoseconds now, uint64_t piece);
  void on_answer_ready(Picoseconds now, uint64_t piece);
  void prepare(uint64_t piece) const;
  void on_acknowledgement(Picoseconds now, uint64_t piece);

  void serve(NvlinkPiece& piece, Picoseconds now);
  void finish(NvlinkPiece& piece, Picoseconds now);
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
  NvlinkEgress egress_;
  std::vector<OnTheWay> on_the_way_;  // [sm]
  PiecePool pool_;
  EventMember<NvlinkDoor, &NvlinkDoor::on_inject> at_inject_{*this};
  EventMember<NvlinkDoor, &NvlinkDoor::on_arrival, &NvlinkDoor::prepare> at_arrival_{*this};
  EventMember<NvlinkDoor, &NvlinkDoor::on_answer_ready> at_answer_ready_{*this};
  EventMember<NvlinkDoor, &NvlinkDoor::on_acknowledgement, &NvlinkDoor::prepare> at_acknowledgement_{*this};
};

}  // namespace ptxwire::models
