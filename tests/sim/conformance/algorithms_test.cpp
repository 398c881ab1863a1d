// CUB's block collectives, memory in unusual shapes, and what is refused.
#include "tests/sim/conformance/cuda_device.hpp"

using namespace ptxwire::sim::conformance;

TEST_CASE("conformance: CUB sorts, scans and reduces a block", "[conformance]") {
  CudaDevice device("collectives");
  std::vector<uint32_t> keys = integers<uint32_t>(1024, 9);
  const auto sorted = device.zeros<uint32_t>(1024);
  device.run("block_sort", {{2}, {128}}, device.upload(keys), sorted);
  std::sort(keys.begin(), keys.begin() + 512);
  std::sort(keys.begin() + 512, keys.end());
  check_equal(device.download(sorted), keys);

  const std::vector<int> in = small_integers(256, -1000, 1000);
  std::vector<int> prefixes(256);
  std::vector<long long> sums(2);
  for (size_t i = 0; i < 256; ++i) {
    prefixes[i] = static_cast<int>(sums[i / 128]);
    sums[i / 128] += in[i];
  }
  for (long long& sum : sums) sum *= 1LL << 33;
  const auto out = device.zeros<int>(256);
  const auto totals = device.zeros<long long>(2);
  device.run("block_scan", {{2}, {128}}, device.upload(in), out, totals);
  check_equal(device.download(out), prefixes);
  check_equal(device.download(totals), sums);
}

TEST_CASE("conformance: 128-bit compare-and-swap and exchange", "[conformance]") {
  CudaDevice device("memory");
  const auto target = device.zeros<uint64_t>(2), exchanged = device.zeros<uint64_t>(2);
  device.run("wide_cas", {{2}, {32}}, target, exchanged);
  check_equal(device.download(target), {64, 128});
  check_equal(device.download(exchanged), {0x5678, 0x1234});
}

TEST_CASE("conformance: packed structures, memcpy and memset of run-time length", "[conformance]") {
  CudaDevice device("memory");
  const std::vector<uint8_t> in = integers<uint8_t>(32 * 7, 3);
  const auto out = device.zeros<uint8_t>(32 * 7), filled = device.zeros<uint8_t>(32 * 16);
  device.run("copies", {{1}, {32}}, device.upload(in), out, filled, 13);
  std::vector<uint8_t> expected, pattern;
  for (size_t i = 0; i < 32; ++i) {
    const uint8_t* from = &in[(31 - i) * 7];
    uint32_t value = 0;
    std::memcpy(&value, from + 1, 4);
    value += from[0];
    expected.push_back(from[0]);
    for (uint32_t k = 0; k < 32; k += 8) expected.push_back(static_cast<uint8_t>(value >> k));
    expected.insert(expected.end(), from + 5, from + 7);
    for (size_t k = 0; k < 16; ++k) pattern.push_back(k < 13 ? static_cast<uint8_t>(i) : 0);
  }
  check_equal(device.download(out), expected, 7);
  check_equal(device.download(filled), pattern, 16);
}

TEST_CASE("conformance: what is not executed is refused by name and line", "[conformance]") {
  CudaDevice device("memory");
  const auto report =
      device.try_run("stack", {{1}, {32}}, device.zeros<uint32_t>(20), device.zeros<uint32_t>(32), 20);
  REQUIRE(!report);
  CHECK_THAT(report.error().to_string(), Catch::Contains("alloca.u64") && Catch::Contains("memory.ptx:"));
  CHECK(report.error().line != 0);
}
