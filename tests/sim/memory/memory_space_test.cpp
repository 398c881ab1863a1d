// Allocations of one home and the windows of the address map.
#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "sim/memory/address_map.hpp"
#include "sim/memory/memory_space.hpp"

using namespace ptxwire::sim;

TEST_CASE("memory space: an allocation is zeroed, aligned and ends where it was said to end", "[memory]") {
  MemorySpace space(3);
  const uint64_t bytes = GENERATE(1ULL, 100ULL, 2ULL << 20, (2ULL << 20) + 1);
  const uint64_t align = GENERATE(1ULL, 512ULL, 2ULL << 20);
  const uint64_t a = *space.allocate(bytes, "a", align);
  const uint64_t b = *space.allocate(bytes, "b", align);
  CHECK(a % align == 0);
  CHECK(home_of(a) == 3);
  CHECK(window_of(a) == Window::device);
  REQUIRE(space.resolve(a, bytes) != nullptr);
  CHECK(space.resolve(a, bytes)[bytes - 1] == 0);
  CHECK(space.resolve(a, bytes + 1) == nullptr);
  CHECK(space.resolve(a + bytes, 1) == nullptr);
  CHECK(space.resolve(a - 1, 1) == nullptr);
  space.resolve(a, bytes)[bytes - 1] = 77;
  CHECK(space.resolve(a + bytes - 1, 1)[0] == 77);
  CHECK(space.resolve(b, bytes)[bytes - 1] == 0);
  CHECK(space.allocated_bytes() == 2 * bytes);
}

TEST_CASE("memory space: what is freed is gone and named", "[memory]") {
  MemorySpace space(0);
  const uint64_t a = *space.allocate(64, "ring buffer", 512);
  CHECK_FALSE(space.free(a + 8));
  CHECK(space.free(a));
  CHECK(space.resolve(a, 1) == nullptr);
  CHECK_THAT(space.describe(a, 1), Catch::Contains("ring buffer") && Catch::Contains("freed"));
  const auto twice = space.free(a);
  REQUIRE_FALSE(twice);
  CHECK_THAT(twice.error().message, Catch::Contains("twice"));
  CHECK(space.allocated_bytes() == 0);
}

TEST_CASE("memory space: alignments and sizes that cannot be are refused", "[memory]") {
  MemorySpace space(0);
  CHECK_FALSE(space.allocate(64, "x", 0));
  CHECK_FALSE(space.allocate(64, "x", 48));
  CHECK_FALSE(space.allocate(64, "x", 4ULL << 20));
  CHECK_FALSE(space.allocate(1ULL << 40, "x", 512));
  CHECK_FALSE(space.allocate(UINT64_MAX, "x", 512));
}

TEST_CASE("address map: windows do not overlap and null is unmapped", "[memory]") {
  CHECK(window_of(0) == Window::unmapped);
  CHECK(window_of(kSharedWindow - 1) == Window::unmapped);
  CHECK(window_of(kSharedWindow) == Window::shared);
  CHECK(window_of(kLocalWindow - 1) == Window::shared);
  CHECK(window_of(kLocalWindow) == Window::local);
  CHECK(window_of(kParameterWindow) == Window::parameter);
  CHECK(window_of(kConstantWindow) == Window::constant);
  CHECK(window_of(kConstantWindow + kWindowBytes) == Window::unmapped);
  CHECK(home_of(home_base(7) + 123) == 7);
  CHECK(home_of(home_base(kHostBias + 2)) == kHostBias + 2);
}

// ------------------------------------------------------------------------------------------------ elided
// rows

namespace {

constexpr uint64_t kRows = 100, kStride = 96, kPayload = 64, kBefore = 40;

/// Rows of 64 bytes of payload and 32 bytes that are kept, 40 bytes into an allocation.
uint64_t elided_rows(MemorySpace& space) {
  const uint64_t base = *space.allocate(kBefore + kRows * kStride + 24, "rows", 512);
  REQUIRE(space.elide({.address = base + kBefore, .bytes = kPayload, .stride = kStride, .count = kRows}));
  return base;
}

bool kept(uint64_t offset) {
  return offset < kBefore || offset >= kBefore + kRows * kStride || (offset - kBefore) % kStride >= kPayload;
}

}  // namespace

TEST_CASE("elided rows: what is not payload is kept byte by byte", "[memory]") {
  MemorySpace space(0);
  const uint64_t base = elided_rows(space);
  const uint64_t bytes = kBefore + kRows * kStride + 24;
  std::vector<uint8_t> written(bytes), read(bytes, 0xee);
  for (uint64_t i = 0; i < bytes; ++i) written[i] = static_cast<uint8_t>(i * 7 + 1);
  const uint64_t step = GENERATE(1U, 13U, 64U, 1000U);  // of the accesses, whatever rows they cut
  for (uint64_t at = 0; at < bytes; at += step)
    space.write(base + at, std::min(step, bytes - at), written.data() + at);
  for (uint64_t at = 0; at < bytes; at += step)
    space.read(base + at, std::min(step, bytes - at), read.data() + at);
  uint64_t wrong = 0;
  for (uint64_t i = 0; i < bytes; ++i) wrong += read[i] != (kept(i) ? written[i] : 0) ? 1 : 0;
  CHECK(wrong == 0);
}

TEST_CASE("elided rows: single values are found where they are", "[memory]") {
  MemorySpace space(0);
  const uint64_t base = elided_rows(space);
  for (const uint64_t row : {uint64_t{0}, uint64_t{57}, kRows - 1}) {
    const uint64_t word = base + kBefore + row * kStride + kPayload + 4;
    *space.resolve(word, 1) = static_cast<uint8_t>(row + 1);
    CHECK_FALSE(space.is_elided(word, 4));
    CHECK(space.is_elided(word - 8, 8));
    CHECK(space.is_elided(base + kBefore + row * kStride, 16));
  }
  for (const uint64_t row : {uint64_t{0}, uint64_t{57}, kRows - 1}) {
    uint8_t value = 0;
    space.read(base + kBefore + row * kStride + kPayload + 4, 1, &value);
    CHECK(value == row + 1);
  }
  // A place of payload is there, and forgets.
  uint8_t* payload = space.resolve(base + kBefore + 8, 16);
  REQUIRE(payload != nullptr);
  payload[0] = 1;
  CHECK(space.resolve(base + kBefore + 8, 16)[0] == 0);
  CHECK(space.resolve(base, kBefore + kRows * kStride + 25) == nullptr);
}

TEST_CASE("elided rows: what cannot be is refused", "[memory]") {
  MemorySpace space(0);
  const uint64_t base = elided_rows(space);
  CHECK_FALSE(space.elide({.address = base, .bytes = 64, .stride = 32, .count = 2}));
  CHECK_FALSE(space.elide({.address = base + kBefore + 960, .bytes = 8, .stride = 8, .count = 1}));
  CHECK_FALSE(space.elide({.address = base, .bytes = 32, .stride = 32, .count = 2}));
  CHECK_FALSE(space.elide({.address = base, .bytes = 8, .stride = 8, .count = 1U << 20U}));
  CHECK(space.elide({.address = base, .bytes = 8, .stride = 8, .count = 5}));
}
