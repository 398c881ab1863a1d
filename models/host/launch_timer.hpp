// When a kernel may start: the time of the host thread that enqueues, and the gaps between kernels of
// streams.
#pragma once

#include <optional>

#include "models/base/units.hpp"
#include "models/machines/machine.hpp"

namespace ptxwire::models {

/// The clock of one host thread that enqueues work for one GPU. Calls are asynchronous: the thread goes on
/// after `launch_interval_us`, the GPU learns of the launch `launch_latency_us` after the call.
class LaunchTimer {
 public:
  explicit LaunchTimer(const HostParameters& host)
      : latency_(microseconds(host.launch_latency_us)),
        interval_(microseconds(host.launch_interval_us)),
        kernel_gap_(microseconds(host.kernel_gap_us)),
        event_gap_(microseconds(host.event_gap_us)),
        cooperative_extra_(microseconds(host.cooperative_extra_us)) {}

  /// The host thread enqueues a kernel now. Returns the earliest start of its first CTA if nothing precedes
  /// it.
  Picoseconds call_launch(bool cooperative) {
    const Picoseconds arrival = now_ + latency_ + (cooperative ? cooperative_extra_ : Picoseconds{});
    now_ += interval_;
    return arrival;
  }

  /// The host thread waits until `idle`, when the stream it synchronizes with has no work left.
  void synchronize(Picoseconds idle) { now_ = max(now_, idle); }

  /// Time of the host thread. Event records and waits are taken as free beside launches.
  [[nodiscard]] Picoseconds now() const { return now_; }

  /// Earliest start of a kernel that arrived at `arrival`, after the kernel before it in its stream ended and
  /// after the kernel behind an event it waits for ended. A dependency through an event of another stream
  /// costs event_gap_us beyond the gap of one within a stream.
  [[nodiscard]] Picoseconds start(Picoseconds arrival, std::optional<Picoseconds> previous_end,
                                  std::optional<Picoseconds> event) const {
    Picoseconds earliest = arrival;
    if (previous_end) earliest = max(earliest, *previous_end + kernel_gap_);
    if (event) earliest = max(earliest, *event + kernel_gap_ + event_gap_);
    return earliest;
  }

 private:
  Picoseconds latency_, interval_, kernel_gap_, event_gap_, cooperative_extra_;
  Picoseconds now_{};
};

}  // namespace ptxwire::models
