#include "models/gpu/sm_partition.hpp"

#include <algorithm>

namespace ptxwire::models {

SmLayout::SmLayout(const SmParameters& sm) : sms_of_gpc_(sm.gpcs) {
  const auto has_room = [&](uint32_t gpc) {
    const uint32_t most = gpc < sm.gpc_sms.size() ? sm.gpc_sms[gpc] : 0;
    return most == 0 || sms_of_gpc_[gpc].size() < most;
  };
  uint32_t gpc = 0;
  for (uint32_t s = 0; s < sm.count; s += kSmsPerTpc) {
    // A machine with more SMs than its GPCs are said to hold goes on in turn.
    for (uint32_t tried = 0; tried < sm.gpcs && !has_room(gpc); ++tried) gpc = (gpc + 1) % sm.gpcs;
    gpc_of_tpc_.push_back(gpc);
    for (uint32_t member = s; member < std::min(s + kSmsPerTpc, sm.count); ++member)
      sms_of_gpc_[gpc].push_back(member);
    gpc = (gpc + 1) % sm.gpcs;
  }
  for (uint32_t second = 0; second < kSmsPerTpc; ++second)
    for (uint32_t s = second; s < sm.count; s += kSmsPerTpc) order_.push_back(s);
}

std::vector<uint8_t> SmLayout::sides(uint32_t partitions) const {
  std::vector<uint8_t> sides(order_.size());
  for (uint32_t sm = 0; sm < sides.size(); ++sm)
    sides[sm] = static_cast<uint8_t>(gpc(sm) * partitions / gpcs());
  return sides;
}

SmPartition::SmPartition(const SmParameters& sm) : layout_(sm), rooms_(sm.count, SmRoom(sm)) {}

std::vector<uint32_t> SmPartition::choose(const CtaFootprint& cta, uint32_t cluster) const {
  if (cluster > 1) return choose_cluster(cta, cluster);
  const uint32_t* best = nullptr;
  for (const uint32_t& sm : layout_.order())
    if ((best == nullptr || rooms_[sm].ctas() < rooms_[*best].ctas()) && rooms_[sm].fits(cta)) best = &sm;
  return best == nullptr ? std::vector<uint32_t>{} : std::vector<uint32_t>{*best};
}

std::vector<uint32_t> SmPartition::choose_cluster(const CtaFootprint& cta, uint32_t cluster) const {
  std::vector<uint32_t> best;
  uint64_t best_load = UINT64_MAX;
  for (uint32_t gpc = 0; gpc < layout_.gpcs(); ++gpc) {
    std::vector<uint32_t> fitting;
    uint64_t load = 0;
    for (const uint32_t sm : layout_.sms_of(gpc)) {
      load += rooms_[sm].ctas();
      if (rooms_[sm].fits(cta)) fitting.push_back(sm);
    }
    if (fitting.size() < cluster || load >= best_load) continue;
    std::stable_sort(fitting.begin(), fitting.end(),
                     [&](uint32_t a, uint32_t b) { return rooms_[a].ctas() < rooms_[b].ctas(); });
    best_load = load;
    best.assign(fitting.begin(), fitting.begin() + cluster);
  }
  return best;
}

uint64_t SmPartition::count_until(const CtaFootprint& cta, uint32_t cluster, uint64_t enough) const {
  uint64_t placed = 0;
  if (cluster <= 1) {  // CTAs are alike: the SMs do not depend on each other
    for (const SmRoom& room : rooms_)
      for (SmRoom left = room; placed < enough && left.fits(cta); ++placed) left.take(cta);
    return placed;
  }
  SmPartition left = *this;
  while (placed < enough) {
    const std::vector<uint32_t> chosen = left.choose(cta, cluster);
    if (chosen.empty()) break;
    for (const uint32_t sm : chosen) left.rooms_[sm].take(cta);
    placed += cluster;
  }
  return placed;
}

bool SmPartition::fits_whole(const CtaFootprint& cta, uint32_t cluster, uint64_t ctas) const {
  return count_until(cta, cluster, ctas) >= ctas;
}

uint64_t SmPartition::capacity(const CtaFootprint& cta, uint32_t cluster) const {
  return count_until(cta, cluster, UINT64_MAX);
}

}  // namespace ptxwire::models
