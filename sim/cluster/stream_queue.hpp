// Streams and the host thread of one GPU: when a launch that the host enqueued may start. Simple on purpose:
// one host thread per GPU issues its calls in order; a stream runs one launch after another.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "models/base/logical_process.hpp"
#include "models/host/launch_timer.hpp"
#include "sim/exec/device.hpp"

namespace ptxwire::sim {

struct HostCall {
  enum class Kind : uint8_t { launch, record, wait, synchronize };
  Kind kind = Kind::launch;
  uint32_t stream = 0;
  Launch* launch = nullptr;
  uint32_t event = 0;
};

/// When things start is models::LaunchTimer's business. An event of another GPU is a message between their
/// processes: it takes event_gap, or `hop` (the least time between two processes) if that is longer.
class StreamQueue {
 public:
  StreamQueue(const models::LaunchTimer& timer, models::Picoseconds hop, models::LogicalProcess& process,
              Device& device);

  uint32_t add_stream();
  uint32_t add_event();
  /// An event of this GPU that completes once `event` of `owner` has, for waits of streams here. Not during a
  /// run.
  uint32_t follow_event(StreamQueue& owner, uint32_t event);
  [[nodiscard]] bool has_stream(uint32_t stream) const { return stream < streams_.size(); }
  [[nodiscard]] bool has_event(uint32_t event) const { return event < events_.size(); }
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
    std::vector<std::pair<StreamQueue*, uint32_t>> followers;  ///< on other GPUs
  };
  void host_step(models::Picoseconds now, uint64_t argument);
  void advance(uint32_t stream, models::Picoseconds now);
  void begin(models::Picoseconds now, uint64_t argument);
  void complete_event(uint32_t event, models::Picoseconds time, models::Picoseconds now);
  void followed_event(models::Picoseconds now, uint64_t argument);
  void wake_host(models::Picoseconds now);

  models::LaunchTimer timer_;
  models::Picoseconds hop_;
  models::LogicalProcess& process_;
  Device& device_;
  std::vector<Stream> streams_;
  std::vector<Event> events_;
  std::deque<HostCall> calls_;
  bool host_waiting_ = false;
  models::EventMember<StreamQueue, &StreamQueue::host_step> host_event_{*this};
  models::EventMember<StreamQueue, &StreamQueue::begin> begin_event_{*this};
  models::EventMember<StreamQueue, &StreamQueue::followed_event> followed_event_{*this};
};

}  // namespace ptxwire::sim
