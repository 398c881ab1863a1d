// Which low-latency scenarios there are.
#include <algorithm>
#include <bit>

#include "sim/workload/faults.hpp"
#include "sim/workload/low_latency.hpp"
#include "sim/workload/low_latency_cast.hpp"
#include "sim/workload/routing_file.hpp"

namespace ptxwire::sim {

namespace {

constexpr uint32_t kMostRanks = 256;
constexpr uint32_t kMostSelections = 9;  ///< kernels/src/low_latency.cuh
constexpr uint32_t kMostTokens =
    1023;  ///< below the tag of the finish counters (low_latency_dispatch_send.cuh)
constexpr uint32_t kHiddenGranule = 512;  ///< a warp takes 32 vectors of 16 bytes in step
constexpr uint32_t kMostHidden = 1U << 16U;
constexpr uint32_t kMostExperts = 14 * 132;  ///< 14 groups of warps on each SM of an H100 or H800
constexpr uint32_t kMostQueueEntries = 32768, kUsualQueueEntries = 1024;
constexpr uint32_t kMostCalls = 10000;  ///< more only takes time
constexpr uint32_t kMostLanes = 16;

Error refuse(const Scenario& scenario, std::string message, std::string hint = {}) {
  return Error{.message = std::move(message), .path = scenario.path, .hint = std::move(hint)};
}
std::string number(uint64_t value) { return std::to_string(value); }

Expected<void> validate_routing(const Scenario& s) {
  if (s.ranks < 2 || s.ranks > kMostRanks || (s.ranks > kGpusPerNode && s.ranks % kGpusPerNode != 0))
    return refuse(s, "'ranks' is " + number(s.ranks) +
                         ", expected 2 to 8 on one node, or whole nodes of 8, at most " + number(kMostRanks));
  if (s.experts == 0 || s.experts % s.ranks != 0 || s.experts > kMostExperts)
    return refuse(s, "'experts' is " + number(s.experts) + ", expected a multiple of the " + number(s.ranks) +
                         " ranks of at most " + number(kMostExperts));
  if (s.topk == 0 || s.topk > std::min(kMostSelections, s.experts))
    return refuse(
        s, "'topk' is " + number(s.topk) + ", expected 1 to " + number(std::min(kMostSelections, s.experts)));
  if (const auto valid = validate_routing_keys(s); !valid) return valid.error();
  if (s.routing == RoutingPattern::all_to_one && s.topk > s.experts / s.ranks)
    return refuse(s, "'routing' all_to_one needs topk <= experts / ranks");
  if (s.routing == RoutingPattern::none_to_last && s.topk > s.experts - s.experts / s.ranks)
    return refuse(s, "'routing' none_to_last needs topk <= the experts of the other ranks");
  if (s.tokens == 0 || s.tokens > kMostTokens)
    return refuse(s, "'tokens' is " + number(s.tokens) + ", expected 1 to " + number(kMostTokens));
  return {};
}

Expected<void> validate_queues(const Scenario& s) {
  if (s.doorbell_batch == 0) return refuse(s, "'doorbell_batch' is 0, expected 1 message or more");
  if (s.virtual_lane >= kMostLanes)
    return refuse(
        s, "'virtual_lane' is " + number(s.virtual_lane) + ", expected 0 to " + number(kMostLanes - 1));
  if (s.queues > s.experts / s.ranks)
    return refuse(s, "'queues' is " + number(s.queues) + ", expected at most one per expert of a rank, " +
                         number(s.experts / s.ranks));
  if (low_latency_queue_entries(s) > kMostQueueEntries)
    return refuse(s, "'queues' is " + number(s.queues) + ": the messages of a pair need " +
                         number(low_latency_queue_entries(s)) + " entries in one queue, at most " +
                         number(kMostQueueEntries));
  return {};
}

}  // namespace

uint32_t low_latency_queue_entries(const Scenario& s) {
  const uint32_t local = s.experts / s.ranks, queues = s.queues != 0 ? s.queues : local;
  const uint32_t experts_per_queue = (local + queues - 1) / queues;
  return std::max(kUsualQueueEntries, std::bit_ceil(2 * (s.tokens + 1) * experts_per_queue));
}

Expected<void> validate_low_latency(const Scenario& s) {
  if (s.revision != KernelRevision::a && s.revision != KernelRevision::c)
    return refuse(s, "'revision': the low-latency kernels have a and c");
  if (s.mirror)
    return refuse(s,
                  "'mirror' is for the internode kernels, not for low latency, where every GPU sends to "
                  "every other one");
  if (s.calls == 0 || s.calls > kMostCalls)
    return refuse(s, "'calls' is " + number(s.calls) + ", expected 1 to " + number(kMostCalls));
  if (const auto valid = validate_routing(s); !valid) return valid.error();
  if (const auto valid = validate_queues(s); !valid) return valid.error();
  if (const auto valid = validate_faults(s, low_latency_uses_network(s)); !valid) return valid.error();
  if (s.hidden == 0 || s.hidden % kHiddenGranule != 0 || s.hidden > kMostHidden)
    return refuse(s, "'hidden' is " + number(s.hidden) + ", expected a multiple of " +
                         number(kHiddenGranule) + " of at most " + number(kMostHidden));
  return {};
}

}  // namespace ptxwire::sim
