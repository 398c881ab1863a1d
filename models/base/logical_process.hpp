// A logical process: one event queue and one clock. Each GPU and each switch group is one; sim/engine runs
// them window by window on threads. Within a process events are handled in order of (time, insertion);
// messages between processes are delivered at window ends in order of (time, source, sequence), so results do
// not depend on threads.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "models/base/units.hpp"

namespace ptxwire::models {

class EventHandler {
 public:
  virtual void handle(Picoseconds now, uint64_t argument) = 0;
  /// An event is about to be handled, after the one at hand: asks the host's memory for what it will touch,
  /// and changes nothing. Most of an event's cost is waiting for lines of the host's cache.
  virtual void prepare(uint64_t argument) const = 0;

 protected:
  ~EventHandler() = default;
};

/// Hints the host to load `lines` of its cache from `address` on. Any address will do.
inline void prefetch_lines(const void* address, unsigned lines) {
  for (unsigned i = 0; i < lines; ++i) __builtin_prefetch(static_cast<const char*>(address) + 64 * i);
}

/// Binds an event kind to a member function: `EventMember<Foo, &Foo::on_arrival> arrival_{*this};` A third
/// argument binds prepare(), a member `void (uint64_t) const`.
template <typename Owner, void (Owner::*kMember)(Picoseconds, uint64_t), auto kPrepare = nullptr>
class EventMember final : public EventHandler {
 public:
  explicit EventMember(Owner& owner) : owner_(owner) {}
  void handle(Picoseconds now, uint64_t argument) override { (owner_.*kMember)(now, argument); }
  void prepare([[maybe_unused]] uint64_t argument) const override {
    if constexpr (!std::is_null_pointer_v<decltype(kPrepare)>) (owner_.*kPrepare)(argument);
  }

 private:
  Owner& owner_;
};

struct Event {
  Picoseconds time;
  uint64_t sequence;
  EventHandler* handler;
  uint64_t argument;
};

class LogicalProcess {
 public:
  explicit LogicalProcess(uint32_t id) : id_(id) {}
  LogicalProcess(const LogicalProcess&) = delete;
  LogicalProcess& operator=(const LogicalProcess&) = delete;

  [[nodiscard]] uint32_t id() const { return id_; }
  [[nodiscard]] Picoseconds now() const { return now_; }
  [[nodiscard]] uint64_t events_handled() const { return handled_; }
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] Picoseconds next_time() const { return heap_.empty() ? kNever : heap_.front().time; }

  /// Schedules an event of this process at `time` (not before now()).
  void at(Picoseconds time, EventHandler& handler, uint64_t argument) {
    push({time < now_ ? now_ : time, sequence_++, &handler, argument});
  }

  /// Sends an event to another process. `arrival` must lie at or after the end of the current window, which a
  /// link latency of at least the engine's lookahead guarantees. To itself it is at().
  void send(LogicalProcess& destination, Picoseconds arrival, EventHandler& handler, uint64_t argument) {
    if (&destination == this) {
      at(arrival, handler, argument);
    } else {
      outbox_.push_back({&destination, arrival, &handler, argument});
    }
  }

  /// Handles all events before `end`. Called by the engine.
  void run_until(Picoseconds end);

  struct Message {
    LogicalProcess* destination;
    Picoseconds arrival;
    EventHandler* handler;
    uint64_t argument;
  };
  /// Messages of the window just run; the engine delivers and clears them.
  std::vector<Message>& outbox() { return outbox_; }

 private:
  void push(const Event& event);
  void pop();

  uint32_t id_;
  Picoseconds now_{};
  uint64_t sequence_ = 0;
  uint64_t handled_ = 0;
  std::vector<Event> heap_;
  std::vector<Message> outbox_;
};

}  // namespace ptxwire::models
