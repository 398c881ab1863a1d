// Whose fault a kernel's time is: the waits of its warps followed to what ends them. A warp that polls waits
// for who writes the polled word: warps of another role, here or on another GPU, or the NIC, which waits for
// who posts. What remains in the end is hardware: NVLink, NIC, PCIe, memory, and the instructions of some
// role.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/cluster/cluster.hpp"

namespace ptxwire::sim {

/// One cause and its share of a kernel's time.
struct BlameShare {
  std::string cause;  ///< "NVLink", "NIC", "forwarders: instructions", "rings: room given back"
  double share = 0;
};

struct Blame {
  std::string kernel;              ///< a phase: LaunchConfig::role, or the kernel's name
  std::vector<BlameShare> shares;  ///< the largest first; they add up to 1
  std::string words;               ///< a sentence
};

/// The last launch of a kernel on every GPU, as one. Without roles even and odd CTAs are the roles.
///
/// The critical path is followed backward from the role with most warp time, as a mean over its warps. In a
/// role the path takes what the role does between two waits for others, on average, and then goes over to
/// whoever ended a wait, in proportion to the time waited; the wait itself takes nothing, since the other was
/// at work meanwhile. So what a stage does while it is ahead of the others is not on the path. A role that
/// only tells of another takes nothing, a NIC the mean time of a message. Where nobody does anything, the
/// rest is put to the rings, whose slots each side waits to get back.
///
/// In words, the bound is the busiest of NVLink, NIC, HBM and L2 if that one is full, else the largest part
/// of the path.
Blame find_blame(const std::string& kernel, const std::vector<const LaunchReport*>& launches,
                 const std::vector<WarpRole>& roles, const std::vector<GpuReport>& gpus);

}  // namespace ptxwire::sim
