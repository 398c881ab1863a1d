// Runs a scenario: builds the cluster, lays out buffers and data, launches the calls, checks what came out,
// and says how long the timed call took.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/workload/companion.hpp"
#include "sim/workload/micro_result.hpp"
#include "sim/workload/scenario.hpp"

namespace ptxwire::sim {

enum class ResultState : uint8_t { correct, wrong, unchecked };
std::string_view result_state_name(ResultState state);

/// Duration of one kernel of the timed call, first CTA placed to last CTA drained.
struct KernelTime {
  std::string role;  ///< "notify", "dispatch", "combine"
  double rank0_us = 0;
  double max_us = 0;
};

/// How a sampled figure came about (sampling.hpp).
struct Sampled {
  double error_pct = 0;       ///< of time_us, about two standard errors
  double executed_share = 0;  ///< of the tokens of a call
  bool steady = false;        ///< both halves of its middle had the same rate
};

struct ScenarioResult {
  /// One call as a benchmark's mean over many calls gives it: launches, notify and main kernel, until the
  /// slowest rank is done. Each call begins with a barrier over all ranks, so the mean of any rank, its waits
  /// for the others included, comes to this.
  double time_us = 0;
  double time_us_rank0 = 0;  ///< the last call alone on rank 0, start event to end event of its stream
  /// Rows rank 0 received (dispatch) or sent back (combine), its own included, times row bytes, over time_us:
  /// the published definition. GB = 10^9 bytes.
  double logical_gb_per_s = 0;
  double wire_gb_per_s = 0;  ///< the same without the rows that stay on rank 0
  /// Across nodes logical_gb_per_s counts (token, node) pairs, the own node included, and wire_gb_per_s those
  /// that leave it; this one the rows that rank 0 received over NVLink or from itself.
  std::optional<double> nvlink_logical_gb_per_s;
  double bound_us =
      0;  ///< payload of the busiest GPU and direction over the rate of its links: no run can be faster
  double bound_share = 0;                      ///< bound_us / time_us
  uint64_t logical_bytes = 0, wire_bytes = 0;  ///< of rank 0
  uint64_t warp_instructions = 0, events = 0;  ///< of the whole run, all calls
  ResultState result = ResultState::unchecked;
  std::string first_mismatch;       ///< where and what, if wrong
  std::vector<KernelTime> kernels;  ///< the main kernel last
  std::array<std::string, 2>
      cta_roles;  ///< what even and odd CTAs of the main kernel do; empty if it is not ours
  std::vector<WarpRole> warp_roles;  ///< finer, where known
  std::vector<Figure>
      figures;  ///< of a microbenchmark, the one it is about first; bandwidths and bound are 0
  std::optional<Sampled> sampled;   ///< time_us is extrapolated
  std::string surrogate;            ///< that stood for the whole, in words (mirror.hpp); empty: nothing did
  std::vector<std::string> faults;  ///< what the scenario made slow, late or unusable, in words (faults.hpp)
  std::vector<PairPart> parts;      ///< of a pair: the communication first
  RunReport timed;                  ///< report of the run that holds the timed call
  double wall_s = 0;                ///< host time of set-up, runs and check
  /// Of a run that times two kernels in turn (low latency): the same run as the scenario of the other one
  /// gives it. Null where a setting is about the scenario's own kernel alone.
  std::shared_ptr<const ScenarioResult> other;
};

struct RunOptions {
  uint32_t threads = 0;  ///< 0: all cores
  bool check_results = true;
  bool park_polls = true;
  std::optional<bool> spare_registers;  ///< as RunLimits has it
  bool untimed = false;                 ///< zero-latency model: function only
  Picoseconds max_time = models::microseconds(2e6);
  Companion* companion = nullptr;  ///< shares the cluster of the run that holds the timed call
  /// Called now and then with the state of the run at hand; returning false stops with an Error.
  std::function<bool(const RunProgress&)> progress;
};

/// Errors: bad settings, files that cannot be found or read, and whatever the front end and the cluster
/// refuse.
Expected<ScenarioResult> run_scenario(const Scenario& scenario, const RunOptions& options = {});

/// The machine of a scenario, its parameters changed as the scenario says.
Expected<models::Machine> scenario_machine(const Scenario& scenario);

/// Paths of all files that determine the result of a scenario (PTX, machine file with its bases and
/// topology), for caches.
Expected<std::vector<std::string>> scenario_inputs(const Scenario& scenario);

}  // namespace ptxwire::sim
