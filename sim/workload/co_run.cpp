#include "sim/workload/co_run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/workload/companion.hpp"
#include "sim/workload/micro_run.hpp"
#include "sim/workload/mirror.hpp"
#include "sim/workload/run_parts.hpp"

namespace ptxwire::sim {
namespace {

/// At least as many as any SM has: a bound on how long a kernel may hold its SMs.
constexpr double kClocksPerUs = 2000;
constexpr std::string_view kBackground = "background";

/// When kernels of one side ran on one GPU.
struct Span {
  Picoseconds begin{}, end{};
  [[nodiscard]] double us() const { return (end - begin).us(); }
  [[nodiscard]] double overlap_us(const Span& other) const {
    return std::max(0.0, (std::min(end, other.end) - std::max(begin, other.begin)).us());
  }
};

/// How a pair is run: GPUs with compute kernels, and what these have for themselves.
struct PairSetting {
  uint32_t gpus = 1;
  std::optional<models::SharedResources> own;
};

/// How long one compute kernel took, mean over its launches that count.
struct ComputeTime {
  double us = 0;
  double overlap = 0;
  uint32_t launches = 0;
};

/// The compute kernels of a pair on the GPUs of somebody's cluster.
class ComputeSide final : public Companion {
 public:
  ComputeSide(const CoRunScenario& pair, const std::vector<Scenario>& scenarios, const PairSetting& setting,
              bool check_results)
      : parts_(pair.compute),
        background_(pair.background),
        scenarios_(scenarios),
        setting_(setting),
        check_results_(check_results) {}

  Expected<void> enqueue(Cluster& cluster) override {
    if (setting_.own) {
      std::vector<std::string> roles;
      for (const Scenario& scenario : scenarios_) roles.push_back(scenario.name);
      roles.emplace_back(kBackground);
      cluster.isolate(roles, *setting_.own);
    }
    for (size_t part = 0; part < parts_.size(); ++part) {
      const uint32_t gpus = parts_[part].all_gpus ? setting_.gpus : 1;
      for (uint32_t gpu = 0; gpu < gpus; ++gpu) {
        auto instance = MicroInstance::create(scenarios_[part], cluster,
                                              {.first_gpu = gpu, .role = scenarios_[part].name});
        if (!instance) return instance.error();
        if (auto filled = (*instance)->fill(); !filled) return filled;
        running_.push_back({part, *std::move(instance), {}});
      }
    }
    for (uint32_t gpu = 0; background_ && gpu < setting_.gpus; ++gpu)
      if (const auto added = cluster.add_background(GpuId{gpu}, *background_, std::string(kBackground));
          !added)
        return added.error();
    for (Running& running : running_)
      for (uint32_t launch = 0; launch < parts_[running.part].launches; ++launch) {
        const auto launched = running.instance->enqueue();
        if (!launched) return launched.error();
        running.launches.push_back(launched->front());
        all_.insert(all_.end(), launched->begin(), launched->end());
      }
    return {};
  }

  Expected<void> finish(const RunReport& report) override {
    for (Running& running : running_) {
      if (auto read = running.instance->finish(); !read) return read;
      if (!check_results_ || !mismatch_.empty()) continue;
      auto wrong = running.instance->mismatch();
      if (!wrong) return wrong.error();
      if (!wrong->empty()) mismatch_ = scenarios_[running.part].name + ": " + *wrong;
    }
    std::vector<std::vector<ComputeTime>> single(parts_.size());
    for (const Running& running : running_) collect(report, running, single[running.part]);
    times_.assign(parts_.size(), {});
    for (size_t part = 0; part < parts_.size(); ++part) {
      const auto share = 1.0 / static_cast<double>(std::max<size_t>(1, single[part].size()));
      for (const ComputeTime& time : single[part]) {
        times_[part].us += time.us * share;
        times_[part].overlap += time.overlap * share;
        ++times_[part].launches;
      }
    }
    if (background_) times_.push_back(background_time(report));
    return {};
  }

