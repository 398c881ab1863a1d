// The seam between function and time. Execution creates a transaction; models carry it through ports and
// queues and say when its parts reach their home and when it is back. At home the client performs it on
// memory. Models never read data; memory never knows latency.
#pragma once

#include <array>
#include <cstdint>

#include "models/base/spread.hpp"
#include "models/base/units.hpp"

namespace ptxwire::models {

/// prefetch brings lines into L2, discard gives up dirty bytes without writing them back, reprioritise only
/// sets the eviction class of lines that are present. Nobody waits for these three.
enum class AccessKind : uint8_t { load, store, atomic, reduction, prefetch, discard, reprioritise };
enum class L2Priority : uint8_t { normal, first, last, unchanged };

inline constexpr uint32_t kLineBytes = 128;
inline constexpr uint32_t kSectorBytes = 32;

constexpr uint64_t line_of(uint64_t address) { return address & ~uint64_t{kLineBytes - 1}; }

/// Sectors in a mask of a line. A table: without -mpopcnt std::popcount is a library call.
constexpr uint32_t sector_count(uint8_t sector_mask) {
  constexpr std::array<uint8_t, 16> kCount{0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};
  return kCount[sector_mask & 0xfU];
}

/// Sectors of a line that `bytes` from `offset` in it on touch; they must not leave the line.
constexpr uint8_t sectors_touched(uint64_t offset, uint64_t bytes) {
  return static_cast<uint8_t>((2U << ((offset + bytes - 1) / kSectorBytes)) -
                              (1U << (offset / kSectorBytes)));
}

/// How long L2 is asked to keep the lines of an access: `primary` for `sixteenths` of 16 lines, the same ones
/// every time, and `others` for the rest (createpolicy.fractional).
struct L2Hint {
  L2Priority primary = L2Priority::normal, others = L2Priority::unchanged;
  uint8_t sixteenths = 16;

  [[nodiscard]] constexpr L2Priority of(uint64_t line) const {
    return sixteenths >= 16 || golden_hash(line / kLineBytes) >> 28U < sixteenths ? primary : others;
  }
};

/// Whose use of L2 is told apart in one GPU; 0 is nobody. The client says which kernel has which number.
inline constexpr unsigned kMaxOwners = 16;

/// What one warp operation touches in one 128-byte line.
struct TransactionPart {
  uint64_t line = 0;        ///< device address of the line (multiple of 128)
  uint32_t lane_mask = 0;   ///< lanes of the operation that fall into it (bulk copies: unused)
  uint16_t bytes = 0;       ///< bytes touched
  uint8_t sector_mask = 0;  ///< of its four 32-byte sectors
};

class MemoryClient;

/// One memory operation of a warp, a bulk-copy engine or another agent, to one home. Owned by the client of
/// the source; while it travels, exactly one logical process at a time touches it.
struct Transaction {
  static constexpr unsigned kMaxParts = 32;

  AccessKind kind = AccessKind::load;
  L2Hint l2_hint;
  uint8_t owner = 0;               ///< kernel that asks
  uint16_t l2_prefetch_bytes = 0;  ///< 0, 64, 128, 256: sectors to fetch around a miss
  bool host_memory =
      false;  ///< home is host memory behind PCIe (home_gpu is the GPU whose host link is used)
  bool answer_at_once =
      false;            ///< its client can take the answer inside submit(): a model without time gives it
  bool posted = false;  ///< stores and reductions: completion is only an acknowledgement
  GpuId source_gpu{}, home_gpu{};
  SmId source_sm{};
  uint8_t part_count = 0;
  uint8_t parts_pending = 0;       ///< parts not yet completed; kept by the models
  Picoseconds ready{};             ///< latest completion of a part so far; kept by the models
  MemoryClient* client = nullptr;  ///< performs and is told of completion
  std::array<TransactionPart, kMaxParts> parts{};

  [[nodiscard]] uint32_t bytes() const {
    uint32_t sum = 0;
    for (unsigned i = 0; i < part_count; ++i) sum += parts[i].bytes;
    return sum;
  }
  /// Sectors of the first `count` parts.
  [[nodiscard]] uint32_t sectors(unsigned count) const {
    uint32_t sum = 0;
    for (unsigned i = 0; i < count; ++i) sum += sector_count(parts[i].sector_mask);
    return sum;
  }
  /// The part of a line (line_of() of an address), which is added without bytes if there is none.
  TransactionPart& part_of(uint64_t line) {
    unsigned i = part_count;
    while (i != 0 && parts[i - 1].line != line) --i;
    if (i != 0) return parts[i - 1];
    parts[part_count] = {.line = line};
    return parts[part_count++];
  }
  /// The parts become those of a range of bytes.
  void cover(uint64_t begin, uint64_t bytes) {
    const uint64_t end = begin + bytes;
    part_count = 0;
    for (uint64_t line = line_of(begin); line < end; line += kLineBytes) {
      const uint64_t from = begin < line ? line : begin;
      const uint64_t to = end < line + kLineBytes ? end : line + kLineBytes;
      parts[part_count++] = {.line = line,
                             .bytes = static_cast<uint16_t>(to - from),
                             .sector_mask = sectors_touched(from - line, to - from)};
    }
  }
  [[nodiscard]] bool remote() const { return source_gpu != home_gpu; }
};

/// The functional side of a transaction.
class MemoryClient {
 public:
  /// Parts [first, first+count) reached their home at `now`: read or write memory. Runs in the process of the
  /// home GPU.
  virtual void perform(Transaction& transaction, unsigned first, unsigned count, Picoseconds now) = 0;
  /// Every part is done and the answer is back at the source at `now`. Runs in the process of the source GPU;
  /// the transaction may be reused after it returns.
  virtual void complete(Transaction& transaction, Picoseconds now) = 0;

 protected:
  ~MemoryClient() = default;
};

}  // namespace ptxwire::models
