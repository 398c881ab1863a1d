// Work of somebody else on the cluster of a scenario: how two scenarios run beside each other without either
// knowing the other.
#pragma once

#include "sim/cluster/cluster.hpp"
#include "support/error.hpp"

namespace ptxwire::sim {

class Companion {
 public:
  virtual ~Companion() = default;
  /// Allocates what it needs and enqueues its launches, behind the scenario's own of the run that holds the
  /// timed call.
  virtual Expected<void> enqueue(Cluster& cluster) = 0;
  /// After that run.
  virtual Expected<void> finish(const RunReport& report) = 0;
};

}  // namespace ptxwire::sim
