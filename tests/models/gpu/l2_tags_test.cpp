// The tag array against a list that is kept in order the plain way.
#include "models/gpu/l2_tags.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <vector>

namespace ptxwire::models::test {
namespace {

/// One set, most recently used first.
class ReferenceSet {
 public:
  explicit ReferenceSet(size_t ways) : ways_(ways) {}

  L2Tags::Outcome access(uint16_t tag, uint8_t sectors, bool write, L2Priority priority, uint8_t owner) {
    L2Tags::Outcome outcome;
    auto found =
        std::find_if(lines_.begin(), lines_.end(), [&](const Line& line) { return line.tag == tag; });
    outcome.hit = found != lines_.end();
    Line line{tag, 0, 0, L2Priority::normal, owner};
    if (outcome.hit) {
      line = *found;
      lines_.erase(found);
    } else if (lines_.size() == ways_) {
      const Line gone = evict();
      outcome.evicted = true;
      outcome.evicted_owner = gone.owner;
      outcome.evicted_dirty_sectors = gone.dirty;
    }
    if (priority != L2Priority::unchanged) line.priority = priority;
    outcome.missing_sectors = static_cast<uint8_t>(sectors & ~line.valid);
    line.valid |= sectors;
    if (write) line.dirty |= sectors;
    lines_.insert(lines_.begin(), line);
    return outcome;
  }

  void clean(uint16_t tag, uint8_t sectors) {
    if (Line* line = find(tag)) line->dirty &= static_cast<uint8_t>(~sectors);
  }

  void set_priority(uint16_t tag, L2Priority priority) {
    if (Line* line = find(tag); line != nullptr && priority != L2Priority::unchanged)
      line->priority = priority;
  }

 private:
  struct Line {
    uint16_t tag;
    uint8_t valid, dirty;
    L2Priority priority;
    uint8_t owner;
  };

  Line* find(uint16_t tag) {
    const auto found =
        std::find_if(lines_.begin(), lines_.end(), [&](const Line& line) { return line.tag == tag; });
    return found == lines_.end() ? nullptr : &*found;
  }

  Line evict() {
    for (L2Priority wanted : {L2Priority::first, L2Priority::normal, L2Priority::last}) {
      for (size_t i = lines_.size(); i-- > 0;) {
        if (lines_[i].priority != wanted) continue;
        const Line gone = lines_[i];
        lines_.erase(lines_.begin() + static_cast<std::ptrdiff_t>(i));
        return gone;
      }
    }
    return {};
  }

  size_t ways_;
  std::vector<Line> lines_;
};

}  // namespace

TEST_CASE("l2 tags: replacement, sectors and dirty state agree with an ordered list", "[analytic]") {
  const uint32_t ways = GENERATE(1U, 2U, 7U, 16U);
  const uint32_t seed = GENERATE(1U, 2U, 3U);
  CAPTURE(ways, seed);
  constexpr uint32_t kSets = 3;
  L2Tags tags(kSets, ways);
  std::vector<ReferenceSet> reference(kSets, ReferenceSet(ways));
  std::mt19937 random(seed);
  for (int step = 0; step < 20000; ++step) {
    const uint32_t set = random() % kSets;
    const auto tag = static_cast<uint16_t>(random() % (ways * 2 + 1));
    const auto sectors = static_cast<uint8_t>(random() % 16);
    const bool write = random() % 3 == 0;
    // Mostly normal, so that each class is at times absent from a set.
    const auto priority = random() % 4 == 0 ? static_cast<L2Priority>(random() % 4) : L2Priority::normal;
    if (random() % 8 == 0) {
      reference[set].clean(tag, sectors);
      tags.clean(set, tag, sectors);
    }
    if (random() % 8 == 0) {
      reference[set].set_priority(tag, priority);
      tags.set_priority(set, tag, priority);
    }
    const auto owner = static_cast<uint8_t>(random() % kMaxOwners);
    const L2Tags::Outcome expected = reference[set].access(tag, sectors, write, priority, owner);
    const L2Tags::Outcome found = tags.access(set, tag, sectors, write, priority, owner);
    REQUIRE(found.evicted == expected.evicted);
    REQUIRE(found.evicted_owner == expected.evicted_owner);
    REQUIRE(found.hit == expected.hit);
    REQUIRE(found.missing_sectors == expected.missing_sectors);
    REQUIRE(found.evicted_dirty_sectors == expected.evicted_dirty_sectors);
  }
}

TEST_CASE("l2 tags: evict_first goes before normal, evict_last after it", "[contract]") {
  L2Tags tags(1, 4);
  tags.access(0, 1, 0xf, false, L2Priority::last);
  tags.access(0, 2, 0xf, false, L2Priority::normal);
  tags.access(0, 3, 0xf, false, L2Priority::first);
  tags.access(0, 4, 0xf, false, L2Priority::normal);
  tags.access(0, 5, 0xf, false, L2Priority::normal);
  CHECK(tags.valid_sectors(0, 3) == 0);  // not the oldest, but evict_first
  tags.access(0, 6, 0xf, false, L2Priority::normal);
  CHECK(tags.valid_sectors(0, 2) == 0);  // the oldest normal line
  CHECK(tags.valid_sectors(0, 1) == 0xf);
}

TEST_CASE("l2 tags: invalidation forgets dirty lines without writing them back", "[contract]") {
  L2Tags tags(1, 2);
  tags.access(0, 1, 0x3, true, L2Priority::normal);
  tags.invalidate_all();
  CHECK(tags.valid_sectors(0, 1) == 0);
  for (uint16_t tag = 2; tag < 4; ++tag)
    CHECK(tags.access(0, tag, 0xf, false, L2Priority::normal).evicted_dirty_sectors == 0);
}

}  // namespace ptxwire::models::test
