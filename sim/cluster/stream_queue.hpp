// Streams and the host thread of one GPU: when a launch that the host enqueued may start. Simple on purpose:
// one host thread per GPU issues its calls in order; a stream runs one launch after another.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "models/base/logical_process.hpp"
#include "models/machines/machine.hpp"
#include "sim/exec/device.hpp"

namespace ptxwire::sim {

struct HostCall {
  enum class Kind : uint8_t { launch, record, wait, synchronize };
  Kind kind = Kind::launch;
  uint32_t stream = 0;
  Launch* launch = nullptr;
  uint32_t event = 0;
};

/// Timing: a launch call costs the host launch_interval; a kernel starts launch_latency after its call at the
/// earliest, and kernel_gap after the previous kernel of its stream; work that waits for an event of another
/// stream starts event_gap later.
class StreamQueue {
 public:
  StreamQueue(const models::HostParameters& host, models::LogicalProcess& process, Device& device);

  uint32_t add_stream();
  uint32_t add_event();
  void enqueue(const HostCall& call) { calls_.push_back(call); }
  /// The host starts to work through its calls at `now`.
  void start(models::Picoseconds now);
  [[nodiscard]] models::Picoseconds event_time(uint32_t event) const { return events_[event].time; }
  [[nodiscard]] bool idle() const;

 private:
  struct Work {
    HostCall call;
    models::Picoseconds issued{};
  };
  struct Stream {
    std::deque<Work> work;
    bool running = false;        ///< a launch is on the device
    bool after_kernel = false;   ///< the last thing that ran was a kernel
    models::Picoseconds done{};  ///< when the last work was done
  };
  struct Event {
    bool complete = false;
    models::Picoseconds time{};
  };
  void host_step(models::Picoseconds now, uint64_t argument);
  void advance(uint32_t stream, models::Picoseconds now);
  void begin(models::Picoseconds now, uint64_t argument);

  const models::HostParameters& host_;
  models::LogicalProcess& process_;
  Device& device_;
  std::vector<Stream> streams_;
  std::vector<Event> events_;
  std::deque<HostCall> calls_;
  bool host_waiting_ = false;
  models::EventMember<StreamQueue, &StreamQueue::host_step> host_event_{*this};
  models::EventMember<StreamQueue, &StreamQueue::begin> begin_event_{*this};
};

}  // namespace ptxwire::sim
