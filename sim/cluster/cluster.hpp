// The public C++ API: GPUs of a machine, memory, programs, launches on streams, and what happened.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/units.hpp"
#include "models/gpu/memory_system.hpp"
#include "models/gpu/sm_room.hpp"
#include "models/gpu/traffic_agent.hpp"
#include "models/machines/machine.hpp"
#include "ptx_frontend/program.hpp"
#include "sim/memory/memory_space.hpp"
#include "sim/memory/tensor_map.hpp"
#include "sim/nic/queue_pair.hpp"
#include "support/error.hpp"

namespace ptxwire::models {
class NetworkTopology;
}

namespace ptxwire::sim {

using models::GpuId;
using models::Picoseconds;

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  /// Saturates at 2^64 - 1.
  [[nodiscard]] uint64_t count() const {
    const uint64_t plane = uint64_t{x} * y;
    return z != 0 && plane > UINT64_MAX / z ? UINT64_MAX : plane * z;
  }
};

struct LaunchConfig {
  uint32_t module = 0;  ///< from Cluster::load
  std::string kernel;
  Dim3 grid, block;
  uint32_t cluster = 1;  ///< CTAs per cluster, along x
  uint32_t dynamic_shared_bytes = 0;
  uint32_t registers_per_thread = 0;  ///< that decide occupancy; 0: the front end's estimate
  bool cooperative = false;           ///< refused if not all CTAs can be resident at once
  int priority = 0;                   ///< smaller is more urgent, as in CUDA; 0: that of the stream
  /// Raw parameter block, laid out as ProgramFunction::parameters; tensor maps come from encode_tensor_map.
  std::vector<uint8_t> parameters;
  std::string role;  ///< name for reports, e.g. "dispatch"; never read by any model
};

using StreamId = uint32_t;
using LaunchId = uint32_t;
using EventId = uint32_t;

/// Where a warp's time went, in warp-picoseconds summed over warps. "Waiting" categories exclude each other.
enum class WaitReason : uint8_t {
  issuing,  ///< issuing or waiting for an ALU result or a scheduler slot
  local_load,
  remote_load,
  local_poll,
  remote_poll,
  shared_memory,
  store_window,   ///< no room for another remote or local store
  release_fence,  ///< release or fence waits for acknowledgements
  barrier,
  named_barrier,
  cluster_barrier,
  mbarrier,
  bulk_copy,
  sleep,
  atomic,
  reconverge,
  tensor_core,
  count
};
std::string_view wait_reason_name(WaitReason reason);

/// Warps of one launch grouped by the role they play: role = CTA index modulo `role_period` and warp index.
struct WarpProfile {
  std::array<Picoseconds, static_cast<size_t>(WaitReason::count)> time{};
  uint64_t warps = 0;
  uint64_t instructions = 0;

  WarpProfile& operator+=(const WarpProfile& other) {
    for (size_t reason = 0; reason < time.size(); ++reason) time[reason] += other.time[reason];
    warps += other.warps;
    instructions += other.instructions;
    return *this;
  }
};

/// Warps that do the same: slots (LaunchReport::slots) `first` to `last`.
struct WarpRole {
  std::string name;
  uint32_t first = 0, last = 0;
  std::string relays;  ///< role whose progress this one only tells others; its loops are waits for that role
};

struct LaunchReport {
  LaunchId id = 0;
  GpuId gpu;
  std::string kernel, role;
  Picoseconds queued{}, started{}, finished{};  ///< first CTA placed .. last CTA done and drained
  uint64_t warp_instructions = 0;
  uint64_t ctas = 0;
  models::CtaFootprint footprint;  ///< of a CTA
  /// Even CTAs and odd CTAs apart (communication kernels split roles this way): [0] even, [1] odd.
  std::array<WarpProfile, 2> profile;
  /// The same by index of the warp in its CTA: 0..31 of even CTAs, 32..63 of odd ones; as far as there are
  /// any.
  struct WarpSlot {
    WarpProfile profile;
    /// Time in polls of local memory, by whose write ended them: slot 0..63 of a launch of this kernel, then
    /// kByNic, kByHost, kOtherwise.
    std::array<Picoseconds, 67> polled_for{};
    std::array<uint64_t, 67> polls{};  ///< how many
    uint64_t doorbells = 0;            ///< stores to registers of a NIC
  };
  static constexpr size_t kByNic = 64, kByHost = 65, kOtherwise = 66;
  std::vector<WarpSlot> slots;
};

/// Lines of L2 that `evictor` took the place of and `victim` had brought in: roles of launches; "nobody" is
/// the state before the first launch, "others" stands for all roles beyond the 14 that are told apart.
struct L2Evictions {
  std::string evictor, victim;
  uint64_t lines = 0;
};

/// What a kernel (as in L2Evictions) had brought in and was still there.
struct L2Holding {
  std::string kernel;
  uint64_t lines = 0;       ///< at the end of the run
  uint64_t peak_lines = 0;  ///< the most at any time of it
};

