// The bytes of one home (a GPU or its mapped host memory): allocations in a sparse address range.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "support/error.hpp"

namespace ptxwire::sim {

/// Rows whose first `bytes` are payload that is not stored: it is read as zeros and writes of it are dropped.
/// Bytes between the payload of one row and the next row are ordinary memory.
struct ElidedRows {
  uint64_t address = 0;  ///< of the first row
  uint64_t bytes = 0;    ///< of payload per row
  uint64_t stride = 0;   ///< from row to row
  uint64_t count = 0;

  [[nodiscard]] uint64_t end() const { return address + count * stride; }
};

struct Allocation {
  uint64_t base = 0;
  uint64_t bytes = 0;
  uint8_t* data = nullptr;
  std::string name;
  bool freed = false;
  std::vector<ElidedRows> elided;  ///< by address
};

/// Zeroed, lazily backed memory. Every allocation starts on its own 2 MiB page with an unmapped page behind
/// it, so an overrun faults and a lookup is one table access. Lookups may run on several threads; allocate
/// and free may not.
class MemorySpace {
 public:
  explicit MemorySpace(uint32_t home);
  ~MemorySpace();
  MemorySpace(const MemorySpace&) = delete;
  MemorySpace& operator=(const MemorySpace&) = delete;

  Expected<uint64_t> allocate(uint64_t bytes, std::string name, uint64_t align);
  Expected<void> free(uint64_t address);

  /// Pointer to [address, address + bytes), or nullptr if it is not inside one live allocation.
  [[nodiscard]] uint8_t* resolve(uint64_t address, uint64_t bytes) const {
    const uint64_t page = (address - base_) >> kPageShift;
    if (page >= page_owner_.size()) return nullptr;
    const uint32_t owner = page_owner_[page];
    if (owner == kNone) return nullptr;
    const Allocation& allocation = allocations_[owner];
    const uint64_t offset = address - allocation.base;
    if (allocation.freed || offset > allocation.bytes || bytes > allocation.bytes - offset) return nullptr;
    if (!allocation.elided.empty()) return place_of(allocation, address, bytes);
    return allocation.data + offset;
  }
  /// Marks rows as payload. Errors: rows that are not inside one allocation, overlap others or each other.
  Expected<void> elide(const ElidedRows& rows);
  /// Whether anything is elided here.
  [[nodiscard]] bool elides() const { return elides_; }
  /// Whether any of these bytes is elided payload.
  [[nodiscard]] bool is_elided(uint64_t address, uint64_t bytes) const;
  /// Copies bytes of one live allocation out of memory or into it, elided ones as zeros or not at all.
  void read(uint64_t address, uint64_t bytes, uint8_t* to) const;
  void write(uint64_t address, uint64_t bytes, const uint8_t* from);
  /// Words for a fault report: which allocation is near, freed or too short.
  [[nodiscard]] std::string describe(uint64_t address, uint64_t bytes) const;
  [[nodiscard]] uint64_t allocated_bytes() const { return allocated_; }

 private:
  /// Where elided rows are: bytes that are kept lie packed at the start of their rows' range. A place that
  /// holds nothing but payload, or both, is scratch memory of the calling thread.
  static uint8_t* place_of(const Allocation& allocation, uint64_t address, uint64_t bytes);
  [[nodiscard]] const Allocation* allocation_of(uint64_t address) const;
  /// Calls visit(address, bytes, memory or null) for the runs of kept and of elided bytes.
  template <typename Visit>
  static void visit_runs(const Allocation& allocation, uint64_t address, uint64_t bytes, Visit visit);

  static constexpr uint32_t kPageShift = 21;
  static constexpr uint32_t kNone = UINT32_MAX;
  uint64_t base_;
  uint64_t next_ = 0;  ///< offset of the next free page
  uint64_t allocated_ = 0;
  bool elides_ = false;
  std::vector<uint32_t> page_owner_;
  std::vector<Allocation> allocations_;
};

}  // namespace ptxwire::sim
