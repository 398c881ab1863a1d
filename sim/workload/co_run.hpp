// Two kernels that share GPUs: a communication scenario beside compute kernels. Each runs alone, both run
// together, and what each lost is split by cause. A scenario file with kernel = "co_run":
//
//   machine = "h800-node"              # of all parts, whatever their own files say
//   kernel = "co_run"
//   split = true                       # further runs that tell the causes apart
//
//   [communication]                    # any scenario of another family; on streams of high priority
//   scenario = "hold_sms"
//   set = ["values.ctas=20"]
//
//   [[compute]]                        # microbenchmark scenarios, each on a stream of its own
//   scenario = "compute_layer_norm"
//   set = ["values.rows=4096"]
//   launches = 2                       # back to back; the first one only warms caches up
//   gpus = "all"                       # of the communication, or "first"
//
//   [baselines.notify]                 # a state that `baseline = "notify"` compares with, in place of none
//   scenario = "hold_sms"
//
//   [background]                       # beside or in place of [[compute]]: compute without a kernel. All
//                                      # SMs without a CTA sweep the footprint again and again
//   footprint = "64 MiB"
//   bytes_per_flop = 0.01              # to and from L2
//   flops_per_clk = 4096               # of one SM (H100: 4096 dense bf16 on tensor cores, 256 in f32)
//   flops = 1e12                       # in all
//   write_share = 0.25                 # of the bytes
//
// `--set background.KEY=VALUE` as well.
// `--set communication.KEY=VALUE` and `--set compute.KEY=VALUE` reach the parts' settings (compute: of all of
// them), KEY = scenario included; grid=AxBxC, block=AxBxC and shared=BYTES give the compute kernels' launch.
#pragma once

#include <toml++/toml.h>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/gpu/traffic_agent.hpp"
#include "models/machines/machine.hpp"
#include "support/error.hpp"

namespace ptxwire::sim {

struct Scenario;
struct ScenarioResult;
struct RunOptions;

struct CoRunPart {
  std::string scenario;               ///< by name or path
  std::vector<std::string> settings;  ///< "key=value", in this order
  uint32_t launches = 2;              ///< compute
  bool all_gpus = true;               ///< compute
};

struct CoRunScenario {
  std::optional<CoRunPart> communication;
  std::vector<CoRunPart> compute;
  std::optional<models::TrafficLoad> background;
  std::map<std::string, CoRunPart, std::less<>> baselines;
};

/// What one kernel lost to one cause. The split comes from further runs between `alone` and `together`, each
/// of which shares one thing more, and is the difference of neighbours, so that the sum is the whole:
///
///   SMs           a kernel beside it holds what the communication's CTAs hold, and does nothing
///   rest          the communication itself, with L2 and HBM of its own: what its CTAs do within SMs
///   L2 capacity   the same with one set of L2 lines for both
///   L2 bandwidth  and one set of L2 slices
///   HBM           and one HBM: the pair as it is
///   NVLink        always 0: compute kernels of a pair stay within their GPU
///
/// A share may be negative where one cause hides another. The communication's SMs: its wait for places.
struct LossShare {
  std::string cause;  ///< "SMs", "L2 capacity", "L2 bandwidth", "HBM", "NVLink", "rest"
  double us = 0;
};

/// One kernel of a pair.
struct PairPart {
  std::string name;  ///< of its scenario
  std::string side;  ///< "communication" or "compute"
  double alone_us = 0, together_us = 0;
  uint32_t launches = 0;  ///< that `together_us` is the mean of
  /// Of `together_us`, the share in which the other side ran too.
  double overlap = 0;
  std::vector<LossShare> losses;  ///< sum to together_us - alone_us; empty if the split was not asked for
  [[nodiscard]] double slowdown() const { return alone_us > 0 ? together_us / alone_us : 0; }
};

/// The tables above, and whether `name` is one of them.
bool is_co_run_table(std::string_view name);
Expected<void> read_co_run_table(CoRunScenario& co_run, const std::string& path, std::string_view name,
                                 const toml::node& node);

/// Sets a key of a part, or the launch of the compute kernels. False if `name` is no such key.
Expected<bool> set_co_run_key(CoRunScenario& co_run, std::string_view name, std::string_view value);

/// What the parts are, for caches: as scenario_settings().
std::vector<std::pair<std::string, std::string>> co_run_settings(const CoRunScenario& co_run);

/// The scenarios of all parts that take part, with their settings applied: communication and baseline (each
/// if there is one), then compute.
struct CoRunScenarios {
  std::vector<Scenario> communication, baseline, compute;
};
Expected<CoRunScenarios> co_run_scenarios(const Scenario& scenario);

/// Settings that exclude each other; called by validate().
Expected<void> validate_co_run(const Scenario& scenario);

/// run_scenario for kernel = "co_run"; the scenario is valid. `time_us` is the first compute kernel's beside
/// the communication.
Expected<ScenarioResult> run_co_run(const Scenario& scenario, const models::Machine& machine,
                                    const RunOptions& options);

}  // namespace ptxwire::sim
