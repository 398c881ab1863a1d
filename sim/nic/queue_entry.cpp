#include "sim/nic/queue_entry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace ptxwire::sim {

using models::NicFence;
using models::NicMessage;
using models::NicOperation;
using models::NicSyndrome;

namespace {

template <typename T>
T big(const uint8_t* bytes) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value = static_cast<T>(value << 8U | bytes[i]);
  return value;
}

template <typename T>
void put_big(uint8_t* bytes, T value) {
  for (size_t i = sizeof(T); i-- > 0; value = static_cast<T>(value >> 8U))
    bytes[i] = static_cast<uint8_t>(value & 0xffU);
}

constexpr uint32_t kInlineFlag = 0x80000000;
constexpr uint8_t kModifier4Bytes = 0x08, kModifier8Bytes = 0x09;

/// Reads segments one after the other.
class Segments {
 public:
  explicit Segments(std::span<const uint8_t> entry) : entry_(entry), at_(kSegmentBytes) {}
  /// The next `count` segments, or nothing if the entry ends before.
  const uint8_t* take(uint32_t count) {
    if (at_ + size_t{count} * kSegmentBytes > entry_.size()) return nullptr;
    const uint8_t* segment = entry_.data() + at_;
    at_ += size_t{count} * kSegmentBytes;
    return segment;
  }
  [[nodiscard]] size_t left() const { return entry_.size() - at_; }

 private:
  std::span<const uint8_t> entry_;
  size_t at_;
};

std::string too_short(const char* what) { return fmt::format("it ends before its {} segment", what); }

std::string read_remote(Segments& segments, NicMessage& message) {
  const uint8_t* segment = segments.take(1);
  if (segment == nullptr) return too_short("remote address");
  message.remote_address = big<uint64_t>(segment);
  message.remote_key = big<uint32_t>(segment + 8);
  return {};
}

/// A pointer to data, or the data themselves.
std::string read_data(Segments& segments, NicMessage& message) {
  const uint8_t* segment = segments.take(1);
  if (segment == nullptr) return too_short("data");
  const auto count = big<uint32_t>(segment);
  if ((count & kInlineFlag) == 0) {
    message.bytes = count;
    message.local_key = big<uint32_t>(segment + 4);
    message.local_address = big<uint64_t>(segment + 8);
    return {};
  }
  message.bytes = count & 0x3ffU;
  const size_t room = 12 + segments.left();
  if (message.bytes > room)
    return fmt::format("{} inline bytes do not fit the {} bytes behind their header", message.bytes, room);
  message.inlined.assign(segment + 4, segment + 4 + message.bytes);
  return {};
}

std::string read_atomic(Segments& segments, const EntryControl& control, NicMessage& message) {
  const auto opcode = static_cast<QueueOpcode>(control.opcode);
  const bool masked = opcode == QueueOpcode::masked_compare_swap || opcode == QueueOpcode::masked_fetch_add;
  models::NicAtomic& atomic = message.atomic;
  atomic = {};
  atomic.compare_swap = opcode == QueueOpcode::compare_swap || opcode == QueueOpcode::masked_compare_swap;
  atomic.bytes = masked && control.modifier == kModifier4Bytes ? 4 : 8;
  if (masked && control.modifier != kModifier4Bytes && control.modifier != kModifier8Bytes)
    return fmt::format("its modifier is {:#x}, expected 0x08 (4 bytes) or 0x09 (8 bytes)", control.modifier);
  const bool wide = masked && atomic.compare_swap && atomic.bytes == 8;
  const uint8_t* segment = segments.take(wide ? 2 : 1);
  if (segment == nullptr) return too_short("atomic");
  if (masked && atomic.bytes == 4) {
    atomic.operand = big<uint32_t>(segment);
    if (atomic.compare_swap) {
      atomic.compare = big<uint32_t>(segment + 4);
      atomic.swap_mask = big<uint32_t>(segment + 8);
      atomic.compare_mask = big<uint32_t>(segment + 12);
    } else {
      atomic.boundary = big<uint32_t>(segment + 4);
    }
  } else {
    atomic.operand = big<uint64_t>(segment);
    (atomic.compare_swap ? atomic.compare : atomic.boundary) =
        atomic.compare_swap || masked ? big<uint64_t>(segment + 8) : 0;
    if (wide) {
      atomic.swap_mask = big<uint64_t>(segment + 16);
      atomic.compare_mask = big<uint64_t>(segment + 24);
    }
  }
  std::string problem = read_data(segments, message);
  if (problem.empty() && message.bytes != atomic.bytes)
    problem = fmt::format("its result takes {} bytes, expected {}", message.bytes, atomic.bytes);
  if (problem.empty() && message.remote_address % atomic.bytes != 0)
    problem = fmt::format("the address {:#x} is not a multiple of {}", message.remote_address, atomic.bytes);
  return problem;
}

std::string read_segments(std::span<const uint8_t> entry, const EntryControl& control, NicMessage& message) {
  Segments segments(entry);
  switch (static_cast<QueueOpcode>(control.opcode)) {
    case QueueOpcode::nop:
      return {};
    case QueueOpcode::rdma_write:
    case QueueOpcode::rdma_read: {
      const bool write = control.opcode == static_cast<uint8_t>(QueueOpcode::rdma_write);
      message.operation = write ? NicOperation::write : NicOperation::read;
      if (std::string problem = read_remote(segments, message); !problem.empty()) return problem;
      if (control.segments == 2) return {};  // no data
      return read_data(segments, message);
    }
    case QueueOpcode::compare_swap:
    case QueueOpcode::fetch_add:
    case QueueOpcode::masked_compare_swap:
    case QueueOpcode::masked_fetch_add: {
      message.operation = NicOperation::atomic;
      if (std::string problem = read_remote(segments, message); !problem.empty()) return problem;
      return read_atomic(segments, control, message);
    }
    case QueueOpcode::rdma_write_immediate:
    case QueueOpcode::send:
      return fmt::format("opcode {:#04x} needs a receive queue, which is not modelled", control.opcode);
  }
  return fmt::format("opcode {:#04x} is not executed", control.opcode);
}

}  // namespace

