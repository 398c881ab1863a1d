// NVLink and NVSwitch of one node. GPU g has `links_per_gpu` links spread evenly over the switches. A piece
// (up to `interleave_bytes` of one transaction that share a link) travels:
//   egress queue of the link (FIFO, link rate, needs credit in the switch input buffer)
//   -> link latency -> input port queue -> (head of line waits for room in the output port buffer, round
//   robin over inputs) -> output link (rate) -> link latency -> home GPU: GpuMemorySystem::serve_remote ->
//   answer.
// Writes are acknowledged: an acknowledgement takes `ack_bytes` per packet of the reverse direction's
// bandwidth (as a claim, not as an event) and the return latency. Reads send a request packet and get data
// packets back the same way.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/base/logical_process.hpp"
#include "models/base/transaction.hpp"
#include "models/machines/machine.hpp"

namespace ptxwire::models {

class GpuMemorySystem;

/// Utilisation of one link direction.
struct LinkUse {
  uint64_t payload_bytes = 0, wire_bytes = 0;
  Picoseconds busy{};
  Picoseconds blocked{};  ///< head of the queue waited for credit

  void carry(Picoseconds duration, uint64_t wire, uint64_t payload) {
    busy += duration;
    wire_bytes += wire;
    payload_bytes += payload;
  }
};

class NvlinkFabric {
 public:
  /// `gpu_processes[i]` is the process of the node's GPU i, which is GPU `first` + i of the cluster;
  /// `switch_processes[s]` that of switch s (one per machine.nvlink.switches).
  NvlinkFabric(const Machine& machine, const std::vector<LogicalProcess*>& gpu_processes,
               const std::vector<LogicalProcess*>& switch_processes, GpuId first = {});
  ~NvlinkFabric();

  /// Must be called once for each GPU before the first transaction.
  void attach(GpuId gpu, GpuMemorySystem& memory);

  /// A remote transaction enters the fabric at its source GPU at `now` (after the crossbar). All parts go to
  /// home_gpu.
  void inject(Transaction& transaction, Picoseconds now);

  /// Smallest latency of a message between two processes: the lookahead of the engine.
  [[nodiscard]] Picoseconds lookahead() const;
  /// Nothing is queued and all credits are home: true before the first transaction and after the last.
  [[nodiscard]] bool idle() const;
  [[nodiscard]] LinkUse egress_use(GpuId gpu, uint32_t link) const;
  [[nodiscard]] LinkUse ingress_use(GpuId gpu, uint32_t link) const;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace ptxwire::models
