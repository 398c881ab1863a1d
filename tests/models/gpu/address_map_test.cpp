#include "models/gpu/address_map.hpp"

#include <set>
#include <tuple>

#include "tests/models/driver.hpp"

namespace ptxwire::models::test {
namespace {

/// Largest load of a slice over the mean.
double imbalance(const L2AddressMap& map, uint32_t slices, uint64_t stride, uint64_t run, uint64_t runs) {
  std::vector<uint64_t> load(slices);
  uint64_t total = 0;
  for (uint64_t i = 0; i < runs; ++i) {
    for (uint64_t offset = 0; offset < run; offset += kLineBytes) {
      ++load[map.place(device_base(1) + i * stride + offset).slice];
      ++total;
    }
  }
  return static_cast<double>(*std::max_element(load.begin(), load.end())) * slices /
         static_cast<double>(total);
}

}  // namespace

TEST_CASE("address map: no two lines share partition, slice, set and tag", "[contract]") {
  Machine m = machine();
  m.l2.slices = GENERATE(1U, 2U, 6U, 80U);
  m.l2.partitions = m.l2.slices == 1 ? 1 : 2;
  m.l2.bytes = uint64_t{128} * m.l2.ways * m.l2.slices * 5;  // 5 sets per slice, so that tags get large
  const L2AddressMap map(m.l2);
  std::set<std::tuple<uint32_t, uint16_t>> seen;
  constexpr uint64_t kLines = 100'000;
  for (uint64_t line = 0; line < kLines; ++line) {
    const L2AddressMap::Place place = map.place(device_base(3) + line * kLineBytes);
    REQUIRE(place.slice < m.l2.slices);
    REQUIRE(place.set / map.sets_per_slice() == place.slice);
    REQUIRE(place.partition == map.partition(device_base(3) + line * kLineBytes));
    REQUIRE(place.partition == place.slice / (m.l2.slices / m.l2.partitions));
    seen.emplace(place.set, place.tag);
  }
  CHECK(seen.size() == kLines);
}

TEST_CASE("address map: streams and strided rows spread over slices", "[analytic]") {
  const Machine m = machine();
  const L2AddressMap map(m.l2);
  CHECK(imbalance(map, m.l2.slices, 4096, 4096, 20000) < 1.01);  // a stream
  // Rows of 7168 B, rows of 4 KiB in slots of 1 MiB, the first line of rows, one line per page: within a
  // fifth of even.
  CHECK(imbalance(map, m.l2.slices, 7168, 7168, 4096) < 1.05);
  CHECK(imbalance(map, m.l2.slices, 1 << 20, 4096, 4096) < 1.2);
  CHECK(imbalance(map, m.l2.slices, 7168, 128, 80 * 256) < 1.2);
  CHECK(imbalance(map, m.l2.slices, 8192, 128, 80 * 256) < 1.2);
  CHECK(imbalance(map, m.l2.slices, 65536, 128, 80 * 256) < 1.2);
}

TEST_CASE("address map: 4 KiB stay in one partition, and half of all lines in each", "[contract]") {
  const L2AddressMap map(machine().l2);
  uint64_t in_second = 0;
  constexpr uint64_t kGranules = 100'000;
  for (uint64_t granule = 0; granule < kGranules; ++granule) {
    const uint32_t partition = map.partition(granule * 4096);
    CHECK(map.partition(granule * 4096 + 4095) == partition);
    in_second += partition;
  }
  CHECK(in_second == kGranules / 2);
}

TEST_CASE("fast division is exact at the edges", "[analytic]") {
  for (uint32_t divisor : {1U, 2U, 3U, 40U, 64U, 320U, 25600U, (1U << 20U) - 1}) {
    const FastDivider fast(divisor);
    for (uint64_t quotient :
         {uint64_t{0}, uint64_t{1}, uint64_t{12345}, ((uint64_t{1} << 44U) - 1) / divisor}) {
      const uint64_t n = quotient * divisor;
      CHECK(fast.quotient(n) == quotient);
      CHECK(fast.quotient(n + divisor - 1) == quotient);
      if (n > 0) CHECK(fast.quotient(n - 1) == quotient - 1);
    }
  }
}

}  // namespace ptxwire::models::test
