#include "models/host/launch_timer.hpp"

#include <catch2/catch.hpp>

namespace ptxwire::models::test {
namespace {

constexpr HostParameters kHost{.launch_latency_us = 5,
                               .launch_interval_us = 2,
                               .kernel_gap_us = 1,
                               .event_gap_us = 0.5,
                               .cooperative_extra_us = 0.25};

}  // namespace

TEST_CASE("launch: calls follow each other at the interval, each arrives a latency later", "[analytic]") {
  const LaunchTimer timer(kHost);
  const Picoseconds second = timer.next_call({});
  CHECK(second == microseconds(2));
  CHECK(timer.start({}, {}, false, false) == microseconds(5));
  CHECK(timer.start(second, {}, false, false) == microseconds(7));
  CHECK(timer.start(second, {}, false, true) == microseconds(7.25));
}

TEST_CASE("launch: a kernel starts after arrival, predecessor and event, whichever is last", "[analytic]") {
  const LaunchTimer timer(kHost);
  const Picoseconds call = microseconds(5);  // arrives at 10
  CHECK(timer.start(call, microseconds(8), true, false) == microseconds(10));
  CHECK(timer.start(call, microseconds(9.5), true, false) == microseconds(10.5));
  CHECK(timer.start(call, microseconds(20), true, false) == microseconds(21));
  CHECK(timer.start(call, microseconds(20), false, false) == microseconds(20));
  CHECK(timer.start(call, microseconds(20), true, true) == microseconds(21.25));
  CHECK(timer.after_event(microseconds(20)) == microseconds(20.5));
  CHECK(timer.start(call, timer.after_event(microseconds(20)), true, false) == microseconds(21.5));
}

}  // namespace ptxwire::models::test