  [[nodiscard]] const std::vector<ComputeTime>& times() const { return times_; }
  /// From the first launch's start to the last one's end, on the first GPU.
  [[nodiscard]] Span span(const RunReport& report) const {
    Span span{models::kNever, {}};
    for (const LaunchReport& launch : report.launches) {
      if (launch.gpu != GpuId{0} || std::find(all_.begin(), all_.end(), launch.id) == all_.end()) continue;
      span = {std::min(span.begin, launch.started), std::max(span.end, launch.finished)};
    }
    for (const BackgroundReport& background : report.backgrounds)
      if (background.gpu == GpuId{0})
        span = {std::min(span.begin, background.started), std::max(span.end, background.finished)};
    return span;
  }

  /// The first value of a compute kernel that is not as it must be.
  [[nodiscard]] const std::string& mismatch() const { return mismatch_; }

 private:
  struct Running {
    size_t part = 0;
    std::unique_ptr<MicroInstance> instance;
    std::vector<LaunchId> launches;
  };

  /// The other side's longest kernel on the GPU: notify kernels before it are no overlap that is meant.
  [[nodiscard]] Span other_span(const RunReport& report, GpuId gpu) const {
    Span longest;
    for (const LaunchReport& launch : report.launches) {
      if (launch.gpu != gpu || std::find(all_.begin(), all_.end(), launch.id) != all_.end()) continue;
      const Span span{launch.started, launch.finished};
      if (span.us() > longest.us()) longest = span;
    }
    return longest;
  }

  /// Mean over the GPUs.
  [[nodiscard]] ComputeTime background_time(const RunReport& report) const {
    ComputeTime mean;
    const auto share = 1.0 / static_cast<double>(std::max<size_t>(1, report.backgrounds.size()));
    for (const BackgroundReport& background : report.backgrounds) {
      const Span span{background.started, background.finished};
      mean.us += span.us() * share;
      mean.overlap += span.overlap_us(other_span(report, background.gpu)) / span.us() * share;
      ++mean.launches;
    }
    return mean;
  }

  // Launches that lie within the other side's kernel count; the first one of several never does, since it
  // finds other caches than those behind it. Where none lies within, that with the largest share does.
  void collect(const RunReport& report, const Running& running, std::vector<ComputeTime>& out) const {
    std::vector<ComputeTime> found;
    for (const LaunchReport& launch : report.launches) {
      const auto mine = std::find(running.launches.begin(), running.launches.end(), launch.id);
      if (mine == running.launches.end()) continue;
      if (running.launches.size() > 1 && mine == running.launches.begin()) continue;
      const Span span{launch.started, launch.finished};
      const double overlap = span.overlap_us(other_span(report, launch.gpu)) / span.us();
      found.push_back({span.us(), overlap, 1});
    }
    constexpr double kWhole = 0.999;
    const bool any = std::any_of(found.begin(), found.end(),
                                 [](const ComputeTime& time) { return time.overlap >= kWhole; });
    const auto best =
        std::max_element(found.begin(), found.end(),
                         [](const ComputeTime& a, const ComputeTime& b) { return a.overlap < b.overlap; });
    for (auto it = found.begin(); it != found.end(); ++it)
      if (any ? it->overlap >= kWhole : best->overlap == 0 || it == best) out.push_back(*it);
  }

  const std::vector<CoRunPart>& parts_;
  const std::optional<models::TrafficLoad>& background_;
  const std::vector<Scenario>& scenarios_;
  PairSetting setting_;
  bool check_results_;
  std::string mismatch_;
  std::vector<Running> running_;
  std::vector<LaunchId> all_;
  std::vector<ComputeTime> times_;
};

/// One run of a pair, or of one side of it.
struct PairRun {
  ScenarioResult other;  ///< of the communication or the baseline; nothing if there is none
  std::vector<ComputeTime> compute;
  std::string mismatch;
  Span compute_span;
  RunReport report;
};

class Pair {
 public:
  Pair(const Scenario& whole, CoRunScenarios scenarios, const models::Machine& machine,
       const RunOptions& options)
      : whole_(whole), scenarios_(std::move(scenarios)), machine_(machine), options_(options) {}

