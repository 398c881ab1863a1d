// Registers of waiting warps in little room: what is live comes back, whatever the warp's rows held.
#include "sim/exec/register_memory.hpp"

#include <catch2/catch.hpp>
#include <cstdint>
#include <memory_resource>
#include <random>
#include <vector>

using namespace ptxwire::sim;

namespace {

constexpr size_t kRows = 100;

std::vector<uint32_t> contents(const RegisterRows& rows) { return {rows.data(), rows.data() + kRows * 32}; }

}  // namespace

TEST_CASE("registers: rows are zero at first, also those that a warp before left") {
  for (const bool spare : {false, true}) {
    RegisterMemory memory(*std::pmr::new_delete_resource());
    memory.set_spare(spare);
    for (int warp = 0; warp < 3; ++warp) {
      RegisterRows rows(memory);
      rows.resize(kRows);
      CHECK(contents(rows) == std::vector<uint32_t>(kRows * 32, 0));
      for (size_t i = 0; i < kRows * 32; ++i) rows[i] = ~0U;
    }
  }
}

TEST_CASE("registers: more rows keep those before them") {
  for (const bool spare : {false, true}) {
    RegisterMemory memory(*std::pmr::new_delete_resource());
    memory.set_spare(spare);
    RegisterRows rows(memory);
    rows.resize(3);
    for (uint32_t i = 0; i < 96; ++i) rows[i] = i + 1;
    rows.resize(kRows);
    std::vector<uint32_t> expected(kRows * 32, 0);
    for (uint32_t i = 0; i < 96; ++i) expected[i] = i + 1;
    CHECK(contents(rows) == expected);
  }
}

// Rows with one value, rows of a pair with one value (its halves alternate), rows with 32.
TEST_CASE("registers: live rows survive being stowed") {
  RegisterMemory memory(*std::pmr::new_delete_resource());
  memory.set_spare(true);
  RegisterRows rows(memory);
  rows.resize(kRows);
  std::mt19937 random(1);
  for (int turn = 0; turn < 20; ++turn) {
    std::vector<uint32_t> live((kRows + 31) / 32, 0);
    for (uint32_t row = 0; row < kRows; ++row) {
      const uint32_t kind = random() % 4, a = random(), b = random();
      for (uint32_t lane = 0; lane < 32; ++lane)
        rows[row * 32 + lane] = kind == 0   ? a
                                : kind == 1 ? (lane % 2 == 0 ? a : b)
                                : kind == 2 ? 0
                                            : random();
      if (turn != 0 && random() % 2 == 0) live[row / 32] |= 1U << row % 32;
    }
    const std::vector<uint32_t> before = contents(rows);
    rows.stow(live);
    REQUIRE(rows.stowed());
    rows.stow({});  // a second time changes nothing
    rows.restore();
    REQUIRE_FALSE(rows.stowed());
    for (uint32_t row = 0; row < kRows; ++row) {
      if ((live[row / 32] >> row % 32 & 1U) == 0) continue;
      INFO("row " << row);
      CHECK(std::equal(&before[row * 32], &before[row * 32] + 32, &rows[row * 32]));
    }
  }
}

TEST_CASE("registers: where memory is not spare nothing is stowed") {
  RegisterMemory memory(*std::pmr::new_delete_resource());
  RegisterRows rows(memory);
  rows.resize(kRows);
  rows[5] = 7;
  rows.stow({});
  CHECK_FALSE(rows.stowed());
  CHECK(rows[5] == 7);
}
