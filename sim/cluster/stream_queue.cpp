#include "sim/cluster/stream_queue.hpp"

namespace ptxwire::sim {

using models::Picoseconds;

StreamQueue::StreamQueue(const models::LaunchTimer& timer, Picoseconds hop, models::LogicalProcess& process,
                         Device& device)
    : timer_(timer), hop_(hop), process_(process), device_(device) {}

uint32_t StreamQueue::add_stream() {
  streams_.emplace_back();
  return static_cast<uint32_t>(streams_.size() - 1);
}

uint32_t StreamQueue::add_event() {
  events_.emplace_back();
  return static_cast<uint32_t>(events_.size() - 1);
}

uint32_t StreamQueue::follow_event(StreamQueue& owner, uint32_t event) {
  const uint32_t own = add_event();
  if (owner.events_[event].complete) {
    events_[own] = {true, owner.events_[event].time, {}};
  } else {
    owner.events_[event].followers.emplace_back(this, own);
  }
  return own;
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
      process_.at(timer_.next_call(now), host_event_, 0);
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
        const Picoseconds start =
            timer_.start(work.issued, stream.done, stream.after_kernel, work.call.launch->cooperative);
        stream.running = true;
        process_.at(max(start, now), begin_event_, index);
        return;
      }
      case HostCall::Kind::record: {
        const Picoseconds time = max(work.issued, stream.done);
        const uint32_t event = work.call.event;
        stream.work.pop_front();
        complete_event(event, time, now);
        for (uint32_t other = 0; other < streams_.size(); ++other)
          if (other != index) advance(other, now);
        break;
      }
      case HostCall::Kind::wait: {
        const Event& event = events_[work.call.event];
        if (!event.complete) return;
        stream.done = max(stream.done, timer_.after_event(event.time));
        stream.work.pop_front();
        break;
      }
      case HostCall::Kind::synchronize:
        stream.work.pop_front();
        break;
    }
  }
}

void StreamQueue::complete_event(uint32_t event, Picoseconds time, Picoseconds now) {
  events_[event].complete = true;
  events_[event].time = time;
  for (const auto& [queue, follower] : events_[event].followers)
    process_.send(queue->process_, max(time, now) + max(timer_.event_gap(), hop_), queue->followed_event_,
                  follower);
  events_[event].followers.clear();
}

// An event of another GPU has completed: `now` is when streams of this one may go on.
void StreamQueue::followed_event(Picoseconds now, uint64_t argument) {
  complete_event(static_cast<uint32_t>(argument), now - timer_.event_gap(), now);
  for (uint32_t stream = 0; stream < streams_.size(); ++stream) advance(stream, now);
  wake_host(now);
}

void StreamQueue::wake_host(Picoseconds now) {
  if (!host_waiting_) return;
  host_waiting_ = false;
  process_.at(now, host_event_, 0);
}

void StreamQueue::begin(Picoseconds /*now*/, uint64_t argument) {
  const auto index = static_cast<uint32_t>(argument);
  Launch& launch = *streams_[index].work.front().call.launch;
  launch.on_done = [this, index](Picoseconds done) {
    Stream& stream = streams_[index];
    stream.work.pop_front();
    stream.running = false;
    stream.after_kernel = true;
    stream.done = done;
    advance(index, done);
    wake_host(done);
  };
  device_.scheduler().submit(launch);
}

}  // namespace ptxwire::sim
