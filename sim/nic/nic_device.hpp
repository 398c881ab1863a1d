// The byte half of a NIC: queue pairs in memory, keys, and what is read and written when the time half
// (models/fabric/nic.hpp) says so.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/fabric/nic.hpp"
#include "sim/exec/device.hpp"
#include "sim/memory/mapped_registers.hpp"
#include "sim/nic/memory_keys.hpp"
#include "sim/nic/mirror.hpp"
#include "sim/nic/queue_pair.hpp"

namespace ptxwire::sim {

/// A message that did not succeed, for the user; flushed ones are not told.
struct NicError {
  models::Picoseconds time{};
  std::string message;
};

class NicDevice final : public models::NicClient, public MappedRegisters {
 public:
  /// Of the doorbell in the page of registers (mlx5 UAR).
  static constexpr uint64_t kDoorbellOffset = 0x800;
  static constexpr uint64_t kRegisterBytes = 4096;

  NicDevice(const models::Machine& machine, DeviceGroup& group, Device& device,
            models::InfinibandFabric& fabric);

  [[nodiscard]] const models::Nic& nic() const { return nic_; }
  [[nodiscard]] const std::vector<NicError>& errors() const { return errors_; }

  MemoryKeys register_memory(DeviceAddress address, uint64_t bytes, const MemoryRights& rights) {
    return keys_.add(address, bytes, rights);
  }
  /// Keys of the same kind for requests of this NIC to itself that stand for those to another.
  MemoryKeys mirror_memory(DeviceAddress address, uint64_t bytes, std::vector<MirrorArea> areas) {
    const MemoryKeys keys = keys_.add(address, bytes, {});
    mirror_.add(keys.remote, std::move(areas));
    return keys;
  }
  /// A queue pair whose other end is queue `peer_queue` of NIC `peer`. Returns its number in queue entries.
  uint32_t add_queue(const QueueEnd& end, const models::NicQueueTarget& target);
  static constexpr uint32_t kFirstNumber = 0x100;  ///< of queue pairs: small ones are reserved
  /// Index that the next add_queue() will have.
  [[nodiscard]] uint32_t next_queue() const { return static_cast<uint32_t>(queues_.size()); }

  /// What a doorbell of queue pair `number` does.
  void ring(uint32_t number, uint16_t index, models::Picoseconds now);

  // MappedRegisters
  void store(uint64_t address, std::span<const uint8_t> bytes, models::Picoseconds now) override;

  // NicClient
  void decode(uint32_t queue, uint64_t begin, uint32_t blocks,
              std::vector<models::NicMessage>& messages) override;
  void overflowed(uint32_t queue, uint64_t outstanding, models::Picoseconds now) override;
  uint64_t entry_address(uint32_t queue, uint64_t index) override;
  models::NicSyndrome gather(models::NicPacket& packet) override;
  models::NicSyndrome admit(const models::NicPacket& packet) override;
  void gather_response(models::NicPacket& packet) override;
  void place(const models::NicPacket& packet, models::Picoseconds now) override;
  void execute(models::NicPacket& packet, models::Picoseconds now) override;
  void complete(uint32_t queue, const models::NicMessage& message, models::NicSyndrome syndrome,
                models::Picoseconds now) override;
  bool in_gpu_memory(uint64_t address) override;
  uint64_t completion_address(uint32_t queue) override;

 private:
  struct Queue {
    QueueEnd end;
    uint32_t number = 0;
    uint64_t completions = 0;
  };
  [[nodiscard]] MemorySpace* space_of(uint64_t address, uint64_t bytes) const;
  void write(uint64_t address, std::span<const uint8_t> bytes, models::Picoseconds now);
  /// Keeps why something failed, for the error that follows from it.
  void note(std::string reason) { reason_ = std::move(reason); }
  void report(const Queue& queue, const models::NicMessage& message, models::NicSyndrome syndrome,
              models::Picoseconds now);

  DeviceGroup& group_;
  Device& device_;
  MemoryKeyTable keys_;
  RequestMirror mirror_;
  std::vector<Queue> queues_;
  std::vector<NicError> errors_;
  std::string reason_;
  models::Nic nic_;
};

}  // namespace ptxwire::sim
