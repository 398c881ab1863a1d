#include "sim/exec/slot_calendar.hpp"

#include <catch2/catch.hpp>

using ptxwire::sim::SlotCalendar;

TEST_CASE("slot calendar: gaps before a later claim are taken by others", "[sim]") {
  SlotCalendar calendar;
  CHECK(calendar.claim(10, 4) == 10);
  CHECK(calendar.claim(8, 1) == 8);
  CHECK(calendar.claim(8, 2) == 14);
  CHECK(calendar.claim(8, 1) == 9);
}

TEST_CASE("slot calendar: a port serves one cycle of one claim at a time, however long the queue", "[sim]") {
  // All want cycle 100: claim i is served i widths later, also beyond any window that the calendar keeps.
  const uint32_t width = GENERATE(1U, 16U, 32U);
  SlotCalendar calendar;
  const int64_t start = 128;
  for (int64_t i = 0; i < 20000 / width; ++i) REQUIRE(calendar.claim(start, width) == start + i * width);
}

TEST_CASE("slot calendar: cycles long ago are free and do not disturb the present", "[sim]") {
  SlotCalendar calendar;
  for (int64_t i = 0; i < 2048; ++i) calendar.claim(100000 + i, 1);
  CHECK(calendar.claim(5000, 1) == 5000);
  CHECK(calendar.claim(5000, 1) == 5000);  // forgotten: a replay of the past is not booked
  CHECK(calendar.claim(102000, 1) == 102048);
}
