// What a host says when it lets NICs use memory and connects queues.
#pragma once

#include <cstdint>
#include <vector>

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

/// Pieces of memory that requests find elsewhere than they say, because the GPU that they are sent to is not
/// simulated (Cluster::mirror_memory): `count` of `bytes` each, one every `stride` from `address` on, lie
/// `shift` bytes further on.
struct MirrorArea {
  DeviceAddress address = 0;
  uint64_t bytes = 0, stride = 1, count = 0;
  int64_t shift = 0;
  /// A piece is a row of items of this size (0: not), each with a word that says who sent it: it is replaced.
  uint32_t item_bytes = 0, word_offset = 0, word = 0;
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
  bool adaptive = false;  ///< packets take any of the equal ways and may overtake each other
};
/// Of both ends, in host order.
struct QueueNumbers {
  uint32_t first = 0, second = 0;
};

/// A CPU thread that posts RDMA for kernels of a GPU, which hand it requests through a ring in host memory
/// (kernels/src/proxy.cuh has the format).
struct HostProxyConfig {
  GpuId gpu;
  DeviceAddress ring = 0;       ///< host-mapped: requests of four 8-byte words
  uint32_t entries = 0;         ///< of the ring, a power of two
  DeviceAddress completed = 0;  ///< host-mapped: 8 bytes, requests that the thread is done with
  struct Peer {
    uint32_t rank = 0;
    QueueEnd queue;       ///< the end of this GPU
    uint32_t number = 0;  ///< of its queue pair
    DeviceAddress heap = 0;
    std::vector<uint32_t> keys;  ///< remote ones, of the chunks of its heap
  };
  std::vector<Peer> peers;
  DeviceAddress heap = 0;
  std::vector<uint32_t> keys;  ///< local ones, of the chunks of the own heap
  uint32_t key_shift = 29;     ///< a chunk is 1 << key_shift bytes
  DeviceAddress unwanted = 0;  ///< 8 bytes where results of atomics go
  uint32_t unwanted_key = 0;
};

}  // namespace ptxwire::sim
