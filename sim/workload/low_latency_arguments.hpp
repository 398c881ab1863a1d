// The parameters of the low-latency kernels as the host sees them (kernels/src/low_latency*.cuh).
#pragma once

#include <cstdint>

#include "sim/cluster/cluster.hpp"

namespace ptxwire::sim {

struct LowLatencySet {
  DeviceAddress send = 0, receive = 0, flags = 0, next_flags = 0;
};
struct LowLatencyWorkspace {
  DeviceAddress slots = 0, finished = 0, received = 0, cleared = 0, grid = 0;
};
struct LowLatencyShape {
  int32_t tokens = 0, hidden = 0, topk = 0, experts = 0, groups = 0, doorbell_batch = 0, phases = 0;
};
struct LowLatencyDispatchInput {
  DeviceAddress rows = 0, experts = 0;
};
struct LowLatencyDispatchOutput {
  DeviceAddress rows = 0, scales = 0, source = 0, segments = 0, counts = 0;
};
struct LowLatencyCombineInput {
  DeviceAddress rows = 0;
  int64_t row_stride = 0;
  DeviceAddress source = 0, segments = 0, experts = 0, weights = 0;
};
static_assert(sizeof(LowLatencySet) == 32 && sizeof(LowLatencyWorkspace) == 40);
static_assert(sizeof(LowLatencyShape) == 28 && sizeof(LowLatencyCombineInput) == 48);

}  // namespace ptxwire::sim