  /// `other`: empty or one scenario, and what compute kernels do not share with it.
  Expected<PairRun> run(const std::vector<Scenario>& other,
                        const std::optional<models::SharedResources>& own = std::nullopt) const {
    const uint32_t gpus = other.empty() ? 1 : simulated_ranks(other[0]);
    ComputeSide side(whole_.co_run, scenarios_.compute, {.gpus = gpus, .own = own}, options_.check_results);
    PairRun result;
    if (other.empty()) {
      auto alone = run_alone(side, gpus);
      if (!alone) return alone.error();
      result.report = *std::move(alone);
    } else {
      RunOptions options = options_;
      options.companion = &side;
      auto both = run_family(other[0], machine_, options);
      if (!both) return both.error();
      result.other = *std::move(both);
      result.report = result.other.timed;
    }
    result.compute = side.times();
    result.compute_span = side.span(result.report);
    result.mismatch = side.mismatch();
    return result;
  }

  Expected<ScenarioResult> communication_alone() const {
    return run_family(scenarios_.communication[0], machine_, options_);
  }

  [[nodiscard]] const CoRunScenarios& scenarios() const { return scenarios_; }

 private:
  Expected<RunReport> run_alone(ComputeSide& side, uint32_t gpus) const {
    auto cluster = Cluster::create(machine_, gpus);
    if (!cluster) return cluster.error();
    RunOptions options = options_;
    options.companion = &side;
    return run_beside(**cluster, options);
  }

