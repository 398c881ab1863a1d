// Registers of a device in the address space of a GPU: stores there have an effect beyond memory.
#pragma once

#include <cstdint>
#include <span>

#include "models/base/units.hpp"

namespace ptxwire::sim {

class MappedRegisters {
 public:
  /// A store arrived at the device at `now`. Called in the process of its GPU.
  virtual void store(uint64_t address, std::span<const uint8_t> bytes, models::Picoseconds now) = 0;

 protected:
  ~MappedRegisters() = default;
};

}  // namespace ptxwire::sim
