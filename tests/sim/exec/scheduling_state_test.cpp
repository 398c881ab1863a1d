// The small state machines of an SM: issue slots, unacknowledged stores, mbarrier words.
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <set>

#include "sim/exec/mbarrier_word.hpp"
#include "sim/exec/slot_calendar.hpp"
#include "sim/exec/store_tracker.hpp"

using namespace ptxwire::sim;

TEST_CASE("slot calendar: every cycle is given once, and the first free one", "[exec]") {
  SlotCalendar calendar;
  std::mt19937 random(7);
  std::set<int64_t> taken;
  for (int i = 0; i < 3000; ++i) {
    // a port that is full, claims up to 300 cycles ahead and back; bookings are kept for 1024 cycles
    const int64_t wish = 1000 + i + static_cast<int64_t>(random() % 300);
    int64_t expected = wish;
    while (taken.contains(expected)) ++expected;
    REQUIRE(calendar.claim(wish, 1) == expected);
    taken.insert(expected);
  }
}

TEST_CASE("slot calendar: runs are consecutive, free and not before the wish", "[exec]") {
  SlotCalendar calendar;
  std::mt19937 random(11);
  std::set<int64_t> taken;
  for (int i = 0; i < 2000; ++i) {
    const uint32_t width = 1 + random() % 8;
    const int64_t wish = 5000 + i * 6 + static_cast<int64_t>(random() % 200);
    const int64_t at = calendar.claim(wish, width);
    REQUIRE(at >= wish);
    for (uint32_t k = 0; k < width; ++k) REQUIRE(taken.insert(at + k).second);
  }
}

TEST_CASE("slot calendar: a claim wider than a word ends after all its cycles", "[exec]") {
  SlotCalendar calendar;
  const int64_t at = calendar.claim(0, 100);  // the last part begins behind the full ones
  CHECK(at >= 96);
  CHECK(calendar.claim(0, 1) >= 96);
}

TEST_CASE("store tracker: an epoch is passed when it and all before it are acknowledged", "[exec]") {
  StoreTracker tracker;
  CHECK(tracker.drained());
  const uint64_t a = tracker.add();
  const uint64_t b = tracker.add();
  CHECK_FALSE(tracker.drained());
  const uint64_t first = tracker.close();
  const uint64_t c = tracker.add();
  const uint64_t second = tracker.close();
  const uint64_t d = tracker.add();
  tracker.acknowledge(c);
  CHECK_FALSE(tracker.passed(first));
  CHECK_FALSE(tracker.passed(second));  // a and b are older
  tracker.acknowledge(a);
  CHECK_FALSE(tracker.passed(first));
  tracker.acknowledge(b);
  CHECK(tracker.passed(first));
  CHECK(tracker.passed(second));
  CHECK_FALSE(tracker.drained());
  tracker.acknowledge(d);
  CHECK(tracker.drained());
}

TEST_CASE("store tracker: against a list of stores", "[exec]") {
  StoreTracker tracker;
  std::mt19937 random(3);
  std::multiset<uint64_t> flying;
  std::set<uint64_t> closed;
  for (int i = 0; i < 20000; ++i) {
    const uint32_t what = random() % 10;
    if (what < 5) {
      flying.insert(tracker.add());
    } else if (what < 9 && !flying.empty()) {
      auto it = flying.begin();
      std::advance(it, static_cast<std::ptrdiff_t>(random() % flying.size()));
      tracker.acknowledge(*it);
      flying.erase(it);
    } else if (what == 9) {
      closed.insert(tracker.close());
    }
    REQUIRE(tracker.drained() == flying.empty());
    if (closed.empty()) continue;
    const uint64_t epoch = *closed.rbegin();
    REQUIRE(tracker.passed(epoch) == (flying.empty() || *flying.begin() > epoch));
  }
}

TEST_CASE("mbarrier word: a phase ends with no arrivals and no bytes pending", "[exec]") {
  MbarrierWord word = MbarrierWord::initial(3);
  CHECK(word.expected() == 3);
  CHECK(word.pending() == 3);
  CHECK_FALSE(word.phase());
  CHECK_FALSE(word.update(0, 1000, 0));  // expect_tx
  CHECK_FALSE(word.update(3, 0, 0));
  CHECK(word.pending() == 0);
  CHECK(word.transactions() == 1000);
  CHECK_FALSE(word.update(0, -999, 0));
  CHECK(word.update(0, -1, 0));
  CHECK(word.phase());
  CHECK(word.pending() == 3);
  CHECK(word.transactions() == 0);
}

TEST_CASE("mbarrier word: bytes may complete before they are expected", "[exec]") {
  MbarrierWord word = MbarrierWord::initial(1);
  CHECK_FALSE(word.update(0, -(1 << 20) + 1, 0));
  CHECK(word.transactions() == -(1 << 20) + 1);
  CHECK(word.update(1, (1 << 20) - 1, 0));
}

TEST_CASE("mbarrier word: the largest counts of PTX fit", "[exec]") {
  constexpr uint32_t kMost = (1U << 20) - 1;
  MbarrierWord word = MbarrierWord::initial(kMost);
  CHECK_FALSE(word.update(kMost - 1, static_cast<int32_t>(kMost), 0));
  CHECK(word.pending() == 1);
  CHECK(word.transactions() == static_cast<int32_t>(kMost));
  CHECK(word.expected() == kMost);
  CHECK(word.update(1, -static_cast<int32_t>(kMost), 1));
  CHECK(word.expected() == kMost - 1);  // one thread left for good
  CHECK(word.pending() == kMost - 1);
}
