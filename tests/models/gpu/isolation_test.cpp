// Counterfactual copies of shared resources: what one kernel does to another is gone where they share
// nothing.
#include <catch2/catch.hpp>

#include "tests/models/driver.hpp"

using namespace ptxwire::models;
using namespace ptxwire::models::test;

namespace {

constexpr uint8_t kVictim = 1, kOther = 2;
constexpr uint64_t kLines = 4096;

/// One kernel's loads of `lines` lines from `address`.
void read_lines(Node& node, uint8_t owner, uint64_t address, uint64_t lines) {
  Stream stream(node.memory(0), 1, [&](Transaction& transaction, uint64_t n) {
    if (n == lines) return false;
    fill(transaction, AccessKind::load, 0, 0, address + n * kLineBytes, 1);
    transaction.owner = owner;
    return true;
  });
  stream.start(node.process(0).now());
  node.run();
}

/// Misses of a kernel that reads its lines, waits while another streams through more than L2 holds, and reads
/// them again.
uint64_t misses_after(const SharedResources& own) {
  const Machine m = machine();
  Node node(m, 1);
  node.memory(0).isolate(1U << kVictim, own);
  read_lines(node, kVictim, device_base(0), kLines);
  const uint64_t lines = m.l2.bytes / kLineBytes * 2;
  Stream stream(node.memory(0), 64, [&](Transaction& transaction, uint64_t n) {
    if (n * 32 >= lines) return false;
    fill(transaction, AccessKind::load, 0, 0, device_base(0) + (1ULL << 30U) + n * 32 * kLineBytes, 32);
    transaction.owner = kOther;
    return true;
  });
  stream.start(node.process(0).now());
  node.run();
  const uint64_t before = node.memory(0).counters().l2_sector_read_misses;
  read_lines(node, kVictim, device_base(0), kLines);
  return node.memory(0).counters().l2_sector_read_misses - before;
}

}  // namespace

TEST_CASE("isolation: lines of a kernel with tags of its own stay", "[analytic]") {
  CHECK(misses_after({}) == kLines * 4);  // all sectors
  CHECK(misses_after({.hbm = true}) == kLines * 4);
  CHECK(misses_after({.l2_capacity = true}) == 0);
}
