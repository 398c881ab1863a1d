// The processes of an `mpirun`: one keeps the results, all run points.
#pragma once

#include <cstdint>

#include "sim/study/sweep.hpp"
#include "support/error.hpp"

namespace ptxwire::cli {

/// Present once per process, for as long as it talks to others. Without `mpirun`, or in a build without MPI,
/// the team is this process alone.
class MpiTeam {
 public:
  /// Errors: started by `mpirun`, and this build has no MPI; MPI cannot be started.
  static Expected<MpiTeam> join();
  MpiTeam(MpiTeam&& other) noexcept : rank_(other.rank_), size_(other.size_) { other.size_ = 0; }
  MpiTeam(const MpiTeam&) = delete;
  MpiTeam& operator=(const MpiTeam&) = delete;
  MpiTeam& operator=(MpiTeam&&) = delete;
  ~MpiTeam();

  [[nodiscard]] bool is_first() const { return rank_ == 0; }
  [[nodiscard]] uint32_t size() const { return size_; }

  /// First process: answers those that ask for work or bring results. Returns whether some are still at work.
  /// Never waits.
  bool serve(sim::SweepQueue& queue);
  /// First process: tells all others that there is no work, now or when they ask.
  void dismiss();
  /// The others: asks for points and runs them until there are none. Errors: stopped.
  Expected<void> work(sim::Runner& runner, const sim::JobControl& control);

 private:
  MpiTeam(int rank, uint32_t size) : rank_(rank), size_(size) {}

  int rank_ = 0;
  uint32_t size_ = 1;
  uint32_t dismissed_ = 0;  ///< processes that were told that there is no more work
};

}  // namespace ptxwire::cli
