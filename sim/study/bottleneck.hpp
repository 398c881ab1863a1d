// What bound a run, from the figures that a run leaves behind: how busy each resource was, what the warps
// waited for.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/study/blame.hpp"

namespace ptxwire::sim {

/// One kind of resource over all GPUs and the whole run.
struct ResourceUse {
  std::string name;  ///< "nvlink egress", "nvlink ingress", "nvlink blocked", "l2", "hbm", "hbm rows", "nic
                     ///< egress", "nic ingress", "nic blocked", "pcie", "tensor cores"
  double mean = 0;   ///< share of the run that it was busy, mean over GPUs
  double peak = 0;   ///< the busiest one's share; for links the busiest link, elsewhere the busiest GPU
};

/// Time of one kind of wait.
struct WaitShare {
  std::string reason;  ///< wait_reason_name
  double us = 0;       ///< per warp, mean over the warps of the role
  double share = 0;    ///< of the warps' time; lanes that wait for other lanes of their warp do not count
};

/// What the CTAs of one kernel do, where that is known.
struct CtaRoles {
  std::string kernel;                ///< LaunchConfig::role, or the kernel's name
  std::array<std::string, 2> names;  ///< of even and of odd CTAs: "senders", "receivers"
  std::vector<WarpRole> warps;       ///< finer: by index of the warp; empty: not known
};

/// The warps that play one part in the kernel: communication kernels split sender and receiver by even and
/// odd CTA.
struct RoleProfile {
  std::string kernel;  ///< LaunchConfig::role, or the kernel's name
  std::string role;    ///< "even CTAs"; with a name known "senders (even CTAs)"
  uint64_t warps = 0;  ///< over all GPUs
  uint64_t instructions = 0;
  std::vector<WaitShare> waits;  ///< the longest first; those under 1 % are left out
};

/// One link of the chain of waits that ends with the last launch.
struct PathStep {
  std::string where;     ///< "dispatch on gpu 3, receivers (odd CTAs)"
  std::string reason;    ///< wait_reason_name
  double share = 0;      ///< of that role's warp time
  std::string leads_to;  ///< what this wait says: whom or what it waits for
};

struct Bottleneck {
  std::string binding;  ///< one line: the resource or wait that binds
  std::vector<ResourceUse> resources;
  std::vector<RoleProfile> roles;
  std::vector<PathStep> path;
  std::vector<Blame> blame;  ///< of each kernel, in order of their launches
};

/// Looks at the last launch of every kernel on every GPU (a timed call repeats its kernels; the last one
/// counts) and follows the waits of the launch that ended last:
///  - a role that mostly polls waits for another role: the chain goes on there (once);
///  - a role that waits for room for stores, for acknowledgements, loads or copies waits for a resource.
/// A resource busy for at least 80 % of the run binds; otherwise the longest wait of the role at the chain's
/// end does. This is a reading of sums, not a recorded critical path: it names the class that binds, not the
/// event.
Bottleneck find_bottleneck(const RunReport& report, const CtaRoles& roles = {});

}  // namespace ptxwire::sim
