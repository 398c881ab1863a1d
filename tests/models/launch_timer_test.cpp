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
  LaunchTimer timer(kHost);
  CHECK(timer.call_launch(false) == microseconds(5));
  CHECK(timer.call_launch(false) == microseconds(7));
  CHECK(timer.call_launch(true) == microseconds(9.25));
  CHECK(timer.now() == microseconds(6));
}

TEST_CASE("launch: the host waits for a stream only if it is behind", "[analytic]") {
  LaunchTimer timer(kHost);
  timer.synchronize(microseconds(100));
  CHECK(timer.call_launch(false) == microseconds(105));
  timer.synchronize(microseconds(50));
  CHECK(timer.now() == microseconds(102));
}

TEST_CASE("launch: a kernel starts after arrival, predecessor and event, whichever is last", "[analytic]") {
  const LaunchTimer timer(kHost);
  CHECK(timer.start(microseconds(10), {}, {}) == microseconds(10));
  CHECK(timer.start(microseconds(10), microseconds(8), {}) == microseconds(10));
  CHECK(timer.start(microseconds(10), microseconds(20), {}) == microseconds(21));
  CHECK(timer.start(microseconds(10), microseconds(20), microseconds(20)) == microseconds(21.5));
}

}  // namespace ptxwire::models::test
