// Running what was enqueued, until everything is done or something is wrong.
#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "sim/cluster/cluster_implementation.hpp"
#include "sim/engine/window_runner.hpp"

namespace ptxwire::sim {

using models::LogicalProcess;
using models::Picoseconds;

namespace {

/// With more than these the registers of waiting warps would take more memory than a workstation has.
constexpr size_t kManyGpus = 32;

constexpr std::string_view kWaitingHint =
    "each line names who waits and at which address, barrier or instruction";

}  // namespace

std::optional<Error> ClusterImplementation::first_fault() const {
  const std::pair<Picoseconds, Error>* first = nullptr;
  for (const std::unique_ptr<Device>& device : devices_)
    if (device->fault_seen() && (first == nullptr || device->fault_seen()->first < first->first))
      first = &*device->fault_seen();
  if (first == nullptr) return std::nullopt;
  return first->second;
}

std::string ClusterImplementation::waiting_report() const {
  constexpr size_t kLines = 12;
  std::string text;
  size_t shown = 0;
  for (uint32_t g = 0; g < gpu_count_; ++g)
    if (host_delay_[g] == models::kNever && !streams_[g]->idle())
      text += fmt::format("\n  GPU {}: its host never starts", g);
  for (const std::unique_ptr<Device>& device : devices_) {
    for (const std::string& line : device->waiting_report(3)) {
      if (shown++ < kLines) text += "\n  " + line;
    }
  }
  return text;
}

Picoseconds ClusterImplementation::now() const {
  Picoseconds latest{};
  for (const std::unique_ptr<LogicalProcess>& process : processes_) latest = max(latest, process->now());
  return latest;
}

uint64_t ClusterImplementation::nvlink_payload_bytes() const {
  uint64_t sum = 0;
  for (const auto& system : systems_) sum += system->counters().nvlink_received_payload_bytes;
  return sum;
}

bool ClusterImplementation::idle() const {
  return std::all_of(streams_.begin(), streams_.end(), [](const auto& queue) { return queue->idle(); }) &&
         std::all_of(backgrounds_.begin(), backgrounds_.end(),
                     [](const Background& load) { return load.done; });
}

bool ClusterImplementation::nudge(Picoseconds now, const Nudge& what) {
  bool moved = false;
  for (const std::unique_ptr<Device>& device : devices_) moved = device->nudge(now, what) || moved;
  return moved;
}

Expected<RunReport> ClusterImplementation::run(const RunLimits& limits) {
  if (broken_)
    return Error{.message = "an earlier run of this cluster ended with an error, so its state is not defined",
                 .hint = "create a new cluster"};
  if (refused_) return *std::exchange(refused_, std::nullopt);
  group_.park_polls = limits.park_polls;
  group_.elides =
      std::any_of(memories_.begin(), memories_.end(), [](const auto& space) { return space->elides(); });
  group_.quantum_cycles = limits.quantum_cycles;
  group_.spares_registers = limits.spare_registers.value_or(devices_.size() > kManyGpus);
  for (const std::unique_ptr<Device>& device : devices_)
    device->register_memory().set_spare(group_.spares_registers);
  const Picoseconds begin = now();
  for (const std::unique_ptr<LogicalProcess>& process : processes_) process->run_until(begin);
  const Before before = snapshot();
  for (uint32_t g = 0; g < gpu_count_; ++g) {
    if (flush_) systems_[g]->flush_l2();
    systems_[g]->counters().l2_peak_lines = systems_[g]->counters().l2_lines;
    if (host_delay_[g] != models::kNever) streams_[g]->start(begin + host_delay_[g]);
  }
  flush_ = false;
  start_backgrounds(begin);
  if (std::optional<Error> error = run_to_end(begin, limits)) {
    broken_ = true;
    return *std::move(error);
  }
  std::fill(host_delay_.begin(), host_delay_.end(), Picoseconds{});
  Picoseconds end{};
  for (const EnqueuedLaunch& enqueued : launches_) end = max(end, enqueued.launch.finished);
  for (const Background& background : backgrounds_) end = max(end, background.report.finished);
  RunReport result = report(begin, end, before);
  launches_.clear();
  backgrounds_.clear();
  return result;
}

// A poll with a time-out is parked like any other. So that the time-out is noticed while others go on, polls
// that read a clock and have been parked for long are executed again at times that grow by an eighth.
std::optional<Error> ClusterImplementation::run_to_end(Picoseconds begin, const RunLimits& limits) {
  constexpr auto kClockPatience = models::microseconds(1000);
  const Picoseconds limit = limits.max_time == models::kNever ? models::kNever : begin + limits.max_time;
  const auto grown = [&](Picoseconds time, Picoseconds least) {
    return max(least, Picoseconds{(time - begin).value / 8});
  };
  std::vector<LogicalProcess*> processes;
  for (const std::unique_ptr<LogicalProcess>& process : processes_) processes.push_back(process.get());
  bool cancelled = false;
  constexpr uint32_t kWindowsPerReport = 8;
  uint32_t windows = 0;
  const uint64_t arrived_before = nvlink_payload_bytes();
  WindowRunnerOptions options;
  options.lookahead = lookahead_;
  options.threads = limits.threads != 0 ? limits.threads : std::max(1U, std::thread::hardware_concurrency());
  options.stop = [&](Picoseconds now) {
    for (const std::unique_ptr<Device>& device : devices_)
      if (device->fault_seen()) return true;
    if (limits.progress && ++windows % kWindowsPerReport == 0)
      cancelled = !limits.progress({now - begin, nvlink_payload_bytes() - arrived_before});
    return cancelled;
  };
  Picoseconds clock_check = begin + kClockPatience;
  for (;;) {
    options.max_time = min(limit, clock_check);
    const RunEnd end = run_windows(processes, options);
    if (std::optional<Error> fault = first_fault()) return fault;
    if (cancelled) return Error{.message = "stopped before the end"};
    if (end == RunEnd::out_of_time && clock_check < limit) {
      nudge(max(clock_check, now()), {.clocks = true, .parked_for = kClockPatience});
      clock_check += grown(clock_check, kClockPatience);
      continue;
    }
    if (end == RunEnd::out_of_time)
      return Error{
          .message = fmt::format("the kernels did not end within the budget of {:.0f} us of simulated "
                                 "time; these warps wait{}",
                                 limits.max_time.us(), waiting_report() + rdma_error_words()),
          .hint = std::string(kWaitingHint)};
    if (idle()) return std::nullopt;
    // Nothing is in flight: lanes that wait for their warp go on; then polls that read a clock get a later
    // one.
    if (nudge(now(), {.clocks = false})) continue;
    const Picoseconds later = now() + grown(now(), models::microseconds(1));
    if (later < limit && nudge(later, {.clocks = true})) continue;
    return Error{.message = "deadlock: nothing is in flight and these warps wait" + waiting_report() +
                            rdma_error_words(),
                 .hint = std::string(kWaitingHint)};
  }
}

}  // namespace ptxwire::sim
