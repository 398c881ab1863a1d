// A compute kernel without instructions: SMs that sweep a footprint at the rate at which arithmetic would ask
// for bytes. It stands for compute beside a kernel under test where no PTX of that compute is at hand.
//
// Each SM moves pieces of 512 bytes, one after another through its share of the footprint and over again, as
// fast as flops_per_clk * bytes_per_flop allows and with no more lines in flight than an SM may have; a share
// of the pieces are stores. Pieces are dealt to SMs as they ask, so SMs that are held by CTAs leave their
// work to the others. Not modelled: instructions, L1, barriers, tiles that are read by several SMs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "models/base/logical_process.hpp"
#include "models/base/transaction.hpp"
#include "models/gpu/memory_system.hpp"
#include "models/machines/machine.hpp"

namespace ptxwire::models {

struct TrafficLoad {
  uint64_t footprint_bytes = 0;  ///< a multiple of TrafficAgent::kPieceBytes
  double flops = 0;              ///< of the whole kernel
  double flops_per_clk = 0;      ///< of one SM when nothing is missing
  double bytes_per_flop = 0;     ///< to and from L2
  double write_share = 0;        ///< of the bytes

  [[nodiscard]] uint64_t pieces() const;
};

class TrafficAgent final : public MemoryClient {
 public:
  static constexpr uint32_t kPieceLines = 4;
  static constexpr uint32_t kPieceBytes = kPieceLines * kLineBytes;

  /// `is_free`: whether an SM has no CTA now.
  TrafficAgent(const Machine& machine, GpuId gpu, LogicalProcess& process, GpuMemorySystem& memory,
               std::function<bool(uint32_t sm)> is_free);

  /// Sweeps memory from `address` on; calls on_done when the last piece is there.
  void start(const TrafficLoad& load, uint64_t address, uint8_t owner, Picoseconds now,
             std::function<void(Picoseconds)> on_done);

  void perform(Transaction&, unsigned, unsigned, Picoseconds) override {}  // nobody reads its bytes
  void complete(Transaction& transaction, Picoseconds now) override;

 private:
  struct Sm {
    uint32_t lines_in_flight = 0;
    bool waits = false;  ///< for room
  };

  void step(Picoseconds now, uint64_t sm);
  void issue(uint32_t sm, Picoseconds now);

  const SmParameters& parameters_;
  GpuId gpu_;
  LogicalProcess& process_;
  GpuMemorySystem& memory_;
  std::function<bool(uint32_t)> is_free_;
  std::function<void(Picoseconds)> on_done_;
  TrafficLoad load_;
  uint64_t address_ = 0, pieces_ = 0, issued_ = 0, completed_ = 0, footprint_pieces_ = 1;
  uint8_t owner_ = 0;
  Picoseconds interval_{};  ///< between two pieces of an SM
  std::vector<Sm> sms_;
  std::vector<std::unique_ptr<Transaction>> transactions_;
  std::vector<Transaction*> free_;
  EventMember<TrafficAgent, &TrafficAgent::step> step_event_{*this};
};

}  // namespace ptxwire::models
