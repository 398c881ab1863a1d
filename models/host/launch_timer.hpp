// When a kernel may start: the time of the host thread that enqueues, and the gaps between kernels of
// streams.
#pragma once

#include "models/base/units.hpp"
#include "models/machines/machine.hpp"

namespace ptxwire::models {

/// The rules by which calls of one host thread become kernels on one GPU. Calls are asynchronous: the thread
/// goes on after `launch_interval_us`, the GPU learns of the launch `launch_latency_us` after the call.
class LaunchTimer {
 public:
  explicit LaunchTimer(const HostParameters& host)
      : latency_(microseconds(host.launch_latency_us)),
        interval_(microseconds(host.launch_interval_us)),
        kernel_gap_(microseconds(host.kernel_gap_us)),
        event_gap_(microseconds(host.event_gap_us)),
        cooperative_extra_(microseconds(host.cooperative_extra_us)) {}

  /// When the host thread makes its next call after a launch call at `call`. Event records and waits are
  /// taken as free beside launches.
  [[nodiscard]] Picoseconds next_call(Picoseconds call) const { return call + interval_; }

  /// When a stream that waits for an event of another stream may go on.
  [[nodiscard]] Picoseconds after_event(Picoseconds event) const { return event + event_gap_; }
  [[nodiscard]] Picoseconds event_gap() const { return event_gap_; }

  /// Earliest start of a kernel launched by a call at `call`, whose stream is free at `ready`: its earlier
  /// work is done and the events it waits for allow it. `after_kernel`: that work has a kernel in it.
  [[nodiscard]] Picoseconds start(Picoseconds call, Picoseconds ready, bool after_kernel,
                                  bool cooperative) const {
    const Picoseconds stream = after_kernel ? ready + kernel_gap_ : ready;
    const Picoseconds earliest = max(call + latency_, stream);
    return cooperative ? earliest + cooperative_extra_ : earliest;
  }

 private:
  Picoseconds latency_, interval_, kernel_gap_, event_gap_, cooperative_extra_;
};

}  // namespace ptxwire::models
