#include "sim/study/blame.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

namespace ptxwire::sim {
namespace {

constexpr size_t kSlots = LaunchReport::kByNic;
constexpr int kHops = 200000;
constexpr double kNegligible = 1e-4, kLeastShown = 0.01;

/// Where time goes when it is not passed on.
enum class Cause : uint8_t { instructions, memory, nvlink, joins, sleep, other, count };
constexpr std::array<std::string_view, static_cast<size_t>(Cause::count)> kOwnCauses = {
    "instructions", "latency of L2 and HBM", "", "waiting for warps of its own CTA", "sleep", "other waits"};

Cause cause_of(WaitReason reason) {
  switch (reason) {
    case WaitReason::local_load:
    case WaitReason::atomic:
      return Cause::memory;
    case WaitReason::remote_load:
    case WaitReason::remote_poll:
    case WaitReason::store_window:
    case WaitReason::release_fence:
      return Cause::nvlink;
    case WaitReason::barrier:
    case WaitReason::named_barrier:
    case WaitReason::cluster_barrier:
      return Cause::joins;
    case WaitReason::sleep:
      return Cause::sleep;
    case WaitReason::issuing:
    case WaitReason::shared_memory:
    case WaitReason::mbarrier:
    case WaitReason::bulk_copy:
    case WaitReason::tensor_core:
      return Cause::instructions;
    default:
      return Cause::other;
  }
}

/// All warps of one role.
struct Node {
  std::string name;
  double warps = 0, total = 0, doorbells = 0;
  std::array<double, static_cast<size_t>(Cause::count)> own{};
  std::optional<size_t> relays;  ///< role whose progress it tells
  double worked = 0;             ///< sum of `own`
  double waits = 0;              ///< for others, how many
  double waited = 0;
  std::vector<double> waits_for;  ///< of that time: role, by index; then NIC, host
};

class Graph {
 public:
  Graph(const std::vector<WarpRole>& roles, const std::vector<const LaunchReport*>& launches) {
    std::array<size_t, kSlots> role_of_slot{};
    for (size_t r = 0; r < roles.size(); ++r)
      for (size_t slot = roles[r].first; slot <= roles[r].last && slot < kSlots; ++slot)
        role_of_slot[slot] = r;
    nic_ = roles.size();
    host_ = nic_ + 1;
    for (const WarpRole& role : roles)
      nodes_.push_back({.name = role.name, .waits_for = std::vector<double>(roles.size() + 2)});
    for (size_t r = 0; r < roles.size(); ++r)
      for (size_t other = 0; other < roles.size(); ++other)
        if (other != r && roles[r].relays == roles[other].name) nodes_[r].relays = other;
    for (const LaunchReport* launch : launches)
      for (size_t slot = 0; slot < launch->slots.size() && slot < kSlots; ++slot)
        add(nodes_[role_of_slot[slot]], launch->slots[slot], role_of_slot);
  }

  [[nodiscard]] bool empty() const {
    return std::none_of(nodes_.begin(), nodes_.end(), [](const Node& node) { return node.total > 0; });
  }

