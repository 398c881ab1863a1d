// What a host says when it lets NICs use memory and connects queues.
#pragma once

#include <cstdint>

#include "models/base/units.hpp"

namespace ptxwire::sim {

using models::GpuId;

/// A device address: valid on every GPU of the node (peer access is on for every allocation), and for every
/// NIC. 0 is never a valid address.
using DeviceAddress = uint64_t;

/// Keys of registered memory as the NIC knows them, in host order; queue entries hold them big-endian.
struct MemoryKeys {
  uint32_t local = 0, remote = 0;
};
/// What others may do with registered memory. The own NIC may read it and, with local_write, write it.
struct MemoryRights {
  bool local_write = true, remote_read = true, remote_write = true, remote_atomic = true;
};

/// One end of a queue pair. Memory is given by whoever creates it, of this GPU or mapped by it.
struct QueueEnd {
  GpuId gpu;                          ///< whose NIC it belongs to
  uint32_t entries = 1024;            ///< of 64 bytes; a power of two up to 32768
  DeviceAddress ring = 0;             ///< of queue entries
  DeviceAddress doorbell_record = 0;  ///< 8 bytes: receive counter, send counter
  DeviceAddress completion = 0;       ///< completion entries of 64 bytes
  uint32_t completion_entries = 1;    ///< 1: collapsed, every completion overwrites entry 0
};
struct QueueOptions {
  uint8_t virtual_lane = 0;
  bool adaptive = false;          ///< packets take any of the equal ways and may overtake each other
  bool relaxed_ordering = false;  ///< writes may become visible out of order
};
/// Of both ends, in host order.
struct QueueNumbers {
  uint32_t first = 0, second = 0;
};

}  // namespace ptxwire::sim
