// Ranges of memory that a NIC may use, and the keys that name them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/fabric/nic.hpp"
#include "sim/nic/queue_pair.hpp"

namespace ptxwire::sim {

class MemoryKeyTable {
 public:
  explicit MemoryKeyTable(uint32_t nic) : nic_(nic) {}

  MemoryKeys add(DeviceAddress address, uint64_t bytes, const MemoryRights& rights);

  /// Why these bytes may not be used so, or nothing. `local`: by the own NIC's queues, else by others.
  [[nodiscard]] std::string refuse(uint32_t key, uint64_t address, uint64_t bytes, bool local,
                                   bool MemoryRights::*right) const;

 private:
  struct Region {
    DeviceAddress address = 0;
    uint64_t bytes = 0;
    MemoryRights rights;
  };
  [[nodiscard]] const Region* find(uint32_t key, bool local) const;

  uint32_t nic_;
  std::vector<Region> regions_;
};

}  // namespace ptxwire::sim