struct GpuReport {
  uint64_t l2_read_bytes = 0, l2_read_miss_bytes = 0, l2_write_bytes = 0, hbm_read_bytes = 0,
           hbm_write_bytes = 0;
  uint64_t hbm_row_hits = 0, hbm_row_openings = 0, hbm_turnarounds = 0;
  uint64_t nvlink_sent_payload_bytes = 0, nvlink_sent_wire_bytes = 0;
  double l2_utilisation = 0, hbm_utilisation = 0;
  double hbm_activate_utilisation = 0;  ///< share of the time that activations leave no room for others
  double tensor_core_utilisation = 0;   ///< of all SMs
  double nvlink_egress_utilisation = 0, nvlink_egress_max_utilisation = 0, nvlink_ingress_utilisation = 0,
         nvlink_blocked_share = 0;
  /// Of the NIC of this GPU; 0 without a network.
  struct NicReport {
    uint64_t doorbells = 0, messages = 0, completions = 0;
    Picoseconds message_time{};  ///< mean, from doorbell to acknowledgement
    uint64_t sent_payload_bytes = 0, received_payload_bytes = 0, sent_wire_bytes = 0;
    double egress_utilisation = 0, ingress_utilisation = 0;  ///< of its cable
    double egress_blocked_share = 0;  ///< of the time that a packet waited for credit of the switch
    double pcie_utilisation = 0;      ///< of what both directions together can carry
  } nic;
  uint64_t l2_lines = 0;                  ///< that L2 has room for
  std::vector<L2Evictions> l2_evictions;  ///< pairs that occurred
  std::vector<L2Holding> l2_holdings;     ///< kernels that held lines at some time
};

/// A load without a kernel (Cluster::add_background).
struct BackgroundReport {
  GpuId gpu;
  std::string role;
  Picoseconds started{}, finished{};
};

struct RunReport {
  Picoseconds time{};              ///< simulated time at which the last launch finished
  uint64_t warp_instructions = 0;  ///< executed plus charged for parked polls
  uint64_t parked_instructions = 0;
  uint64_t events = 0;
  std::vector<LaunchReport> launches;
  std::vector<GpuReport> gpus;
  std::vector<BackgroundReport> backgrounds;
  /// Messages that did not succeed and doorbells for queues that do not exist, with time, NIC and reason.
  std::vector<std::string> rdma_errors;
  std::string printf_output;  ///< what vprintf wrote, in order of simulated time
};

/// Where a run stands.
struct RunProgress {
  Picoseconds now{};                  ///< since the run began
  uint64_t nvlink_payload_bytes = 0;  ///< arrived at all GPUs since then
};

struct RunLimits {
  Picoseconds max_time = models::microseconds(2e6);  ///< cycle budget: a kernel that never ends is an error
  uint32_t threads = 0;                              ///< 0: all cores
  bool park_polls = true;
  int64_t quantum_cycles = 64;  ///< how far a warp may run ahead of the event clock
  /// Less host memory per waiting warp for more time; none: with more than 32 GPUs. Results are the same.
  std::optional<bool> spare_registers;
  /// Called every few windows; returning false stops the run with an Error.
  std::function<bool(const RunProgress&)> progress;
};

/// Several GPUs of one machine. Not thread-safe; two clusters are independent.
class Cluster {
 public:
  /// Nodes of the machine, as many as the GPUs need, joined by `network` if there is one: then GPU g has NIC
  /// g. Errors: more GPUs than a node has, without a network; more than the network has NICs.
  static Expected<std::unique_ptr<Cluster>> create(const models::Machine& machine, uint32_t gpus,
                                                   const models::NetworkTopology* network = nullptr);
  virtual ~Cluster() = default;

  [[nodiscard]] virtual uint32_t gpus() const = 0;
  [[nodiscard]] virtual const models::Machine& machine() const = 0;

  /// Loads a program on all GPUs: its variables get memory and their initial bytes.
  virtual Expected<uint32_t> load(std::shared_ptr<const ptx::Program> program) = 0;

  /// Zeroed device memory, aligned to 512 bytes (or `align`). `name` appears in fault reports.
  virtual Expected<DeviceAddress> allocate(GpuId gpu, uint64_t bytes, std::string name,
                                           uint64_t align = 512) = 0;
  /// Zeroed host memory mapped into the GPU's address space.
  virtual Expected<DeviceAddress> allocate_host_mapped(GpuId gpu, uint64_t bytes, std::string name) = 0;
  virtual Expected<void> free(DeviceAddress address) = 0;

