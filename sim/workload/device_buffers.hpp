// What the host side of every kernel family does with device memory: allocate, fill, look.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/cluster/cluster.hpp"

namespace ptxwire::sim {

inline constexpr uint64_t kSmallestAllocation = 16;

/// Allocates on one GPU; empty buffers get a few bytes, so that every address is valid. Keeps the first error
/// and does nothing after it.
class BufferAllocator {
 public:
  BufferAllocator(Cluster& cluster, uint32_t rank) : cluster_(cluster), gpu_{rank} {}
  void operator()(DeviceAddress& out, uint64_t bytes, const char* name) {
    if (result_) keep(out, cluster_.allocate(gpu_, std::max(bytes, kSmallestAllocation), name));
  }
  void host_mapped(DeviceAddress& out, uint64_t bytes, const char* name) {
    if (result_) keep(out, cluster_.allocate_host_mapped(gpu_, std::max(bytes, kSmallestAllocation), name));
  }
  [[nodiscard]] Expected<void> result() const { return result_; }

 private:
  void keep(DeviceAddress& out, const Expected<DeviceAddress>& address) {
    if (address)
      out = *address;
    else
      result_ = address.error();
  }

  Cluster& cluster_;
  GpuId gpu_;
  Expected<void> result_;
};

/// Writes whole buffers; keeps the first error and does nothing after it.
class BufferWriter {
 public:
  explicit BufferWriter(Cluster& cluster) : cluster_(cluster) {}
  template <typename T>
  void operator()(DeviceAddress address, const std::vector<T>& values) {
    if (!result_ || values.empty()) return;
    result_ =
        cluster_.write(address, {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(T)});
  }
  [[nodiscard]] Expected<void> result() const { return result_; }

 private:
  Cluster& cluster_;
  Expected<void> result_;
};

/// The bytes of a whole buffer as values of T; empty where it cannot be viewed or is empty.
template <typename T>
std::span<T> view_values(Cluster& cluster, DeviceAddress address, uint64_t count) {
  const std::span<uint8_t> bytes = cluster.view(address, count * sizeof(T));
  return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
}

inline Error no_view() { return Error{.message = "device memory cannot be viewed", .path = {}, .hint = {}}; }

}  // namespace ptxwire::sim
