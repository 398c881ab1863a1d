// Which settings the internode kernels take.
#include <algorithm>
#include <string>

#include "sim/workload/faults.hpp"
#include "sim/workload/internode.hpp"
#include "sim/workload/mirror.hpp"

namespace ptxwire::sim {

namespace {

constexpr uint32_t kMaxDispatchNodes = 32;  ///< a lane of a warp each
constexpr uint32_t kMaxCombineNodes = 16;   ///< a forwarding warp each beside the other roles
constexpr uint32_t kMaxChannels = 32;       ///< a warp each in notify
constexpr uint32_t kMinSms = 4;             ///< notify's CTAs: barriers, slot records, forward records
constexpr uint32_t kRdmaSenders = 7;
/// Staging of a warp without its mbarriers: kernels/src/internode_{dispatch,combine}_d.cu.
constexpr uint32_t kMostDispatchSlotBytes = 16384 - 16, kMostCombineSlotBytes = 3 * 9248 - 32;
constexpr uint32_t kMaxQueues = 64, kMaxVirtualLanes = 8;

Error refuse(const Scenario& s, std::string message, std::string hint = {}) {
  return Error{.message = std::move(message), .path = s.path, .hint = std::move(hint)};
}

std::string number(uint64_t value) { return std::to_string(value); }

/// A ring must hold what can be in use without being given back, and one chunk more; otherwise sender and
/// receiver wait for each other for ever. Slots are given back a chunk at a time.
Expected<void> validate_rdma_ring(const Scenario& s) {
  const uint64_t slots = InternodeLayout(s).rdma_slots;
  if (s.rdma_chunk == 0 || 2 * uint64_t{s.rdma_chunk} > slots)
    return refuse(s,
                  "'rdma_chunk' is " + number(s.rdma_chunk) + ", expected 1 to half of the " + number(slots) +
                      " rdma_slots",
                  "slots are given back a chunk at a time, so a ring holds two at least");
  // Dispatch: rows that the senders have not told the coordinator of. Combine: rows of the tokens that the
  // receivers are at.
  const uint64_t held = is_dispatch(s) ? kRdmaSenders : combine_receivers(s);
  const uint64_t needed = 2 * uint64_t{s.rdma_chunk} + held - 1;
  if (slots < needed)
    return refuse(s,
                  "'rdma_slots' is " + number(s.rdma_slots) + ", chunks of " + number(s.rdma_chunk) +
                      " need " + number(needed),
                  number(held) + " warps hold a row each, and slots are given back a chunk at a time");
  return {};
}

Expected<void> validate_nvlink_ring(const Scenario& s) {
  const uint32_t nodes = node_count(s);
  if (is_dispatch(s)) {
    if (s.nvlink_chunk == 0 || s.nvlink_chunk > s.nvlink_slots)
      return refuse(s, "'nvlink_chunk' is " + number(s.nvlink_chunk) + ", expected 1 to the " +
                           number(s.nvlink_slots) + " nvlink_slots");
    return {};
  }
  if (s.nvlink_slots % nodes != 0)
    return refuse(s, "'nvlink_slots' is " + number(s.nvlink_slots) + ", expected a multiple of the " +
                         number(nodes) + " nodes: combine splits a ring by node");
  const uint32_t warps = combine_forwarders_per_node(s), part = s.nvlink_slots / nodes;
  if (s.rdma_chunk < warps)
    return refuse(s, "'rdma_chunk' is " + number(s.rdma_chunk) + ", combine on " + number(nodes) +
                         " nodes needs " + number(warps) + ": as many warps share a chunk");
  const uint32_t needed = s.nvlink_chunk + 2 * warps;
  if (s.nvlink_chunk == 0 || part < needed || part <= std::max(s.rdma_chunk, s.nvlink_chunk))
    return refuse(s,
                  "'nvlink_slots' is " + number(s.nvlink_slots) + ", " + number(part) +
                      " per node; expected " +
                      number(std::max(needed, std::max(s.rdma_chunk, s.nvlink_chunk) + 1)) +
                      " per node and an nvlink_chunk of 1 at least",
                  "a part of a ring holds more than either chunk, and what its forwarders are at");
  return {};
}

}  // namespace

Expected<void> validate_internode(const Scenario& s) {
  const uint32_t most = is_dispatch(s) ? kMaxDispatchNodes : kMaxCombineNodes;
  if (s.ranks % kGpusPerNode != 0 || node_count(s) < 2 || node_count(s) > most)
    return refuse(s, "'ranks' is " + number(s.ranks) + ", the internode kernels take 8 on each of 2 to " +
                         number(most) + " nodes");
  if (s.revision == KernelRevision::c) return refuse(s, "'revision': the internode kernels have a, b and d");
  const uint32_t slot = InternodeLayout(s).slot_bytes;
  const uint32_t most_slot = is_dispatch(s) ? kMostDispatchSlotBytes : kMostCombineSlotBytes;
  if (s.revision == KernelRevision::d && slot > most_slot)
    return refuse(s, "'hidden' is " + number(s.hidden) + ": slots of " + number(slot) +
                         " bytes do not fit the staging of revision d, at most " + number(most_slot));
  if (s.revision == KernelRevision::a && s.queues > 1)
    return refuse(s, "'queues' is " + number(s.queues) + ", the host of revision a posts on one per peer");
  if (s.sms < kMinSms || s.sms % 2 != 0 || s.channels() > kMaxChannels)
    return refuse(s, "'sms' is " + number(s.sms) + ", expected an even number from " + number(kMinSms) +
                         " to " + number(2 * kMaxChannels) + ": a channel is two CTAs");
  if (s.queues > kMaxQueues)
    return refuse(
        s, "'queues' is " + number(s.queues) + ", expected at most " + number(kMaxQueues) + " per peer");
  if (s.virtual_lane >= kMaxVirtualLanes)
    return refuse(
        s, "'virtual_lane' is " + number(s.virtual_lane) + ", expected 0 to " + number(kMaxVirtualLanes - 1));
  if (!is_dispatch(s) && s.notify == NotifyMode::full)
    return refuse(s, "'notify' is full, but combine takes the counts of a dispatch");
  if (const auto valid = validate_faults(s, true); !valid) return valid.error();
  if (const auto valid = validate_mirror(s); !valid) return valid.error();
  if (const auto valid = validate_rdma_ring(s); !valid) return valid.error();
  return validate_nvlink_ring(s);
}

}  // namespace ptxwire::sim
