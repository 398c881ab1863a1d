// Allocations of one home and the windows of the address map.
#include <catch2/catch.hpp>

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
