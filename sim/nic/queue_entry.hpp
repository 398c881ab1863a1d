// Entries of a send queue as kernels write them: mlx5 layout (rdma-core, providers/mlx5/mlx5dv.h and
// linux/mlx5/qp.h), all fields big-endian. An entry is a row of segments of 16 bytes, the control segment
// first; it takes whole blocks of 64 bytes.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "models/fabric/nic.hpp"

namespace ptxwire::sim {

inline constexpr uint32_t kEntryBlockBytes = 64, kSegmentBytes = 16;
/// Blocks of one entry at most (linux/mlx5/qp.h).
inline constexpr uint32_t kMaxEntryBlocks = 16;

enum class QueueOpcode : uint8_t {
  nop = 0x00,
  rdma_write = 0x08,
  rdma_write_immediate = 0x09,
  send = 0x0a,
  rdma_read = 0x10,
  compare_swap = 0x11,
  fetch_add = 0x12,
  masked_compare_swap = 0x14,
  masked_fetch_add = 0x15
};

/// The control segment.
struct EntryControl {
  uint8_t opcode = 0, modifier = 0;
  uint16_t index = 0;
  uint32_t queue = 0;     ///< number of the queue pair
  uint32_t segments = 0;  ///< of the whole entry
  models::NicFence fence = models::NicFence::none;
  bool completes = false;
  [[nodiscard]] uint32_t blocks() const { return segments == 0 ? 1 : (segments + 3) / 4; }
};
EntryControl decode_control(std::span<const uint8_t, kSegmentBytes> segment);

/// What an entry says, or why it cannot be executed (then `message.syndrome` is set too).
struct DecodedEntry {
  models::NicMessage message;
  std::string problem;  ///< empty: none
};

/// `entry` holds the blocks that the control segment asks for. `index` is the place in the ring, never
/// wrapped, `queue` the number of the queue pair.
DecodedEntry decode_entry(std::span<const uint8_t> entry, uint64_t index, uint32_t queue);

/// What a host writes for a put or an addition to a 32-bit word (masked fetch and add).
struct EntryRequest {
  uint32_t queue = 0;
  uint64_t index = 0;
  uint64_t remote_address = 0;
  uint32_t remote_key = 0;
  uint64_t local_address = 0;
  uint32_t local_key = 0;
  uint32_t value = 0;  ///< to add
  uint32_t bytes = 0;
};
std::array<uint8_t, kEntryBlockBytes> encode_write(const EntryRequest& request);
std::array<uint8_t, kEntryBlockBytes> encode_add(const EntryRequest& request);

/// A completion entry of 64 bytes. `ordinal` counts the completions of its queue: it gives the owner bit of a
/// queue with `entries` entries.
struct CompletionEntry {
  uint32_t queue = 0;
  uint16_t entry_index = 0;  ///< of the first block of the entry that is complete
  uint8_t opcode = 0;        ///< of that entry
  uint32_t bytes = 0;
  models::NicSyndrome syndrome = models::NicSyndrome::none;
};
std::array<uint8_t, 64> encode_completion(const CompletionEntry& completion, uint64_t ordinal,
                                          uint32_t entries);

/// Words for a syndrome, as in "remote access error".
std::string_view syndrome_name(models::NicSyndrome syndrome);

}  // namespace ptxwire::sim
