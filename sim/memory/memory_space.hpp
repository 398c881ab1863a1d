// The bytes of one home (a GPU or its mapped host memory): allocations in a sparse address range.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "support/error.hpp"

namespace ptxwire::sim {

struct Allocation {
  uint64_t base = 0;
  uint64_t bytes = 0;
  uint8_t* data = nullptr;
  std::string name;
  bool freed = false;
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
    return allocation.data + offset;
  }
  /// Words for a fault report: which allocation is near, freed or too short.
  [[nodiscard]] std::string describe(uint64_t address, uint64_t bytes) const;
  [[nodiscard]] uint64_t allocated_bytes() const { return allocated_; }

 private:
  static constexpr uint32_t kPageShift = 21;
  static constexpr uint32_t kNone = UINT32_MAX;
  uint64_t base_;
  uint64_t next_ = 0;  ///< offset of the next free page
  uint64_t allocated_ = 0;
  std::vector<uint32_t> page_owner_;
  std::vector<Allocation> allocations_;
};

}  // namespace ptxwire::sim
