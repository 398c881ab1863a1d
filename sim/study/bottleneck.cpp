#include "sim/study/bottleneck.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <optional>
#include <span>

namespace ptxwire::sim {
namespace {

constexpr double kLeastShownShare = 0.01;
constexpr double kBindingUse = 0.8;
/// Share of the time that links hold packets which the switch does not take: contention at its outputs.
constexpr std::string_view kBlocked = "nvlink blocked", kNicBlocked = "nic blocked";
constexpr std::array<std::string_view, 2> kParityNames = {"even CTAs", "odd CTAs"};
constexpr size_t kReasons = static_cast<size_t>(WaitReason::count);

std::string percent(double share) {
  char text[16];
  std::snprintf(text, sizeof text, "%.0f %%", 100 * share);
  return text;
}

std::string label(const LaunchReport& launch) { return launch.role.empty() ? launch.kernel : launch.role; }

std::string role_name(const std::string& kernel, size_t parity, const CtaRoles& known) {
  std::string ctas(kParityNames[parity]);
  if (kernel != known.kernel || known.names[parity].empty()) return ctas;
  return known.names[parity] + " (" + ctas + ')';
}

/// The last launch of each kernel on each GPU, in order of first appearance of the kernel.
std::vector<const LaunchReport*> last_launches(const std::vector<LaunchReport>& launches) {
  std::map<std::pair<std::string, uint32_t>, const LaunchReport*> last;
  for (const LaunchReport& launch : launches) {
    const LaunchReport*& slot = last[{label(launch), launch.gpu.value}];
    if (slot == nullptr || slot->finished <= launch.finished) slot = &launch;
  }
  std::vector<const LaunchReport*> list;
  for (const LaunchReport& launch : launches) {
    if (last.at({label(launch), launch.gpu.value}) == &launch) list.push_back(&launch);
  }
  return list;
}

/// Time of one reason. Lanes that wait for other lanes of their warp are left out: what those do is what the
/// warp does.
models::Picoseconds time_of(const WarpProfile& profile, size_t reason) {
  return static_cast<WaitReason>(reason) == WaitReason::reconverge ? models::Picoseconds{}
                                                                   : profile.time[reason];
}

double total_ps(const WarpProfile& profile) {
  double sum = 0;
  for (size_t reason = 0; reason < kReasons; ++reason) {
    sum += static_cast<double>(time_of(profile, reason).value);
  }
  return sum;
}

std::vector<WaitShare> waits_of(const WarpProfile& profile) {
  const double total = total_ps(profile);
  std::vector<WaitShare> waits;
  if (total <= 0 || profile.warps == 0) return waits;
  for (size_t reason = 0; reason < kReasons; ++reason) {
    const models::Picoseconds time = time_of(profile, reason);
    const double share = static_cast<double>(time.value) / total;
    if (share < kLeastShownShare) continue;
    waits.push_back({std::string(wait_reason_name(static_cast<WaitReason>(reason))),
                     time.us() / static_cast<double>(profile.warps), share});
  }
  std::stable_sort(waits.begin(), waits.end(),
                   [](const WaitShare& a, const WaitShare& b) { return a.share > b.share; });
  return waits;
}

/// Sums the profiles of one kernel over the GPUs.
std::vector<RoleProfile> role_profiles(const std::vector<const LaunchReport*>& launches,
                                       const CtaRoles& known) {
  std::vector<std::string> kernels;
  std::map<std::string, std::array<WarpProfile, 2>> sums;
  for (const LaunchReport* launch : launches) {
    const std::string kernel = label(*launch);
    if (!sums.contains(kernel)) kernels.push_back(kernel);
    for (size_t parity = 0; parity < 2; ++parity) {
      WarpProfile& sum = sums[kernel][parity];
      for (size_t reason = 0; reason < kReasons; ++reason) {
        sum.time[reason] += launch->profile[parity].time[reason];
      }
      sum.warps += launch->profile[parity].warps;
      sum.instructions += launch->profile[parity].instructions;
    }
  }
  std::vector<RoleProfile> roles;
  for (const std::string& kernel : kernels) {
    for (size_t parity = 0; parity < 2; ++parity) {
      const WarpProfile& sum = sums.at(kernel)[parity];
      if (sum.warps == 0) continue;
      roles.push_back({.kernel = kernel,
                       .role = role_name(kernel, parity, known),
                       .warps = sum.warps,
                       .instructions = sum.instructions,
                       .waits = waits_of(sum)});
    }
  }
  return roles;
}

template <typename Read>
ResourceUse use_of(std::string name, std::span<const GpuReport> gpus, Read read) {
  ResourceUse use{.name = std::move(name)};
  for (const GpuReport& gpu : gpus) {
    use.mean += read(gpu) / static_cast<double>(gpus.size());
    use.peak = std::max(use.peak, read(gpu));
  }
  return use;
}

std::vector<ResourceUse> resource_uses(std::span<const GpuReport> gpus) {
  if (gpus.empty()) return {};
  ResourceUse egress =
      use_of("nvlink egress", gpus, [](const GpuReport& gpu) { return gpu.nvlink_egress_utilisation; });
  for (const GpuReport& gpu : gpus) egress.peak = std::max(egress.peak, gpu.nvlink_egress_max_utilisation);
  std::vector<ResourceUse> uses = {
      egress,
      use_of("nvlink ingress", gpus, [](const GpuReport& gpu) { return gpu.nvlink_ingress_utilisation; }),
      use_of(std::string(kBlocked), gpus, [](const GpuReport& gpu) { return gpu.nvlink_blocked_share; }),
      use_of("l2", gpus, [](const GpuReport& gpu) { return gpu.l2_utilisation; }),
      use_of("hbm", gpus, [](const GpuReport& gpu) { return gpu.hbm_utilisation; }),
      use_of("hbm rows", gpus, [](const GpuReport& gpu) { return gpu.hbm_activate_utilisation; })};
  const ResourceUse pcie =
      use_of("pcie", gpus, [](const GpuReport& gpu) { return gpu.nic.pcie_utilisation; });
  if (pcie.peak > 0) {
    uses.push_back(
        use_of("nic egress", gpus, [](const GpuReport& gpu) { return gpu.nic.egress_utilisation; }));
    uses.push_back(
        use_of("nic ingress", gpus, [](const GpuReport& gpu) { return gpu.nic.ingress_utilisation; }));
    uses.push_back(use_of(std::string(kNicBlocked), gpus,
                          [](const GpuReport& gpu) { return gpu.nic.egress_blocked_share; }));
    uses.push_back(pcie);
  }
  const ResourceUse tensor_cores =
      use_of("tensor cores", gpus, [](const GpuReport& gpu) { return gpu.tensor_core_utilisation; });
  if (tensor_cores.peak > 0) uses.push_back(tensor_cores);  // most kernels leave them alone
  return uses;
}

WaitReason longest_wait(const WarpProfile& profile) {
  size_t longest = 0;
  for (size_t reason = 1; reason < kReasons; ++reason) {
    if (time_of(profile, reason) > time_of(profile, longest)) longest = reason;
  }
  return static_cast<WaitReason>(longest);
}

bool is_poll(WaitReason reason) {
  return reason == WaitReason::local_poll || reason == WaitReason::remote_poll || reason == WaitReason::sleep;
}

/// Waiting for other warps of the same CTA, which have their own reasons.
bool is_join(WaitReason reason) {
  return reason == WaitReason::barrier || reason == WaitReason::named_barrier ||
         reason == WaitReason::cluster_barrier || reason == WaitReason::reconverge;
}

/// What a wait that is neither a poll nor a join is a wait for.
std::string_view meaning(WaitReason reason) {
  switch (reason) {
    case WaitReason::issuing:
      return "instruction issue and ALU latency";
    case WaitReason::local_load:
      return "local L2 and HBM latency";
    case WaitReason::remote_load:
      return "NVLink round trips of loads";
    case WaitReason::shared_memory:
      return "shared memory";
    case WaitReason::store_window:
      return "room for stores: the way to the destination is full";
    case WaitReason::release_fence:
      return "acknowledgements of earlier stores";
    case WaitReason::mbarrier:
    case WaitReason::bulk_copy:
      return "bulk copies";
    case WaitReason::atomic:
      return "atomics at their home";
    case WaitReason::tensor_core:
      return "matrix products on the tensor cores";
    default:
      return "other warps";
  }
}

double share_of(const WarpProfile& profile, WaitReason reason) {
  const double total = total_ps(profile);
  return total > 0 ? static_cast<double>(time_of(profile, static_cast<size_t>(reason)).value) / total : 0;
}

/// The longest wait that is a wait for hardware, not for other warps.
std::optional<WaitReason> longest_hardware_wait(const WarpProfile& profile) {
  std::optional<WaitReason> longest;
  for (size_t i = 0; i < kReasons; ++i) {
    const auto reason = static_cast<WaitReason>(i);
    if (is_poll(reason) || is_join(reason) || profile.time[i].value == 0) continue;
    if (!longest || profile.time[i] > profile.time[static_cast<size_t>(*longest)]) longest = reason;
  }
  return longest;
}

/// Share of the time that the role does not spend waiting for other warps.
double own_share(const WarpProfile& profile) {
  double share = 0;
  for (size_t i = 0; i < kReasons; ++i) {
    const auto reason = static_cast<WaitReason>(i);
    if (!is_poll(reason) && !is_join(reason)) share += share_of(profile, reason);
  }
  return share;
}

/// From the role that waits most for others to the role that it waits for, to the hardware that one waits
/// for.
std::vector<PathStep> waits_path(const LaunchReport& launch, const CtaRoles& known) {
  std::vector<PathStep> path;
  const size_t waiting = own_share(launch.profile[1]) <= own_share(launch.profile[0]) ? 1 : 0;
  const std::string kernel = label(launch) + " on gpu " + std::to_string(launch.gpu.value) + ", ";
  size_t role = launch.profile[waiting].warps != 0 ? waiting : 1 - waiting;
  const WarpProfile& first = launch.profile[role];
  const size_t other = 1 - role;
  const WaitReason longest = longest_wait(first);
  if (is_poll(longest) && launch.profile[other].warps != 0) {
    path.push_back(
        {.where = kernel + role_name(label(launch), role, known),
         .reason = std::string(wait_reason_name(longest)),
         .share = share_of(first, longest),
         .leads_to = "what " + role_name(label(launch), other, known) + " of this or another GPU write"});
    role = other;
  }
  const WarpProfile& last = launch.profile[role];
  if (const std::optional<WaitReason> hardware = longest_hardware_wait(last)) {
    path.push_back({.where = kernel + role_name(label(launch), role, known),
                    .reason = std::string(wait_reason_name(*hardware)),
                    .share = share_of(last, *hardware),
                    .leads_to = std::string(meaning(*hardware))});
  }
  return path;
}

std::string binding_of(const std::vector<ResourceUse>& resources, const std::vector<PathStep>& path) {
  const ResourceUse* busiest = nullptr;
  for (const ResourceUse& use : resources) {
    if (use.name == kBlocked || use.name == kNicBlocked) continue;  // a consequence, not a resource
    if (busiest == nullptr || use.peak > busiest->peak) busiest = &use;
  }
  if (busiest != nullptr && busiest->peak >= kBindingUse) {
    return busiest->name + " (" + percent(busiest->peak) + " busy at its busiest)";
  }
  if (path.empty()) return "nothing ran";
  const PathStep& end = path.back();
  std::string text = end.reason + ": " + percent(end.share) + " of the warps' time of " + end.where;
  if (busiest != nullptr) {
    text += "; no resource is full, the busiest is " + busiest->name + " at " + percent(busiest->peak);
  }
  return text;
}

}  // namespace

Bottleneck find_bottleneck(const RunReport& report, const CtaRoles& roles) {
  const std::vector<const LaunchReport*> launches = last_launches(report.launches);
  Bottleneck bottleneck{.resources = resource_uses(report.gpus), .roles = role_profiles(launches, roles)};
  const auto ended_last = std::max_element(
      launches.begin(), launches.end(),
      [](const LaunchReport* a, const LaunchReport* b) { return a->finished < b->finished; });
  if (ended_last != launches.end()) bottleneck.path = waits_path(**ended_last, roles);
  std::map<std::string, std::vector<const LaunchReport*>> by_kernel;
  for (const LaunchReport* launch : launches) by_kernel[label(*launch)].push_back(launch);
  std::vector<std::string> told;
  for (const LaunchReport* launch : launches) {
    const std::string kernel = label(*launch);
    if (std::find(told.begin(), told.end(), kernel) != told.end()) continue;
    told.push_back(kernel);
    Blame blame = find_blame(kernel, by_kernel.at(kernel),
                             kernel == roles.kernel ? roles.warps : std::vector<WarpRole>{}, report.gpus);
    if (!blame.shares.empty()) bottleneck.blame.push_back(std::move(blame));
  }
  bottleneck.binding = binding_of(bottleneck.resources, bottleneck.path);
  if (!roles.warps.empty())
    for (const Blame& blame : bottleneck.blame)
      if (blame.kernel == roles.kernel) bottleneck.binding = blame.words;
  return bottleneck;
}

}  // namespace ptxwire::sim
