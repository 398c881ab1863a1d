// Which CTA starts when and where on one GPU. Kernels wait in one queue, more urgent priorities first, first
// come first served within one; only CTAs of the kernel at its head are placed, and the next kernel has its
// turn once all CTAs of the one before are. So a waiting kernel of higher priority gets every freed place, a
// large CTA is not kept waiting by small ones for ever, and a kernel that does not fill the GPU leaves the
// rest to the next (Amert et al., GPU Scheduling on the NVIDIA TX2, RTSS 2017, rules A and X). Nothing that
// runs is preempted.
//
// Where a CTA goes is models::SmPartition's business.
#pragma once

#include <string>
#include <vector>

#include "models/base/logical_process.hpp"
#include "models/gpu/sm_partition.hpp"
#include "sim/exec/warp.hpp"

namespace ptxwire::sim {

class Device;
struct Launch;

class GridScheduler {
 public:
  explicit GridScheduler(Device& device);

  /// CTAs of the launch may be placed from now on.
  void submit(Launch& launch);
  /// The CTA has ended at `now` or will have: its room is free.
  void give_back(const Cta& cta, models::Picoseconds now);

  [[nodiscard]] const models::SmPartition& partition() const { return partition_; }
  /// Kernels that wait for room, a line each.
  void waiting_report(std::vector<std::string>& lines) const;

 private:
  void place_ctas(models::Picoseconds now, uint64_t argument);
  bool place_cluster(Launch& launch, models::Picoseconds now);

  Device& device_;
  models::SmPartition partition_;
  std::vector<Launch*> pending_;  ///< the head first
  models::EventMember<GridScheduler, &GridScheduler::place_ctas> place_event_{*this};
};

}  // namespace ptxwire::sim