  const Scenario& whole_;
  CoRunScenarios scenarios_;
  const models::Machine& machine_;
  const RunOptions& options_;
};

/// The communication's longest kernel on GPU 0.
const LaunchReport* main_kernel(const PairRun& together) {
  const LaunchReport* longest = nullptr;
  if (together.other.kernels.empty()) return longest;
  const std::string& role = together.other.kernels.back().role;
  for (const LaunchReport& launch : together.report.launches)
    if (launch.gpu == GpuId{0} && launch.role == role &&
        (longest == nullptr || launch.finished - launch.started > longest->finished - longest->started))
      longest = &launch;
  return longest;
}

/// The share of that kernel's time in which compute kernels ran.
double covered_share(const PairRun& together) {
  const LaunchReport* main = main_kernel(together);
  if (main == nullptr) return 0;
  const Span span{main->started, main->finished};
  return span.us() > 0 ? span.overlap_us(together.compute_span) / span.us() : 0;
}

/// A kernel that only holds what the communication's CTAs hold, for longer than the compute kernels need.
Expected<Scenario> holder_of(const PairRun& together, const Scenario& whole) {
  const auto path = find_scenario("hold_sms");
  if (!path) return path.error();
  auto holder = load_scenario(*path);
  if (!holder) return holder;
  holder->machine = whole.machine;
  const LaunchReport& main = *main_kernel(together);
  holder->registers = main.footprint.registers_per_thread;
  const auto set = [&](std::string_view name, uint64_t value) {
    return set_micro_value(holder->micro, name, std::to_string(value));
  };
  constexpr double kMargin_us = 200;
  const auto clk = static_cast<uint64_t>((together.compute_span.us() * 2 + kMargin_us) * kClocksPerUs);
  for (const auto& [name, value] : {std::pair<std::string_view, uint64_t>{"ctas", main.ctas},
                                    {"threads", main.footprint.threads},
                                    {"shared", main.footprint.shared_bytes},
                                    {"cycles", clk}})
    if (const auto done = set(name, value); !done) return done.error();
  return holder;
}

// The steps between alone and together. Each run lets the two sides share one thing more, so the differences
// of neighbouring runs add up to the whole loss; which cause comes first is a choice, and one may hide
// another.
Expected<void> split_losses(const Pair& pair, const Scenario& whole, const PairRun& together,
                            std::vector<PairPart>& parts) {
  if (main_kernel(together) == nullptr) return {};
  const auto holder = holder_of(together, whole);
  if (!holder) return holder.error();
  const std::vector<Scenario>& communication = pair.scenarios().communication;
  const auto held = pair.run({*holder});
  if (!held) return held.error();
  const auto nothing_shared = pair.run(
      communication, models::SharedResources{.l2_capacity = true, .l2_bandwidth = true, .hbm = true});
  if (!nothing_shared) return nothing_shared.error();
  const auto capacity = pair.run(communication, models::SharedResources{.l2_bandwidth = true, .hbm = true});
  if (!capacity) return capacity.error();
  const auto bandwidth = pair.run(communication, models::SharedResources{.hbm = true});
  if (!bandwidth) return bandwidth.error();

  const auto add = [](PairPart& part, double sms, double unshared, double after_capacity,
                      double after_bandwidth) {
    part.losses = {{"SMs", sms - part.alone_us},
                   {"L2 capacity", after_capacity - unshared},
                   {"L2 bandwidth", after_bandwidth - after_capacity},
                   {"HBM", part.together_us - after_bandwidth},
                   {"NVLink", 0},  // compute kernels of a pair stay within their GPU
                   {"rest", unshared - sms}};
  };
  // Nothing stands for the compute kernels as the holder does for the communication: its loss to waiting for
  // SMs is what is left when nothing else is shared.
  add(parts[0], nothing_shared->other.time_us, nothing_shared->other.time_us, capacity->other.time_us,
      bandwidth->other.time_us);
  for (size_t i = 0; i + 1 < parts.size(); ++i)
    add(parts[i + 1], held->compute[i].us, nothing_shared->compute[i].us, capacity->compute[i].us,
        bandwidth->compute[i].us);
  return {};
}

/// Whether a GPU can hold the load's footprint and end its work within the time of a run.
Expected<void> check_background(const Scenario& whole, const models::Machine& machine,
                                const RunOptions& options) {
  const auto& load = whole.co_run.background;
  if (!load) return {};
  if (auto fits = check_fits_gpu(whole, machine, load->footprint_bytes, "footprint of the background load");
      !fits)
    return fits;
  const double most_us = options.max_time.us();
  const double flops_per_us = load->flops_per_clk * machine.sm.count * machine.sm.clock_hz * 1e-6;
  const double bytes_per_us = machine.l2.slice_bytes_per_clk * machine.l2.slices * machine.sm.clock_hz * 1e-6;
  const double us = std::max(load->flops / flops_per_us, load->flops * load->bytes_per_flop / bytes_per_us);
  if (us <= most_us) return {};
  return Error{.message = fmt::format("[background] takes {:.3g} us at least, expected at most {:.3g} us of "
                                      "simulated time",
                                      us, most_us),
               .path = whole.path,
               .hint = "fewer 'flops', or more 'flops_per_clk'"};
}

}  // namespace

Expected<ScenarioResult> run_co_run(const Scenario& whole, const models::Machine& machine,
                                    const RunOptions& options) {
  auto scenarios = co_run_scenarios(whole);
  if (!scenarios) return scenarios.error();
  if (const auto possible = check_background(whole, machine, options); !possible) return possible.error();
  const Pair pair(whole, *std::move(scenarios), machine, options);
  const auto alone = pair.run(pair.scenarios().baseline);
  if (!alone) return alone.error();
  const auto communication = pair.communication_alone();
  if (!communication) return communication.error();
  auto together = pair.run(pair.scenarios().communication);
  if (!together) return together.error();

  ScenarioResult result = together->other;
  result.warp_instructions = together->report.warp_instructions;
  result.figures.clear();
  result.parts.push_back({.name = pair.scenarios().communication[0].name,
                          .side = "communication",
                          .alone_us = communication->time_us,
                          .together_us = together->other.time_us,
                          .launches = 1,
                          .overlap = covered_share(*together)});
  for (size_t part = 0; part < together->compute.size(); ++part)
    result.parts.push_back({.name = part < pair.scenarios().compute.size()
                                        ? pair.scenarios().compute[part].name
                                        : std::string(kBackground),
                            .side = "compute",
                            .alone_us = alone->compute[part].us,
                            .together_us = together->compute[part].us,
                            .launches = together->compute[part].launches,
                            .overlap = together->compute[part].overlap});
  result.time_us = result.time_us_rank0 = together->compute[0].us;
  if (whole.split)
    if (const auto split = split_losses(pair, whole, *together, result.parts); !split) return split.error();
  if (options.check_results && result.result != ResultState::wrong) judge(result, together->mismatch);
  return result;
}

}  // namespace ptxwire::sim