  /// Host access, outside simulated time. The whole range must lie in one allocation.
  virtual Expected<void> write(DeviceAddress address, std::span<const uint8_t> bytes) = 0;
  virtual Expected<void> read(DeviceAddress address, std::span<uint8_t> bytes) const = 0;
  /// Payload that is moved in full and not stored: reads give zeros. Before the first run. Errors: rows
  /// outside an allocation, or that overlap others.
  virtual Expected<void> elide(const ElidedRows& rows) = 0;
  /// Direct view of an allocation's bytes (valid until it is freed); empty span if the range is not inside
  /// one, or has elided bytes.
  virtual std::span<uint8_t> view(DeviceAddress address, uint64_t bytes) = 0;
  /// Address of a module variable on a GPU.
  virtual Expected<DeviceAddress> symbol(uint32_t module, std::string_view name, GpuId gpu) = 0;

  /// Whether loads and stores of one GPU reach the memory of the other: they are in one node.
  [[nodiscard]] virtual bool reaches(GpuId from, GpuId to) const = 0;

  /// Lets the NIC of `gpu` use a range of the GPU's memory or of host memory mapped by it. Errors: no
  /// network, a range that is not inside one allocation of that GPU or its host.
  virtual Expected<MemoryKeys> register_memory(GpuId gpu, DeviceAddress address, uint64_t bytes,
                                               const MemoryRights& rights = {}) = 0;
  /// For a GPU that is not simulated because it would do what `gpu` does: keys under which requests on queue
  /// pairs of `gpu` with itself (connect_to_itself) reach these bytes as those of the other GPU would. Errors
  /// as above.
  virtual Expected<MemoryKeys> mirror_memory(GpuId gpu, DeviceAddress address, uint64_t bytes,
                                             std::vector<MirrorArea> areas) = 0;
  /// A queue pair that is its own other end: what it sends leaves through the cable and comes back. Returns
  /// its number. Errors: as connect().
  virtual Expected<uint32_t> connect_to_itself(const QueueEnd& end, const QueueOptions& options = {}) = 0;
  /// A reliable connection between two ends, possibly of one NIC. The completion entries are made invalid
  /// (0xff). Errors: no network, no way between the NICs, memory that is not there, ring sizes. A way that a
  /// fault of the network took away counts: its messages fail, as where a link goes down later.
  virtual Expected<QueueNumbers> connect(const QueueEnd& first, const QueueEnd& second,
                                         const QueueOptions& options = {}) = 0;
  /// A CPU thread that posts for kernels of a GPU. One per GPU. Errors: no network, memory that is not there.
  virtual Expected<void> add_proxy(const HostProxyConfig& config) = 0;
  /// The doorbell register of the NIC: an aligned 8-byte store there posts (layout of mlx5 UAR + 0x800).
  [[nodiscard]] virtual DeviceAddress doorbell(GpuId gpu) const = 0;

  virtual StreamId create_stream(GpuId gpu, int priority = 0) = 0;
  /// Enqueues a launch. Errors: unknown kernel (with the nearest name), wrong parameter size, CTA of over
  /// 1024 threads, too much shared memory, cluster that does not divide the grid, a cooperative grid that
  /// cannot be resident.
  virtual Expected<LaunchId> launch(StreamId stream, LaunchConfig config) = 0;
  virtual EventId record(StreamId stream) = 0;
  /// Later work of the stream waits until the work before the event's record is done; the event may belong to
  /// any GPU. Of a stream, event or GPU that does not exist (also in record, synchronize, create_stream)
  /// run() returns an Error.
  virtual void wait(StreamId stream, EventId event) = 0;
  /// Simulated time at which the work before the event was done (after run()).
  [[nodiscard]] virtual Picoseconds event_time(EventId event) const = 0;
  /// The host of this GPU waits until the stream is idle and only then goes on enqueueing
  /// (cudaStreamSynchronize).
  virtual void synchronize(StreamId stream) = 0;
  /// The host of this GPU starts to work through its calls only `by` after the next run began; with
  /// models::kNever it never does, and the run ends with an error.
  virtual void delay_host(GpuId gpu, Picoseconds by) = 0;
  /// The L2 of every GPU is emptied at the next run() start (a benchmark's flush, whose own time is not
  /// wanted).
  virtual void flush_l2() = 0;

  /// During the next run the SMs without CTAs sweep memory as the load says, from the time on at which a
  /// kernel launched first would start. Errors: no such GPU, a load without bytes or rate, no memory for the
  /// footprint.
  virtual Expected<void> add_background(GpuId gpu, const models::TrafficLoad& load, std::string role) = 0;

  /// Counterfactual: launches of these roles get copies of the memory resources of their GPUs, so that they
  /// and all others do not notice each other there. Once per cluster, before anything of these roles is
  /// launched.
  virtual void isolate(const std::vector<std::string>& roles, const models::SharedResources& resources) = 0;

  /// Runs everything enqueued since the last run. Errors: memory faults, deadlock, budget, unexecutable
  /// instruction, trap: each names kernel, PTX line, CTA/thread and address.
  virtual Expected<RunReport> run(const RunLimits& limits = {}) = 0;
};

}  // namespace ptxwire::sim
