// One simulated GPU: its SMs, its grid scheduler, its memory client. It is one logical process; everything
// here runs on that process, except perform(), which runs on the process of the transaction's home.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <memory_resource>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "models/base/logical_process.hpp"
#include "models/gpu/memory_system.hpp"
#include "models/gpu/sm_room.hpp"
#include "models/machines/machine.hpp"
#include "sim/exec/grid_scheduler.hpp"
#include "sim/exec/warp.hpp"
#include "sim/exec/warp_transaction.hpp"
#include "sim/memory/address_map.hpp"
#include "sim/memory/memory_space.hpp"
#include "support/error.hpp"
#include "support/large_pages.hpp"

namespace ptxwire::sim {

class Sm;
class Device;
class MappedRegisters;

/// What all devices of a cluster share.
struct DeviceGroup {
  const models::Machine* machine = nullptr;
  std::vector<Device*> devices;
  std::vector<MemorySpace*> device_memory, host_memory, nic_registers;  ///< by GPU
  bool park_polls = true;
  bool spares_registers = false;            ///< host memory counts for more than speed, see RegisterMemory
  bool elides = false;                      ///< some memory has elided rows
  int64_t quantum_cycles = 64;              ///< how far a warp may run ahead of the event clock
  std::vector<MappedRegisters*> registers;  ///< of its NIC, by GPU; empty without a network

  [[nodiscard]] MemorySpace* space(uint32_t home) const {
    if (home < device_memory.size()) return device_memory[home];
    if (home >= kRegisterBias)
      return home - kRegisterBias < nic_registers.size() ? nic_registers[home - kRegisterBias] : nullptr;
    if (home >= kHostBias && home - kHostBias < host_memory.size()) return host_memory[home - kHostBias];
    return nullptr;
  }
};

/// What goes on although nothing woke it. Lanes that wait at a join for others of their warp, which may need
/// them first (unless `clocks`: then nothing but these); or polls that read a clock and have been parked for
/// `parked_for`, so that they see a later one.
struct Nudge {
  bool clocks = false;
  models::Picoseconds parked_for{};
};

/// A kernel on its way through the grid scheduler.
struct Launch {
  uint32_t id = 0;
  ExecProgram* program = nullptr;
  uint32_t function = 0;
  std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  uint32_t cluster = 1;
  uint32_t dynamic_shared_bytes = 0;
  bool cooperative = false;
  int priority = 0;
  uint8_t owner = 0;  ///< under which its use of L2 is accounted (models::kMaxOwners)
  std::vector<uint8_t> parameters;
  uint64_t grid_workspace = 0;  ///< address behind %envreg1/2 for cooperative grids, 0: none
  std::shared_ptr<const ExecProgram::ConstantLanes> constants;
  models::CtaFootprint footprint;
  // progress
  uint64_t next_cta = 0, ctas = 0, finished_ctas = 0;
  uint64_t transactions = 0;  ///< in flight
  models::Picoseconds started{}, finished{};
  bool done = false;
  uint64_t instructions = 0, charged_instructions = 0;
  struct Profile {
    std::array<int64_t, static_cast<size_t>(Wait::count)> waited{};  ///< cycles summed over warps
    std::array<int64_t, kWakers> polled_for{};                       ///< of it, polls by who ended them
    std::array<uint64_t, kWakers> polls{};                           ///< and how many
    uint64_t warps = 0, instructions = 0;
    uint64_t doorbells = 0;  ///< stores to registers of a NIC
  };
  std::vector<Profile> profile;  ///< by warp slot, as far as there are any
  Profile& profile_of(uint8_t slot) {
    if (profile.size() <= slot) profile.resize(slot + 1U);
    return profile[slot];
  }
  std::function<void(models::Picoseconds)> on_done;
};

/// Not a warp, and interested in a range of memory.
class WriteWatcher {
 public:
  virtual void written(uint64_t address, uint64_t bytes, models::Picoseconds now) = 0;

 protected:
  ~WriteWatcher() = default;
};

class Device final : public models::MemoryClient {
 public:
  Device(DeviceGroup& group, models::GpuId id, models::LogicalProcess& process,
         models::GpuMemorySystem& memory);
  ~Device();

  [[nodiscard]] GridScheduler& scheduler() { return scheduler_; }

  // MemoryClient
  void perform(models::Transaction& transaction, unsigned first, unsigned count,
               models::Picoseconds now) override;
  void complete(models::Transaction& transaction, models::Picoseconds now) override;

