#include "sim/study/scenario_runner.hpp"

#include <sys/resource.h>

#include <algorithm>

#include "models/machines/machine.hpp"
#include "sim/study/content_hash.hpp"
#include "sim/study/text_file.hpp"
#include "sim/workload/run.hpp"
#include "sim/workload/sampling.hpp"
#include "sim/workload/scenario.hpp"

namespace ptxwire::sim {
namespace {

bool is_sampled(const Job& job, const Scenario& scenario) {
  return job.sampling == Sampling::on || (job.sampling == Sampling::if_possible && can_sample(scenario));
}

/// Turns the simulated time of the run at hand into a share of the whole. The whole is an estimate that
/// serves the time left on a progress line and nothing else.
class ProgressEstimate {
 public:
  ProgressEstimate(const Scenario& scenario, bool sampled) {
    if (scenario.kernel == KernelFamily::ring_broadcast) {
      const models::NvlinkParameters links;
      const double rate = links.links_per_gpu * links.link_bytes_per_second * 0.8;
      expected_us_ = static_cast<double>(scenario.bytes) / rate * 1e6 * (scenario.iterations + 0.5);
      return;
    }
    // Rows that leave a rank: about two thirds of top-k, as many go to the same rank; half of the CTAs send,
    // each some 40 GB/s where the links let it.
    const models::NvlinkParameters typical;
    const double links = typical.links_per_gpu * typical.link_bytes_per_second * 0.7;
    const double rate = std::min(links, 40e9 * std::max(1U, scenario.channels()));
    const double rows = static_cast<double>(scenario.tokens) * std::min(scenario.topk, scenario.ranks) * 0.66;
    const double call_us = 30 + rows * static_cast<double>(scenario.row_bytes()) / rate * 1e6;
    expected_us_ = call_us * (sampled ? sampled_share(scenario) : std::max(1U, scenario.calls));
  }

  /// Never goes back, never reaches 1.
  double share(Picoseconds now) {
    if (now < last_) earlier_us_ += last_.us();  // the calls are split over several runs
    last_ = now;
    share_ = std::max(share_, std::min((earlier_us_ + now.us()) / expected_us_, 0.98));
    return share_;
  }

 private:
  double expected_us_ = 1, earlier_us_ = 0, share_ = 0;
  Picoseconds last_{};
};

uint64_t peak_rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;  // Linux counts KiB
}

Outcome outcome_of(const Job& job, const Scenario& scenario, const ScenarioResult& result) {
  CtaRoles roles{.names = result.cta_roles, .warps = result.warp_roles};
  if (!result.kernels.empty()) roles.kernel = result.kernels.back().role;
  return {.scenario = scenario.name,
          .settings = job.settings,
          .time_us = result.time_us,
          .time_us_rank0 = result.time_us_rank0,
          .logical_gb_per_s = result.logical_gb_per_s,
          .wire_gb_per_s = result.wire_gb_per_s,
          .nvlink_logical_gb_per_s = result.nvlink_logical_gb_per_s,
          .bound_us = result.bound_us,
          .bound_share = result.bound_share,
          .warp_instructions = result.warp_instructions,
          .events = result.events,
          .result = result.result,
          .mismatch = result.first_mismatch,
          .kernels = result.kernels,
          .figures = result.figures,
          .sampled = result.sampled,
          .parts = result.parts,
          .memory = memory_of(result.timed),
          .surrogate = result.surrogate,
          .faults = result.faults,
          .rdma_errors = result.timed.rdma_errors,
          .bottleneck = find_bottleneck(result.timed, roles),
          .wall_s = result.wall_s,
          .peak_rss_bytes = peak_rss_bytes()};
}

}  // namespace

Expected<Scenario> scenario_of(const Job& job) {
  Expected<std::string> path = find_scenario(job.scenario);
  if (!path) return path.error();
  Expected<Scenario> scenario = load_scenario(*path);
  if (!scenario) return scenario;
  if (!job.machine.empty()) scenario->machine = job.machine;
  for (const std::string& setting : job.settings) {
    if (Expected<void> applied = apply_override(*scenario, setting); !applied) {
      Error error = applied.error();
      error.path = "setting " + setting;
      return error;
    }
  }
  if (Expected<void> valid = validate(*scenario); !valid) return valid.error();
  return scenario;
}

Expected<std::string> ScenarioRunner::fingerprint(const Job& job) {
  const Expected<Scenario> scenario = scenario_of(job);
  if (!scenario) return scenario.error();
  return fingerprint_of(job, *scenario);
}

Expected<std::string> ScenarioRunner::fingerprint_of(const Job& job, const Scenario& scenario) const {
  ContentHash hash;
  hash.add(build_id_).add(job.check_results ? "checked" : "unchecked");
  hash.add(is_sampled(job, scenario) ? "sampled" : "exact");
  for (const auto& [key, value] : scenario_settings(scenario)) hash.add(key).add(value);
  const Expected<std::vector<std::string>> inputs = scenario_inputs(scenario);
  if (!inputs) return inputs.error();
  for (const std::string& path : *inputs) {
    const Expected<std::string> text = read_whole_file(path);
    if (!text) return text.error();
    hash.add(*text);
  }
  return hash.hex();
}

Expected<Outcome> ScenarioRunner::run(const Job& job, const JobControl& control) {
  const Expected<Scenario> scenario = scenario_of(job);
  if (!scenario) return scenario.error();
  if (is_low_latency(scenario->kernel)) {
    const Expected<std::string> key = fingerprint_of(job, *scenario);
    if (!key) return key.error();
    if (const auto known = by_products_.find(*key); known != by_products_.end())
      return outcome_of(job, *scenario, *known->second);
  }
  RunOptions options{.threads = control.threads, .check_results = job.check_results};
  if (control.max_time_us > 0) options.max_time = models::microseconds(control.max_time_us);
  const bool sampled = is_sampled(job, *scenario);
  ProgressEstimate estimate(*scenario, sampled);
  if (control.progress) {
    options.progress = [&](const RunProgress& state) { return control.progress(estimate.share(state.now)); };
  }
  const Expected<ScenarioResult> result =
      sampled ? run_sampled(*scenario, options) : run_scenario(*scenario, options);
  if (!result) return result.error();
  if (result->other) {
    Scenario twin = *scenario;
    twin.kernel = other_of_pair(scenario->kernel);
    if (const Expected<std::string> key = fingerprint_of(job, twin)) by_products_[*key] = result->other;
  }
  return outcome_of(job, *scenario, *result);
}

}  // namespace ptxwire::sim