  /// `message_time`: what the path takes in a NIC, in picoseconds.
  std::map<std::string, double> follow(double message_time, std::string_view nic_name, double nvlink_busy) {
    std::vector<double> weight(nodes_.size() + 2);
    const auto last = std::max_element(nodes_.begin(), nodes_.end(),
                                       [](const Node& a, const Node& b) { return a.total < b.total; });
    weight[static_cast<size_t>(last - nodes_.begin())] = 1;
    std::map<std::string, double> shares;
    std::vector<double> spent(weight.size());
    double left = last->total / last->warps;
    const double whole = left;
    for (int hop = 0; hop < kHops && left > kNegligible * whole; ++hop) {
      std::vector<double> next(weight.size());
      double taken = 0;
      for (size_t n = 0; n < nodes_.size(); ++n) {
        const Node& node = nodes_[n];
        if (node.relays) {
          next[*node.relays] += weight[n];
          continue;
        }
        // Who waits for nobody keeps the path to its beginning.
        const double between = node.waits > 0 ? std::min(left, node.worked / node.waits) : left;
        spent[n] += weight[n] * between;
        taken += weight[n] * between;
        for (size_t to = 0; to < next.size() && node.waits > 0; ++to)
          next[to] += weight[n] * node.waits_for[to] / node.waited;
      }
      taken += pass_nic(weight[nic_], std::min(left, message_time), left, next, spent);
      spent[host_] += weight[host_] * left;
      taken += weight[host_] * left;
      weight = std::move(next);
      left -= taken;
      if (std::all_of(weight.begin(), weight.end(), [](double w) { return w < kNegligible; })) break;
    }
    for (size_t n = 0; n < nodes_.size(); ++n) split(nodes_[n], spent[n] / whole, nvlink_busy, shares);
    shares[std::string(nic_name)] += spent[nic_] / whole;
    shares["host thread that posts"] += spent[host_] / whole;
    double found = 0;
    for (const auto& [cause, share] : shares) found += share;
    shares["rings: room that is given back"] += std::max(0.0, 1 - found);
    return shares;
  }

 private:
  void add(Node& node, const LaunchReport::WarpSlot& slot, const std::array<size_t, kSlots>& role_of_slot) {
    node.warps += static_cast<double>(slot.profile.warps);
    node.doorbells += static_cast<double>(slot.doorbells);
    doorbells_ += static_cast<double>(slot.doorbells);
    double polled = 0;  // of it, known for whom
    for (size_t waker = 0; waker < slot.polled_for.size(); ++waker) {
      const auto time = static_cast<double>(slot.polled_for[waker].value);
      if (time <= 0 || waker == LaunchReport::kOtherwise) continue;
      polled += time;
      node.waits += static_cast<double>(slot.polls[waker]);
      node.waited += time;
      node.waits_for[waker < kSlots                  ? role_of_slot[waker]
                     : waker == LaunchReport::kByNic ? nic_
                                                     : host_] += time;
    }
    for (size_t reason = 0; reason < slot.profile.time.size(); ++reason) {
      const auto what = static_cast<WaitReason>(reason);
      if (what == WaitReason::reconverge) continue;
      auto time = static_cast<double>(slot.profile.time[reason].value);
      node.total += time;
      if (what == WaitReason::local_poll || what == WaitReason::shared_memory) {
        const double known = std::min(time, polled);
        polled -= known;
        time -= known;
      }
      node.own[static_cast<size_t>(cause_of(what))] += time;
      node.worked += time;
    }
  }

  /// What the path takes in a role, by cause.
  static void split(const Node& node, double share_of_node, double nvlink_busy,
                    std::map<std::string, double>& shares) {
    if (node.worked <= 0 && share_of_node > 0) shares[node.name + ": other waits"] += share_of_node;
    for (size_t c = 0; c < node.own.size() && node.worked > 0; ++c) {
      const double share = share_of_node * node.own[c] / node.worked;
      if (share <= 0) continue;
      switch (static_cast<Cause>(c)) {
        case Cause::nvlink:
          // Links that are not full make stores wait for the switch and for the way.
          shares["NVLink: rate of the links"] += share * nvlink_busy;
          shares["NVLink: contention at switch outputs, latency"] += share * (1 - nvlink_busy);
          break;
        default:
          shares[node.name + ": " + std::string(kOwnCauses[c])] += share;
      }
    }
  }

  /// From a NIC the path goes on to those who ring it. Returns what it took.
  double pass_nic(double weight, double message_time, double left, std::vector<double>& next,
                  std::vector<double>& spent) const {
    const double taken = weight * (doorbells_ > 0 ? message_time : left);
    spent[nic_] += taken;
    for (size_t n = 0; n < nodes_.size() && doorbells_ > 0; ++n)
      next[n] += weight * nodes_[n].doorbells / doorbells_;
    return taken;
  }

