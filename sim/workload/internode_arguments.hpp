// The parameters of the internode kernels as the host sees them: the same members in the same order as in
// kernels/src/internode*.cuh and proxy.cuh, device pointers as 64-bit addresses.
#pragma once

#include <cstdint>

#include "sim/workload/kernel_arguments.hpp"
#include "sim/workload/rdma_heap.hpp"

namespace ptxwire::sim {

inline constexpr uint32_t kRangeInts = 18;  ///< kernels/src/internode.cuh

struct RdmaLayout {
  int64_t send = 0, receive = 0;
  int64_t send_ranges = 0, receive_ranges = 0, consumed = 0, produced = 0;
  int64_t returned = 0;
  int64_t send_counts = 0, receive_counts = 0;
  int64_t send_barrier = 0, receive_barrier = 0;
};

/// kernels/src/proxy.cuh.
struct ProxyState {
  DeviceAddress ring = 0, issued = 0, completed = 0;
  int32_t entries = 0, rank = 0;
};

struct InternodeComm {
  CommBuffers nvlink;
  RdmaState rdma;
  RdmaLayout layout;
  int32_t node = 0, nodes = 0;
  int32_t rdma_slots = 0, slot_bytes = 0;
  int32_t nvlink_slots = 0, nvlink_metadata_ints = 0;
};

struct InternodeRowShape {
  int32_t row_vectors = 0, scales = 0, topk = 0;
};

struct InternodeDispatchInput {
  DeviceAddress rows = 0, scales = 0, topk_idx = 0, topk_weights = 0, membership = 0;
  DeviceAddress rank_channel_prefix = 0, node_channel_prefix = 0, received_per_rank = 0,
                received_per_node = 0;
};
struct InternodeDispatchOutput {
  DeviceAddress rows = 0, scales = 0, meta = 0, topk_idx = 0, topk_weights = 0;
  DeviceAddress slot_record = 0, forward_record = 0, rank_channel_offsets = 0, node_channel_offsets = 0;
};
struct InternodeDispatchShape {
  InternodeRowShape row;
  int32_t tokens = 0, experts = 0, rdma_chunk = 0, nvlink_chunk = 0;
};

struct InternodeCombineInput {
  DeviceAddress rows = 0, meta = 0, topk_weights = 0;
  DeviceAddress received_per_rank = 0, received_per_node = 0, rank_channel_offsets = 0,
                node_channel_offsets = 0;
  DeviceAddress slot_record = 0, forward_record = 0;
};
struct InternodeCombineOutput {
  DeviceAddress rows = 0, topk_weights = 0;
};
struct InternodeCombineShape {
  InternodeRowShape row;
  int32_t tokens = 0, rdma_chunk = 0, nvlink_chunk = 0;
};

struct InternodeNotifyInput {
  DeviceAddress per_rank = 0, per_node = 0, per_expert = 0, membership = 0;
};
struct InternodeNotifyOutput {
  DeviceAddress rank_channel_prefix = 0, node_channel_prefix = 0, received_per_rank = 0,
                received_per_node = 0;
  DeviceAddress host_total = 0, host_node_total = 0, host_experts = 0;
};
struct InternodeNotifyShape {
  int32_t tokens = 0, channels = 0, experts = 0, expert_alignment = 0;
};

static_assert(sizeof(ProxyState) == 32 && sizeof(RdmaLayout) == 88 && sizeof(InternodeComm) == 368);
static_assert(sizeof(InternodeDispatchInput) == 72 && sizeof(InternodeDispatchOutput) == 72);
static_assert(sizeof(InternodeDispatchShape) == 28 && sizeof(InternodeCombineShape) == 24);
static_assert(sizeof(InternodeCombineInput) == 72 && sizeof(InternodeNotifyOutput) == 56);

}  // namespace ptxwire::sim