EntryControl decode_control(std::span<const uint8_t, kSegmentBytes> segment) {
  EntryControl control;
  const auto first = big<uint32_t>(segment.data()), second = big<uint32_t>(segment.data() + 4);
  control.opcode = static_cast<uint8_t>(first & 0xffU);
  control.index = static_cast<uint16_t>(first >> 8U & 0xffffU);
  control.modifier = static_cast<uint8_t>(first >> 24U);
  control.queue = second >> 8U;
  control.segments = second & 0x3fU;
  const uint8_t flags = segment[11];
  const uint32_t fence = flags >> 5U;
  if (fence == 3)
    control.fence = NicFence::all;
  else if (fence != 0)
    control.fence = NicFence::reads;
  control.completes = (flags & 0x08U) != 0;  // 2: always, 3: always, with an event
  return control;
}

DecodedEntry decode_entry(std::span<const uint8_t> entry, uint64_t index, uint32_t queue) {
  DecodedEntry decoded;
  NicMessage& message = decoded.message;
  const EntryControl control = decode_control(entry.first<kSegmentBytes>());
  message.index = index;
  message.blocks = std::min(control.blocks(), kMaxEntryBlocks);
  message.fence = control.fence;
  message.completes = control.completes;
  message.opcode = control.opcode;
  if (control.index != (index & 0xffffU))
    decoded.problem = fmt::format("its index field is {}, expected {}", control.index, index & 0xffffU);
  else if (control.queue != queue)
    decoded.problem = fmt::format("it names queue pair {:#x}, expected {:#x}", control.queue, queue);
  else if (control.segments == 0 && control.opcode != 0)
    decoded.problem = "it has no segments";
  else if (control.blocks() > kMaxEntryBlocks)
    decoded.problem =
        fmt::format("it has {} segments, expected at most {}", control.segments, kMaxEntryBlocks * 4);
  else
    decoded.problem = read_segments(
        entry.first(std::min<size_t>(entry.size(), std::max(1U, control.segments) * size_t{kSegmentBytes})),
        control, message);
  if (!decoded.problem.empty()) {
    message.syndrome = NicSyndrome::queue_operation;
    message.operation = NicOperation::nothing;
  }
  return decoded;
}

namespace {

constexpr uint8_t kAlwaysComplete = 0x08;

std::array<uint8_t, kEntryBlockBytes> encode_head(const EntryRequest& request, QueueOpcode opcode,
                                                  uint8_t modifier, uint32_t segments) {
  std::array<uint8_t, kEntryBlockBytes> entry{};
  const auto index = static_cast<uint32_t>(request.index & 0xffffU);
  put_big(entry.data(), uint32_t{modifier} << 24U | index << 8U | static_cast<uint32_t>(opcode));
  put_big(entry.data() + 4, request.queue << 8U | segments);
  entry[11] = kAlwaysComplete;
  put_big(entry.data() + 16, request.remote_address);
  put_big(entry.data() + 24, request.remote_key);
  return entry;
}

void put_data(uint8_t* segment, const EntryRequest& request) {
  put_big(segment, request.bytes);
  put_big(segment + 4, request.local_key);
  put_big(segment + 8, request.local_address);
}

}  // namespace

std::array<uint8_t, kEntryBlockBytes> encode_write(const EntryRequest& request) {
  auto entry = encode_head(request, QueueOpcode::rdma_write, 0, 3);
  put_data(entry.data() + 32, request);
  return entry;
}

std::array<uint8_t, kEntryBlockBytes> encode_add(const EntryRequest& request) {
  auto entry = encode_head(request, QueueOpcode::masked_fetch_add, kModifier4Bytes, 4);
  put_big(entry.data() + 32, request.value);
  put_data(entry.data() + 48, request);
  return entry;
}

std::array<uint8_t, 64> encode_completion(const CompletionEntry& completion, uint64_t ordinal,
                                          uint32_t entries) {
  constexpr uint8_t kRequesterDone = 0, kRequesterError = 13;
  std::array<uint8_t, 64> bytes{};
  const bool error = completion.syndrome != NicSyndrome::none;
  if (error)
    bytes[55] = static_cast<uint8_t>(completion.syndrome);
  else
    put_big(bytes.data() + 44, completion.bytes);
  put_big(bytes.data() + 56, uint32_t{completion.opcode} << 24U | completion.queue);
  put_big(bytes.data() + 60, completion.entry_index);
  const uint8_t owner = (ordinal / entries) % 2 == 0 ? 0 : 1;
  bytes[63] = static_cast<uint8_t>((error ? kRequesterError : kRequesterDone) << 4U | owner);
  return bytes;
}

std::string_view syndrome_name(NicSyndrome syndrome) {
  switch (syndrome) {
    case NicSyndrome::none:
      return "success";
    case NicSyndrome::local_length:
      return "local length error";
    case NicSyndrome::queue_operation:
      return "local queue pair operation error";
    case NicSyndrome::local_protection:
      return "local protection error";
    case NicSyndrome::flushed:
      return "flushed";
    case NicSyndrome::remote_invalid_request:
      return "remote invalid request error";
    case NicSyndrome::remote_access:
      return "remote access error";
    case NicSyndrome::retries_exceeded:
      return "transport retry counter exceeded";
  }
  return "unknown error";
}

}  // namespace ptxwire::sim
