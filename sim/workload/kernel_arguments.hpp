// The parameters of our kernels as the host sees them: the same members in the same order as in
// kernels/src/*.cuh, device pointers as 64-bit addresses.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "sim/cluster/cluster.hpp"

namespace ptxwire::sim {

inline constexpr uint32_t kMaxRanks = 8;
inline constexpr uint32_t kBarrierSlots = 8;  ///< kernels/src/comm.cuh

struct CommBuffers {
  std::array<DeviceAddress, kMaxRanks> peer{};
  std::array<DeviceAddress, kMaxRanks> signals{};
  int64_t matrix = 0, metadata = 0, rows = 0, source = 0, idx = 0, weights = 0, scales = 0;
  int32_t rank = 0, ranks = 0;
};

struct DispatchInput {
  DeviceAddress rows = 0, scales = 0, topk_idx = 0, topk_weights = 0, membership = 0, channel_prefix = 0;
};
struct DispatchOutput {
  DeviceAddress rows = 0, scales = 0, source = 0, topk_idx = 0, topk_weights = 0, channel_offsets = 0,
                slot_record = 0;
};
struct DispatchShape {
  int32_t tokens = 0, row_vectors = 0, scales = 0, topk = 0, experts = 0, ring_slots = 0, chunk = 0;
};

struct CombineInput {
  DeviceAddress rows = 0, topk_weights = 0, source = 0, matrix = 0, channel_offsets = 0, slot_record = 0;
  std::array<DeviceAddress, 2> bias{};
};
struct CombineOutput {
  DeviceAddress rows = 0, topk_weights = 0;
};
struct CombineShape {
  int32_t tokens = 0, row_vectors = 0, topk = 0, ring_slots = 0, chunk = 0;
};

/// kernels/src/ring_broadcast.cu.
struct RingLink {
  DeviceAddress fifo = 0, tail = 0, head = 0;
};
struct RingRank {
  RingLink in, out;
  DeviceAddress input = 0, output = 0, progress = 0;
  int32_t rank = -1, before = -1, after = -1;
};
struct RingShape {
  int64_t vectors = 0;
  int32_t chunk_vectors = 0, fifo_steps = 0;
};

static_assert(sizeof(CommBuffers) == 192 && sizeof(DispatchInput) == 48 && sizeof(DispatchOutput) == 56);
static_assert(sizeof(RingRank) == 88 && sizeof(RingShape) == 16);
static_assert(sizeof(DispatchShape) == 28 && sizeof(CombineInput) == 64 && sizeof(CombineShape) == 20);

/// A launch's parameter block: values in order, each at its natural alignment.
template <typename... Values>
std::vector<uint8_t> pack_parameters(const Values&... values) {
  std::vector<uint8_t> block;
  const auto append = [&]<typename T>(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    block.resize((block.size() + alignof(T) - 1) / alignof(T) * alignof(T) + sizeof(T));
    std::memcpy(block.data() + block.size() - sizeof(T), &value, sizeof(T));
  };
  (append(values), ...);
  return block;
}

}  // namespace ptxwire::sim