  // ---- for the SMs
  [[nodiscard]] const DeviceGroup& group() const { return group_; }
  [[nodiscard]] models::GpuId id() const { return id_; }
  /// The memory of a home if loads and stores of this GPU reach it, else null.
  [[nodiscard]] MemorySpace* space(uint32_t home) const {
    return home % kHostBias - first_peer_ < group_.machine->gpus ? group_.space(home) : nullptr;
  }
  [[nodiscard]] models::LogicalProcess& process() { return process_; }
  [[nodiscard]] models::GpuMemorySystem& memory() { return memory_; }
  /// For what is reached at random while warps run: registers, fragments.
  [[nodiscard]] std::pmr::memory_resource* warp_memory() { return &pool_; }
  [[nodiscard]] RegisterMemory& register_memory() { return register_memory_; }
  [[nodiscard]] Sm& sm(uint32_t index) { return *sms_[index]; }
  [[nodiscard]] const models::ClockDomain& clock() const { return clock_; }
  [[nodiscard]] int64_t cycle(models::Picoseconds time) const { return clock_.cycle_at_or_after(time); }
  WarpTransaction* new_transaction();
  void recycle(WarpTransaction* transaction);
  void cta_finished(Cta& cta, int64_t cycle);
  void transaction_done(Cta& cta, models::Picoseconds now);
  /// The run stops at the end of the window; the earliest fault of all GPUs is reported.
  void fault(Error error);
  [[nodiscard]] const std::optional<std::pair<models::Picoseconds, Error>>& fault_seen() const {
    return fault_;
  }
  void print(std::string text);
  [[nodiscard]] const std::vector<std::pair<models::Picoseconds, std::string>>& printed() const {
    return printed_;
  }

  /// The fragment wants to know of the next write to these bytes (device memory of this GPU).
  void watch(uint64_t address, uint32_t bytes, Fragment& fragment);
  void unwatch(Fragment& fragment, const std::vector<PollRead>& reads);

  /// Lets fragments go on that look parked or stuck; see Nudge. Returns whether anything moved.
  bool nudge(models::Picoseconds now, const Nudge& what);
  /// Who waits for what, for the deadlock report; at most `limit` lines.
  [[nodiscard]] std::vector<std::string> waiting_report(size_t limit) const;

  [[nodiscard]] uint64_t charged_instructions() const { return charged_; }
  /// Cycles that the tensor cores of the SMs were busy, summed over the SMs.
  [[nodiscard]] double tensor_busy_clk() const;
  void charge(uint64_t instructions) { charged_ += instructions; }

  /// Tells `watcher` of writes to a range of memory (of this GPU or mapped by it). One at most.
  void tell_of_writes(uint64_t address, uint64_t bytes, WriteWatcher& watcher) {
    told_begin_ = address;
    told_bytes_ = bytes;
    watcher_ = &watcher;
  }
  /// Bytes of this GPU were written at `now`: wakes the polls that watch them.
  void notify_write(uint64_t address, uint64_t bytes, models::Picoseconds now,
                    uint8_t waker = kWokenOtherwise);

 private:
  void ring_doorbells(const WarpTransaction& transaction, models::Picoseconds now);
  void perform_here(WarpTransaction& transaction, unsigned first, unsigned count, models::Picoseconds now,
                    Device& home);
  void finish_if_drained(Launch& launch, models::Picoseconds now);
  void release_if_unused(const Cta& cta);

  DeviceGroup& group_;
  models::GpuId id_;
  uint32_t first_peer_;  ///< first GPU of its node
  models::LogicalProcess& process_;
  models::GpuMemorySystem& memory_;
  models::ClockDomain clock_;
  LargePages large_pages_;
  std::pmr::unsynchronized_pool_resource pool_{{.largest_required_pool_block = 4096}, &large_pages_};
  RegisterMemory register_memory_{pool_};
  std::vector<std::unique_ptr<Sm>> sms_;
  GridScheduler scheduler_;
  std::pmr::deque<WarpTransaction> transactions_{&large_pages_};
  std::vector<WarpTransaction*> free_transactions_;
  std::unordered_map<uint64_t, std::vector<std::pair<Fragment*, uint32_t>>> watches_;  ///< by sector
  std::bitset<4096> watched_;
  uint64_t told_begin_ = 0, told_bytes_ = 0;
  WriteWatcher* watcher_ = nullptr;
  std::optional<std::pair<models::Picoseconds, Error>> fault_;
  std::vector<std::pair<models::Picoseconds, std::string>> printed_;
  uint64_t charged_ = 0;
};

}  // namespace ptxwire::sim
