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

/// Whether a range is live memory that the NIC of `gpu` reaches: of this GPU or of its host.
Expected<void> ClusterImplementation::check_own_memory(GpuId gpu, DeviceAddress address,
                                                       uint64_t bytes) const {
  const MemorySpace* space = space_of(address);
  if (space == nullptr || space->resolve(address, bytes) == nullptr) return outside(address, bytes);
  if (home_of(address) % kHostBias != gpu.value)
    return Error{.message =
                     fmt::format("memory at {:#x} belongs to GPU {}, expected that of GPU {} or its host",
                                 address, home_of(address) % kHostBias, gpu.value)};
  return {};
}

Expected<MemoryKeys> ClusterImplementation::register_memory(GpuId gpu, DeviceAddress address, uint64_t bytes,
                                                            const MemoryRights& rights) {
  if (gpu.value >= gpu_count_) return no_gpu(gpu);
  if (nics_.empty()) return no_network();
  if (const auto own = check_own_memory(gpu, address, bytes); !own) return own.error();
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
  for (const auto& [address, bytes] : ranges)
    if (const auto own = check_own_memory(end.gpu, address, bytes); !own) return own.error();
  return {};
}

Expected<QueueNumbers> ClusterImplementation::connect(const QueueEnd& first, const QueueEnd& second,
                                                      const QueueOptions& options) {
  if (nics_.empty()) return no_network();
  for (const QueueEnd* end : {&first, &second})
    if (const auto valid = check_queue_end(*end); !valid) return valid.error();
  const models::NicId from{first.gpu.value}, to{second.gpu.value};
  for (const auto& [a, b] : {std::pair{from, to}, std::pair{to, from}})
    if (a != b && network_->faults().empty() && !network_->routes().reachable(a, b))
      return network_->route(a, b).error();
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
  clear_completions(first);
  clear_completions(second);
  return numbers;
}

void ClusterImplementation::clear_completions(const QueueEnd& end) {
  const auto entries = view(end.completion, uint64_t{end.completion_entries} * kCompletionBytes);
  std::fill(entries.begin(), entries.end(), kInvalidCompletion);
}

Expected<MemoryKeys> ClusterImplementation::mirror_memory(GpuId gpu, DeviceAddress address, uint64_t bytes,
                                                          std::vector<MirrorArea> areas) {
  if (gpu.value >= gpu_count_) return no_gpu(gpu);
  if (nics_.empty()) return no_network();
  if (const auto own = check_own_memory(gpu, address, bytes); !own) return own.error();
  return nics_[gpu.value]->mirror_memory(address, bytes, std::move(areas));
}

Expected<uint32_t> ClusterImplementation::connect_to_itself(const QueueEnd& end,
                                                            const QueueOptions& options) {
  if (nics_.empty()) return no_network();
  if (const auto valid = check_queue_end(end); !valid) return valid.error();
  NicDevice& nic = *nics_[end.gpu.value];
  const uint32_t number = nic.add_queue(end, {.nic = models::NicId{end.gpu.value},
                                              .queue = nic.next_queue(),
                                              .virtual_lane = options.virtual_lane,
                                              .adaptive = options.adaptive});
  clear_completions(end);
  return number;
}

Expected<void> ClusterImplementation::add_proxy(const HostProxyConfig& config) {
  if (config.gpu.value >= gpu_count_) return no_gpu(config.gpu);
  if (nics_.empty()) return no_network();
  if (!std::has_single_bit(config.entries))
    return Error{.message = fmt::format("a ring of {} requests, expected a power of two", config.entries)};
  const struct {
    DeviceAddress address;
    uint64_t bytes;
  } ranges[] = {{config.ring, uint64_t{config.entries} * HostProxy::kRequestBytes}, {config.completed, 8}};
  for (const auto& [address, bytes] : ranges) {
    if (const auto own = check_own_memory(config.gpu, address, bytes); !own) return own.error();
    if (home_of(address) != kHostBias + config.gpu.value)
      return Error{.message = fmt::format("the ring at {:#x} is not in the host memory of GPU {}", address,
                                          config.gpu.value)};
  }
  proxies_.push_back(std::make_unique<HostProxy>(machine_.host, config, group_, *devices_[config.gpu.value],
                                                 *nics_[config.gpu.value]));
  return {};
}

DeviceAddress ClusterImplementation::doorbell(GpuId gpu) const {
  return home_base(kRegisterBias + gpu.value) + NicDevice::kDoorbellOffset;
}

std::vector<std::string> ClusterImplementation::rdma_errors() const {
  std::vector<std::pair<Picoseconds, std::string>> errors;
  for (const std::unique_ptr<NicDevice>& nic : nics_)
    for (const NicError& error : nic->errors())
      errors.emplace_back(error.time, fmt::format("at {:.3f} us: {}", error.time.us(), error.message));
  std::stable_sort(errors.begin(), errors.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> texts;
  for (auto& [time, text] : errors) texts.push_back(std::move(text));
  return texts;
}

/// Behind the error of a run that hangs: what went wrong at NICs may be the reason.
std::string ClusterImplementation::rdma_error_words() const {
  constexpr size_t kLines = 6;
  const std::vector<std::string> errors = rdma_errors();
  if (errors.empty()) return {};
  std::string text = "\nerrors of RDMA before that:";
  for (size_t i = 0; i < std::min(kLines, errors.size()); ++i) text += "\n  " + errors[i];
  return text;
}

}  // namespace ptxwire::sim
