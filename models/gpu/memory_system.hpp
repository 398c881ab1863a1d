// Everything between the SMs of one GPU and memory: crossbar, L2 slices in two partitions, HBM channels, the
// host link, and the door to NVLink. Local transactions make two events (arrival at L2, return to the SM).
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "models/base/logical_process.hpp"
#include "models/base/transaction.hpp"
#include "models/gpu/hbm.hpp"
#include "models/machines/machine.hpp"

namespace ptxwire::models {

class NvlinkFabric;

/// Bytes and events since the start, per GPU.
struct MemoryCounters {
  uint64_t l2_sector_reads = 0, l2_sector_writes = 0, l2_sector_read_misses = 0, l2_evicted_dirty_lines = 0;
  HbmCounters hbm;
  uint64_t nvlink_sent_payload_bytes = 0,
           nvlink_sent_wire_bytes = 0;  ///< wire: with headers and acknowledgements
  uint64_t nvlink_received_payload_bytes = 0;
  Picoseconds l2_busy{};  ///< summed over slices
  /// Lines that had to leave L2: [kernel whose access took the place][kernel that had brought the line in].
  std::array<std::array<uint64_t, kMaxOwners>, kMaxOwners> l2_evictions{};
  /// Lines in L2 that a kernel had brought in: now, and the most there ever were.
  std::array<uint32_t, kMaxOwners> l2_lines{}, l2_peak_lines{};
};

/// Resources that kernels share. For a counterfactual run a kernel may be given its own copy of some: then
/// neither it nor the others notice each other there.
struct SharedResources {
  bool l2_capacity = false;   ///< tags
  bool l2_bandwidth = false;  ///< slices and the link between the partitions
  bool hbm = false;
};

/// Accesses of one SM to one line, and of one GPU to one line of another, are performed in the order of
/// submit().
class GpuMemorySystem {
 public:
  /// `process` is the GPU's; `fabric` may be null if no transaction ever leaves the GPU.
  GpuMemorySystem(const Machine& machine, GpuId gpu, LogicalProcess& process, NvlinkFabric* fabric);
  ~GpuMemorySystem();

  /// A transaction leaves its SM at `now`. Local: crossbar -> L2 -> (HBM) -> perform -> return. Remote:
  /// handed to the fabric, performed at the home GPU, answered over NVLink. complete() is called exactly
  /// once.
  void submit(Transaction& transaction, Picoseconds now);

  /// A piece of a remote transaction came in over NVLink: access the L2 here, perform, and return the time at
  /// which the answer (data or acknowledgement) is ready to go back.
  Picoseconds serve_remote(Transaction& transaction, unsigned first, unsigned count, Picoseconds now);

  /// The answer to a remote transaction of this GPU is at the crossbar: data goes through the port of its SM,
  /// then the client is told. Called by the fabric, in the process of this GPU.
  void deliver(Transaction& transaction, Picoseconds now);

  /// Marks all lines invalid without write-back traffic: the state after a benchmark's L2 flush.
  void flush_l2();

  /// From now on the accesses of these kernels (Transaction::owner, a bit each) have copies of `resources` of
  /// their own, empty and idle.
  void isolate(uint32_t owners, const SharedResources& resources);

  [[nodiscard]] const MemoryCounters& counters() const;
  MemoryCounters& counters();
  [[nodiscard]] LogicalProcess& process();

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace ptxwire::models
