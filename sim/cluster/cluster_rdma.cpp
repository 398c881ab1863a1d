// RDMA as the host sees it: registered memory, connected queue pairs, the doorbell.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "sim/cluster/cluster_implementation.hpp"

namespace ptxwire::sim {

namespace {

constexpr uint32_t kMaxQueueEntries = 32768;
constexpr uint32_t kCompletionBytes = 64, kEntryBytes = 64, kRecordBytes = 8;
constexpr uint8_t kInvalidCompletion = 0xff;

Error no_network() {
  return Error{.message = "the cluster has no network, so its GPUs have no NICs",
               .hint = "create it with a network topology"};
}

}  // namespace

Expected<MemoryKeys> ClusterImplementation::register_memory(GpuId gpu, DeviceAddress address, uint64_t bytes,
                                                            const MemoryRights& rights) {
  if (gpu.value >= gpu_count_) return no_gpu(gpu);
  if (nics_.empty()) return no_network();
  const MemorySpace* space = space_of(address);
  if (space == nullptr || space->resolve(address, bytes) == nullptr) return outside(address, bytes);
  if (home_of(address) % kHostBias != gpu.value)
    return Error{.message = fmt::format("memory at {:#x} belongs to GPU {}, the NIC is that of GPU {}",
                                        address, home_of(address) % kHostBias, gpu.value)};
  return nics_[gpu.value]->register_memory(address, bytes, rights);
}

Expected<void> ClusterImplementation::check_queue_end(const QueueEnd& end) const {
  if (end.gpu.value >= gpu_count_) return no_gpu(end.gpu);
  if (!std::has_single_bit(end.entries) || end.entries > kMaxQueueEntries)
    return Error{.message = fmt::format("a queue of {} entries, expected a power of two up to {}",
                                        end.entries, kMaxQueueEntries)};
  if (end.completion_entries == 0 || !std::has_single_bit(end.completion_entries))
    return Error{.message =
                     fmt::format("{} completion entries, expected a power of two", end.completion_entries)};
  const struct {
    DeviceAddress address;
    uint64_t bytes;
  } ranges[] = {{end.ring, uint64_t{end.entries} * kEntryBytes},
                {end.doorbell_record, kRecordBytes},
                {end.completion, uint64_t{end.completion_entries} * kCompletionBytes}};
  for (const auto& [address, bytes] : ranges) {
    const MemorySpace* space = space_of(address);
    if (space == nullptr || space->resolve(address, bytes) == nullptr) return outside(address, bytes);
    if (home_of(address) % kHostBias != end.gpu.value)
      return Error{.message = fmt::format("the queue's memory at {:#x} is not that of GPU {} or its host",
                                          address, end.gpu.value)};
  }
  return {};
}

Expected<QueueNumbers> ClusterImplementation::connect(const QueueEnd& first, const QueueEnd& second,
                                                      const QueueOptions& options) {
  if (nics_.empty()) return no_network();
  for (const QueueEnd* end : {&first, &second})
    if (const auto valid = check_queue_end(*end); !valid) return valid.error();
  const models::NicId from{first.gpu.value}, to{second.gpu.value};
  for (const auto& [a, b] : {std::pair{from, to}, std::pair{to, from}})
    if (a != b && !network_->routes().reachable(a, b)) return network_->route(a, b).error();
  NicDevice& one = *nics_[first.gpu.value];
  NicDevice& other = *nics_[second.gpu.value];
  const uint32_t index = one.next_queue();
  const uint32_t peer_index = &one == &other ? index + 1 : other.next_queue();
  const auto target = [&](models::NicId nic, uint32_t queue) {
    return models::NicQueueTarget{
        .nic = nic, .queue = queue, .virtual_lane = options.virtual_lane, .adaptive = options.adaptive};
  };
  QueueNumbers numbers;
  numbers.first = one.add_queue(first, target(to, peer_index));
  numbers.second = other.add_queue(second, target(from, index));
  for (const QueueEnd* end : {&first, &second}) {
    const auto entries = view(end->completion, uint64_t{end->completion_entries} * kCompletionBytes);
    std::fill(entries.begin(), entries.end(), kInvalidCompletion);
  }
  return numbers;
}

DeviceAddress ClusterImplementation::doorbell(GpuId gpu) const {
  return home_base(kRegisterBias + gpu.value) + NicDevice::kDoorbellOffset;
}

/// What went wrong at NICs, behind the error of a run that hangs for it.
std::string ClusterImplementation::nic_errors() const {
  constexpr size_t kLines = 6;
  std::string text;
  size_t shown = 0;
  for (const std::unique_ptr<NicDevice>& nic : nics_)
    for (const NicError& error : nic->errors())
      if (shown++ < kLines) text += fmt::format("\n  at {:.3f} us {}", error.time.us(), error.message);
  return shown == 0 ? text : "\nerrors of RDMA before that:" + text;
}

}  // namespace ptxwire::sim
