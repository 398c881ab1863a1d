// The part of an NVSwitch that serves link l of every GPU. An address picks one link index, the same at both
// ends, so traffic of different indices meets at no port: a switch with k links to each GPU is k of these
// planes.
//
// Per GPU one input port (a FIFO that the sender's credits keep finite) and one output port (a link with a
// small buffer before it). The head of an input moves on when its output has room; until then everything
// behind it waits: head-of-line blocking, which is what all-to-all traffic loses against a ring. Outputs take
// from waiting inputs round robin.
#pragma once

#include <cstdint>
#include <vector>

#include "models/base/logical_process.hpp"
#include "models/fabric/nvlink.hpp"
#include "models/fabric/nvlink_piece.hpp"

namespace ptxwire::models {

class NvlinkDoor;

class SwitchPlane {
 public:
  static constexpr uint32_t kMaxGpus = 64;

  SwitchPlane(const NvlinkTiming& timing, uint32_t link, LogicalProcess& process, uint32_t gpus)
      : timing_(timing), link_(link), process_(process), inputs_(gpus), outputs_(gpus), doors_(gpus) {}

  void connect(GpuId gpu, NvlinkDoor& door) { doors_[gpu.value] = &door; }
  [[nodiscard]] LogicalProcess& process() { return process_; }
  /// Takes a piece (as pointer) that has crossed the input link and the switch's pipeline.
  [[nodiscard]] EventHandler& at_input() { return at_input_; }
  [[nodiscard]] const LinkUse& output_use(GpuId gpu) const { return outputs_[gpu.value].use; }
  /// No piece is inside and no freed space is held back.
  [[nodiscard]] bool idle() const;

 private:
  struct Input {
    PieceQueue queue;
    uint32_t freed_bytes = 0;  ///< left the buffer, credit not yet sent back
  };
  struct Output {
    Server server;
    uint64_t waiting = 0;  ///< inputs whose head waits for room here
    uint32_t next = 0;     ///< round robin: first input to look at
    bool wake_scheduled = false;
    LinkUse use;
  };

  void on_input(Picoseconds now, uint64_t piece);
  void on_room(Picoseconds now, uint64_t output);
  void advance(uint32_t input, Picoseconds now);
  void forward(uint32_t input, Picoseconds now);
  void claim(Output& output, Picoseconds now, uint64_t wire_bytes, uint64_t payload_bytes);
  [[nodiscard]] bool has_room(const Output& output, uint32_t bytes, Picoseconds now) const;
  void wake_when_room(uint32_t output, uint32_t bytes);

  const NvlinkTiming& timing_;
  uint32_t link_;
  LogicalProcess& process_;
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
  std::vector<NvlinkDoor*> doors_;
  EventMember<SwitchPlane, &SwitchPlane::on_input> at_input_{*this};
  EventMember<SwitchPlane, &SwitchPlane::on_room> at_room_{*this};
};

}  // namespace ptxwire::models
