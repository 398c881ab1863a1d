// The L1 cache keeps the bytes of the moment of a fill.
#include <array>
#include <catch2/catch.hpp>

#include "sim/exec/l1_cache.hpp"

using ptxwire::sim::L1Cache;

namespace {

struct Filled {
  L1Cache cache;
  std::array<uint8_t, 128> line{};

  explicit Filled(uint64_t bytes = 65536) {
    cache.resize(bytes);
    for (size_t i = 0; i < line.size(); ++i) line[i] = static_cast<uint8_t>(i);
  }
  void fill(uint64_t address, uint8_t sectors) { cache.fill(address, sectors, line.data(), cache.changes()); }
  bool has(uint64_t address, uint32_t bytes = 4) { return cache.find(address, bytes) != nullptr; }
};

}  // namespace

TEST_CASE("L1: only filled sectors hit, and an access needs all of its sectors", "[exec]") {
  Filled f;
  f.fill(1280, 0b0101);
  CHECK(f.has(1280));
  CHECK(f.has(1280 + 28));
  CHECK_FALSE(f.has(1280 + 32));
  CHECK(f.has(1280 + 64, 16));
  CHECK_FALSE(f.has(1280 + 24, 16));  // over the edge into a sector that is not there
  f.fill(1280, 0b0010);
  REQUIRE(f.has(1280 + 24, 16));
  CHECK(f.cache.find(1280 + 24, 16)[8] == 32);
}

TEST_CASE("L1: a store changes what is present and allocates nothing", "[exec]") {
  Filled f;
  const std::array<uint8_t, 4> bytes{200, 201, 202, 203};
  f.cache.update(256, bytes.data(), 4);
  CHECK_FALSE(f.has(256));
  f.fill(256, 0b1111);
  f.cache.update(256 + 60, bytes.data(), 4);
  CHECK(f.cache.find(256 + 60, 4)[3] == 203);
  CHECK(f.cache.find(256 + 56, 4)[3] == 59);
}

TEST_CASE("L1: a fill whose load is older than a store or an invalidation keeps nothing", "[exec]") {
  Filled f;
  const uint64_t issued = f.cache.changes();
  const uint8_t byte = 9;
  f.cache.update(512 + 100, &byte, 1);
  f.cache.fill(512, 0b1111, f.line.data(), issued);
  CHECK_FALSE(f.has(512));
  f.cache.fill(640, 0b1111, f.line.data(), issued);  // another line
  CHECK(f.has(640));
  f.cache.invalidate();
  CHECK_FALSE(f.has(640));
  f.cache.fill(640, 0b1111, f.line.data(), issued);
  CHECK_FALSE(f.has(640));
  f.fill(640, 0b1111);
  CHECK(f.has(640));
}

TEST_CASE("L1: dropped ranges lose their sectors and no others", "[exec]") {
  Filled f;
  for (uint64_t line = 0; line < 4; ++line) f.fill(line * 128, 0b1111);
  f.cache.drop(128 + 100, 128 + 20);  // last sector of line 1 to the fourth of line 2, byte 92
  CHECK(f.has(128 + 64));
  CHECK_FALSE(f.has(128 + 96));
  CHECK_FALSE(f.has(256));
  CHECK_FALSE(f.has(256 + 64));
  CHECK_FALSE(f.has(256 + 96));
  CHECK(f.has(0));
  CHECK(f.has(384));
}

TEST_CASE("L1: the least recently used of four ways goes first", "[exec]") {
  Filled f(4 * 128);  // one set
  for (uint64_t line = 0; line < 4; ++line) f.fill(line * 128, 0b0001);
  CHECK(f.has(0));  // now line 1 is the oldest
  f.fill(4 * 128, 0b0001);
  CHECK(f.has(0));
  CHECK_FALSE(f.has(128));
  CHECK(f.has(256));
}

TEST_CASE("L1: without room nothing is kept", "[exec]") {
  Filled f(256);
  f.fill(0, 0b1111);
  CHECK_FALSE(f.has(0));
}

TEST_CASE("L1: what was invalidated never comes back, however often that happens", "[exec]") {
  Filled f(4 * 128);
  f.fill(0, 0b1111);
  for (uint32_t round = 0; round < (1U << 24) + 2; ++round) {  // the epoch in the tags has 24 bits
    f.cache.invalidate();
    if (f.has(0)) FAIL("hit after " << round + 1 << " invalidations");
  }
  f.fill(128, 0b0001);
  CHECK(f.has(128));
}
