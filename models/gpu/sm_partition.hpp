// The SMs of one GPU as the grid scheduler sees them: which GPC and TPC an SM belongs to, what room each has
// left, and where the next CTA or cluster of CTAs goes. Knows nothing of kernels or of time.
#pragma once

#include <cstdint>
#include <vector>

#include "models/gpu/sm_room.hpp"
#include "models/machines/machine.hpp"

namespace ptxwire::models {

/// Two SMs with consecutive numbers are a TPC. TPCs are dealt to the GPCs in turn, as long as a GPC has room
/// (SmParameters::gpc_sms): neighbouring numbers lie in different GPCs, which is what an H100 shows.
class SmLayout {
 public:
  static constexpr uint32_t kSmsPerTpc = 2;

  explicit SmLayout(const SmParameters& sm);

  [[nodiscard]] uint32_t gpc(uint32_t sm) const { return gpc_of_tpc_[sm / kSmsPerTpc]; }
  /// By number.
  [[nodiscard]] const std::vector<uint32_t>& sms_of(uint32_t gpc) const { return sms_of_gpc_[gpc]; }
  /// Which of `partitions` of L2 each SM is near: GPCs share a crossbar port, and each half of them (by
  /// number) lies beside one partition. Which GPCs these are on real parts is not published.
  [[nodiscard]] std::vector<uint8_t> sides(uint32_t partitions) const;
  [[nodiscard]] uint32_t gpcs() const { return static_cast<uint32_t>(sms_of_gpc_.size()); }
  /// In which CTAs of an empty GPU are placed: one SM of every TPC, GPC after GPC in turn; then the others.
  [[nodiscard]] const std::vector<uint32_t>& order() const { return order_; }

 private:
  std::vector<uint32_t> gpc_of_tpc_;
  std::vector<std::vector<uint32_t>> sms_of_gpc_;
  std::vector<uint32_t> order_;
};

class SmPartition {
 public:
  explicit SmPartition(const SmParameters& sm);

  [[nodiscard]] const SmLayout& layout() const { return layout_; }
  [[nodiscard]] SmRoom& room(uint32_t sm) { return rooms_[sm]; }
  [[nodiscard]] const SmRoom& room(uint32_t sm) const { return rooms_[sm]; }

  /// The SMs for the CTAs of one cluster by rank: the SMs with fewest CTAs, in layout order; a cluster of
  /// several CTAs in one GPC (that with fewest CTAs), each on an SM of its own. Empty if there is no room.
  [[nodiscard]] std::vector<uint32_t> choose(const CtaFootprint& cta, uint32_t cluster) const;

  /// Whether `ctas` CTAs in clusters of `cluster` could all be placed now.
  [[nodiscard]] bool fits_whole(const CtaFootprint& cta, uint32_t cluster, uint64_t ctas) const;
  /// CTAs of this kernel that can be placed beside what is there.
  [[nodiscard]] uint64_t capacity(const CtaFootprint& cta, uint32_t cluster) const;

 private:
  [[nodiscard]] std::vector<uint32_t> choose_cluster(const CtaFootprint& cta, uint32_t cluster) const;
  [[nodiscard]] uint64_t count_until(const CtaFootprint& cta, uint32_t cluster, uint64_t enough) const;

  SmLayout layout_;
  std::vector<SmRoom> rooms_;
};

}  // namespace ptxwire::models
