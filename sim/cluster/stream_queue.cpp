#include "sim/cluster/stream_queue.hpp"

namespace ptxwire::sim {

using models::microseconds;
using models::Picoseconds;

StreamQueue::StreamQueue(const models::HostParameters& host, models::LogicalProcess& process, Device& device)
    : host_(host), process_(process), device_(device) {}

uint32_t StreamQueue::add_stream() {
  streams_.emplace_back();
  return static_cast<uint32_t>(streams_.size() - 1);
}

uint32_t StreamQueue::add_event() {
  events_.emplace_back();
  return static_cast<uint32_t>(events_.size() - 1);
}

bool StreamQueue::idle() const {
  for (const Stream& stream : streams_)
    if (stream.running || !stream.work.empty()) return false;
  return calls_.empty();
}

void StreamQueue::start(Picoseconds now) {
  host_waiting_ = false;
  if (!calls_.empty()) process_.at(now, host_event_, 0);
}

// One call of the host thread; the next follows after what this one costs.
void StreamQueue::host_step(Picoseconds now, uint64_t /*argument*/) {
  while (!calls_.empty()) {
    const HostCall call = calls_.front();
    Stream& stream = streams_[call.stream];
    if (call.kind == HostCall::Kind::synchronize) {
      if (stream.running || !stream.work.empty()) {
        host_waiting_ = true;
        return;
      }
      calls_.pop_front();
      continue;
    }
    calls_.pop_front();
    stream.work.push_back({call, now});
    advance(call.stream, now);
    if (call.kind == HostCall::Kind::launch) {
      process_.at(now + microseconds(host_.launch_interval_us), host_event_, 0);
      return;
    }
  }
}

// Starts what is at the head of a stream and ready.
void StreamQueue::advance(uint32_t index, Picoseconds now) {
  Stream& stream = streams_[index];
  while (!stream.running && !stream.work.empty()) {
    const Work& work = stream.work.front();
    switch (work.call.kind) {
      case HostCall::Kind::launch: {
        Picoseconds start = work.issued + microseconds(host_.launch_latency_us);
        if (stream.after_kernel) start = max(start, stream.done + microseconds(host_.kernel_gap_us));
        start = max(start, stream.done);
        if (work.call.launch->cooperative) start += microseconds(host_.cooperative_extra_us);
        stream.running = true;
        process_.at(max(start, now), begin_event_, index);
        return;
      }
      case HostCall::Kind::record: {
        Event& event = events_[work.call.event];
        event.complete = true;
        event.time = max(work.issued, stream.done);
        stream.work.pop_front();
        for (uint32_t other = 0; other < streams_.size(); ++other)
          if (other != index && !streams_[other].running && !streams_[other].work.empty())
            advance(other, now);
        break;
      }
      case HostCall::Kind::wait: {
        const Event& event = events_[work.call.event];
        if (!event.complete) return;
        stream.done = max(stream.done, event.time + microseconds(host_.event_gap_us));
        stream.work.pop_front();
        break;
      }
      case HostCall::Kind::synchronize:
        stream.work.pop_front();
        break;
    }
  }
}

void StreamQueue::begin(Picoseconds now, uint64_t argument) {
  const auto index = static_cast<uint32_t>(argument);
  Launch& launch = *streams_[index].work.front().call.launch;
  launch.on_done = [this, index](Picoseconds done) {
    Stream& stream = streams_[index];
    stream.work.pop_front();
    stream.running = false;
    stream.after_kernel = true;
    stream.done = done;
    advance(index, done);
    if (host_waiting_) {
      host_waiting_ = false;
      process_.at(done, host_event_, 0);
    }
  };
  (void)now;
  device_.submit(launch);
}

}  // namespace ptxwire::sim