  std::vector<Node> nodes_;
  double doorbells_ = 0;  ///< of all nodes
  size_t nic_ = 0, host_ = 0;
};

template <typename Read>
double mean(const std::vector<GpuReport>& gpus, Read read) {
  double sum = 0;
  for (const GpuReport& gpu : gpus) sum += read(gpu);
  return gpus.empty() ? 0 : sum / static_cast<double>(gpus.size());
}

/// Of each resource the busy share from which on it is called full: packets to random outputs through inputs
/// that queue keep a link 0.59 busy without any output buffer (Karol, Hluchyj and Morgan 1987), and 0.82 with
/// those of our machines.
constexpr double kFull = 0.65;

std::string in_words(const std::string& kernel, const std::vector<BlameShare>& shares, double nvlink,
                     double nic, const std::vector<GpuReport>& gpus) {
  const std::array<std::pair<std::string_view, double>, 4> resources = {
      {{"NVLink", nvlink},
       {"the NIC", nic},
       {"HBM", mean(gpus, [](const GpuReport& gpu) { return gpu.hbm_utilisation; })},
       {"L2", mean(gpus, [](const GpuReport& gpu) { return gpu.l2_utilisation; })}}};
  std::map<std::string, double> groups;  // what stands before the colon
  for (const BlameShare& share : shares) groups[share.cause.substr(0, share.cause.find(':'))] += share.share;
  const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto top = std::max_element(groups.begin(), groups.end(), less);
  if (top == groups.end()) return {};
  const auto busiest = std::max_element(resources.begin(), resources.end(), less);
  std::string words = busiest->second >= kFull ? fmt::format("{} is bound by {}", kernel, busiest->first)
                                               : fmt::format("{} is bound by {} ({:.0f} % of its time)",
                                                             kernel, top->first, 100 * top->second);
  words += fmt::format("; NVLink is busy {:.0f} %", 100 * nvlink);
  if (nic > 0) words += fmt::format(", the NIC at {:.0f} % of its two-way rate", 100 * nic);
  if (busiest->second >= kFull)
    words += fmt::format("; most of the path is {} ({:.0f} %)", top->first, 100 * top->second);
  return words;
}

}  // namespace

Blame find_blame(const std::string& kernel, const std::vector<const LaunchReport*>& launches,
                 const std::vector<WarpRole>& roles, const std::vector<GpuReport>& gpus) {
  static const std::vector<WarpRole> kByParity = {{"even CTAs", 0, 31}, {"odd CTAs", 32, 63}};
  Blame blame{.kernel = kernel};
  Graph graph(roles.empty() ? kByParity : roles, launches);
  if (graph.empty()) return blame;
  const double cable = mean(gpus, [](const GpuReport& gpu) {
    return std::max(gpu.nic.egress_utilisation, gpu.nic.ingress_utilisation);
  });
  const double pcie = mean(gpus, [](const GpuReport& gpu) { return gpu.nic.pcie_utilisation; });
  const double nvlink = mean(gpus, [](const GpuReport& gpu) {
    return std::max(gpu.nvlink_egress_utilisation, gpu.nvlink_ingress_utilisation);
  });
  const double message_time =
      mean(gpus, [](const GpuReport& gpu) { return static_cast<double>(gpu.nic.message_time.value); });
  const std::string nic = pcie > cable ? "NIC: two-way rate of PCIe" : "NIC: rate of the cable";
  for (const auto& [cause, share] : graph.follow(message_time, nic, std::min(1.0, nvlink)))
    if (share >= kLeastShown) blame.shares.push_back({cause, share});
  std::stable_sort(blame.shares.begin(), blame.shares.end(),
                   [](const BlameShare& a, const BlameShare& b) { return a.share > b.share; });
  blame.words = in_words(kernel, blame.shares, nvlink, std::max(cable, pcie), gpus);
  return blame;
}

}  // namespace ptxwire::sim
