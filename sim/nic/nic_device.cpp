#include "sim/nic/nic_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "sim/memory/address_map.hpp"
#include "sim/nic/queue_entry.hpp"

namespace ptxwire::sim {

using models::NicAtomic;
using models::NicMessage;
using models::NicPacket;
using models::NicPacketKind;
using models::NicSyndrome;
using models::Picoseconds;

namespace {

constexpr size_t kMaxErrors = 64;

uint64_t load_word(const uint8_t* bytes, uint32_t count) {
  uint64_t value = 0;
  std::memcpy(&value, bytes, count);
  return value;
}

}  // namespace

NicDevice::NicDevice(const models::Machine& machine, DeviceGroup& group, Device& device,
                     models::InfinibandFabric& fabric)
    : group_(group),
      device_(device),
      keys_(device.id().value),
      nic_(machine, models::NicId{device.id().value}, device.process(), device.memory(), fabric, *this) {}

uint32_t NicDevice::add_queue(const QueueEnd& end, const models::NicQueueTarget& target) {
  const uint32_t index = nic_.add_queue(end.entries, target);
  queues_.push_back({end, kFirstNumber + index, 0});
  return queues_.back().number;
}

/// The memory that holds these bytes, or null.
MemorySpace* NicDevice::space_of(uint64_t address, uint64_t bytes) const {
  MemorySpace* space = address >> kGpuShift == 0 ? nullptr : group_.space(home_of(address));
  return space == nullptr || space->resolve(address, bytes) == nullptr ? nullptr : space;
}

void NicDevice::write(uint64_t address, std::span<const uint8_t> bytes, Picoseconds now) {
  MemorySpace* space = space_of(address, bytes.size());
  if (space == nullptr) return;  // was there when it was registered; freed since
  space->write(address, bytes.size(), bytes.data());
  device_.notify_write(address, bytes.size(), now, kWokenByNic);
}

bool NicDevice::in_gpu_memory(uint64_t address) { return home_of(address) == device_.id().value; }

// ---------------------------------------------------------------------------------------------- doorbells

/// The value is shaped like a control segment: index in bytes 1 and 2, queue number in bytes 4 to 6. The
/// queue is found by its number: many share a page.
void NicDevice::store(uint64_t address, std::span<const uint8_t> bytes, Picoseconds now) {
  if (address % kRegisterBytes != kDoorbellOffset || bytes.size() != 8) return;
  const auto index = static_cast<uint16_t>(bytes[1] << 8U | bytes[2]);
  const uint32_t number = uint32_t{bytes[4]} << 16U | uint32_t{bytes[5]} << 8U | bytes[6];
  ring(number, index, now);
}

void NicDevice::ring(uint32_t number, uint16_t index, Picoseconds now) {
  if (number < kFirstNumber || number - kFirstNumber >= queues_.size()) {
    if (errors_.size() < kMaxErrors)
      errors_.push_back({now, fmt::format("a doorbell names queue pair {:#x}, which NIC {} does not have",
                                          number, device_.id().value)});
    return;
  }
  nic_.post(number - kFirstNumber, index, now);
}

// ---------------------------------------------------------------------------------------------- requester

uint64_t NicDevice::entry_address(uint32_t queue, uint64_t index) {
  const QueueEnd& end = queues_[queue].end;
  return end.ring + (index & (end.entries - 1)) * kEntryBlockBytes;
}

void NicDevice::decode(uint32_t index, uint64_t begin, uint32_t blocks, std::vector<NicMessage>& messages) {
  const Queue& queue = queues_[index];
  const auto copy_block = [&](uint64_t at, uint8_t* to) {
    const uint64_t from = entry_address(index, at);
    if (const MemorySpace* space = space_of(from, kEntryBlockBytes)) space->read(from, kEntryBlockBytes, to);
  };
  std::array<uint8_t, size_t{kMaxEntryBlocks} * kEntryBlockBytes> entry;
  for (uint64_t at = begin; at < begin + blocks;) {
    copy_block(at, entry.data());
    const EntryControl control = decode_control(std::span(entry).first<kSegmentBytes>());
    const uint32_t size = std::min(control.blocks(), kMaxEntryBlocks);
    for (uint32_t block = 1; block < size; ++block)
      copy_block(at + block, entry.data() + size_t{block} * kEntryBlockBytes);
    DecodedEntry decoded =
        decode_entry(std::span(entry).first(size_t{size} * kEntryBlockBytes), at, queue.number);
    if (!decoded.problem.empty()) note(std::move(decoded.problem));
    at += decoded.message.blocks;
    mirror_.redirect(decoded.message);
    messages.push_back(std::move(decoded.message));
  }
}

NicSyndrome NicDevice::gather(NicPacket& packet) {
  if (std::string why = keys_.refuse(packet.local_key, packet.local_address, packet.bytes, true, nullptr);
      !why.empty()) {
    note(std::move(why));
    return NicSyndrome::local_protection;
  }
  const MemorySpace* space = space_of(packet.local_address, packet.bytes);
  if (space == nullptr) return NicSyndrome::local_protection;
  space->read(packet.local_address, packet.bytes, packet.data.data());
  mirror_.rewrite(packet);
  return NicSyndrome::none;
}

void NicDevice::overflowed(uint32_t index, uint64_t outstanding, Picoseconds now) {
  if (errors_.size() >= kMaxErrors) return;
  const Queue& queue = queues_[index];
  errors_.push_back(
      {now, fmt::format("NIC {}, queue pair {:#x}: overflow: {} entries posted and not complete, the "
                        "ring has {}",
                        device_.id().value, queue.number, outstanding, queue.end.entries)});
}

void NicDevice::complete(uint32_t index, const NicMessage& message, NicSyndrome syndrome, Picoseconds now) {
  Queue& queue = queues_[index];
  const uint64_t address = completion_address(index);
  const auto entry = encode_completion({.queue = queue.number,
                                        .entry_index = static_cast<uint16_t>(message.index),
                                        .opcode = message.opcode,
                                        .bytes = message.bytes,
                                        .syndrome = syndrome},
                                       queue.completions, queue.end.completion_entries);
  ++queue.completions;
  write(address, entry, now);
  if (syndrome != NicSyndrome::none && syndrome != NicSyndrome::flushed)
    report(queue, message, syndrome, now);
}

uint64_t NicDevice::completion_address(uint32_t index) {
  const Queue& queue = queues_[index];
  return queue.end.completion + queue.completions % queue.end.completion_entries * kEntryBlockBytes;
}

void NicDevice::report(const Queue& queue, const NicMessage& message, NicSyndrome syndrome, Picoseconds now) {
  if (errors_.size() >= kMaxErrors) return;
  std::string text = fmt::format("NIC {}, queue pair {:#x}, entry {}: {}", device_.id().value, queue.number,
                                 message.index, syndrome_name(syndrome));
  if (!reason_.empty()) text += ": " + std::exchange(reason_, {});
  errors_.push_back({now, std::move(text)});
}

// ---------------------------------------------------------------------------------------------- responder

NicSyndrome NicDevice::admit(const NicPacket& packet) {
  bool MemoryRights::*right = &MemoryRights::remote_write;
  uint64_t bytes = packet.bytes;
  if (packet.kind == NicPacketKind::read_request) {
    right = &MemoryRights::remote_read;
    bytes = packet.length;
  } else if (packet.kind == NicPacketKind::atomic) {
    right = &MemoryRights::remote_atomic;
  }
  if (packet.length == 0) return NicSyndrome::none;
  std::string why = keys_.refuse(packet.remote_key, packet.remote_address, bytes, false, right);
  if (why.empty() && space_of(packet.remote_address, bytes) == nullptr) why = "the memory is freed";
  if (why.empty()) return NicSyndrome::none;
  if (errors_.size() < kMaxErrors)
    errors_.push_back({device_.process().now(), fmt::format("NIC {} refuses a request of NIC {}: {}",
                                                            device_.id().value, packet.from.value, why)});
  return NicSyndrome::remote_access;
}

void NicDevice::gather_response(NicPacket& packet) {
  if (const MemorySpace* space = space_of(packet.remote_address, packet.bytes))
    space->read(packet.remote_address, packet.bytes, packet.data.data());
}

void NicDevice::place(const NicPacket& packet, Picoseconds now) {
  const bool answer =
      packet.kind == NicPacketKind::read_response || packet.kind == NicPacketKind::atomic_response;
  const uint64_t address = answer ? packet.local_address : packet.remote_address;
  if (answer &&
      !keys_.refuse(packet.local_key, address, packet.bytes, true, &MemoryRights::local_write).empty())
    return;
  if (packet.kind == NicPacketKind::atomic_response && packet.bytes == 4) {
    // Results of 4-byte atomics are big-endian in memory.
    const std::array<uint8_t, 4> swapped{packet.data[3], packet.data[2], packet.data[1], packet.data[0]};
    write(address, swapped, now);
    return;
  }
  write(address, std::span(packet.data).first(packet.bytes), now);
}

void NicDevice::execute(NicPacket& packet, Picoseconds now) {
  const uint32_t bytes = packet.atomic.bytes;
  const MemorySpace* space = space_of(packet.remote_address, bytes);
  if (space == nullptr) return;
  space->read(packet.remote_address, bytes, packet.data.data());
  const uint64_t old = load_word(packet.data.data(), bytes);
  const uint64_t changed = packet.atomic.apply(old);
  std::array<uint8_t, 8> value;
  std::memcpy(value.data(), &changed, sizeof changed);
  write(packet.remote_address, std::span(value).first(bytes), now);
}

}  // namespace ptxwire::sim
