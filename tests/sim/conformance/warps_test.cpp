// Exchanges within warps, cooperative groups, clusters.
#include <functional>

#include "tests/sim/conformance/cuda_device.hpp"

using namespace ptxwire::sim::conformance;

namespace {

uint32_t lanes_where(size_t first, const std::function<bool(size_t)>& condition) {
  uint32_t mask = 0;
  for (size_t lane = 0; lane < 32; ++lane)
    if (condition(first + lane)) mask |= 1U << lane;
  return mask;
}

}  // namespace

TEST_CASE("conformance: shuffles of every kind and width", "[conformance]") {
  CudaDevice device("warps");
  const std::vector<int> in = small_integers(64, 0, 1 << 30);
  std::vector<double> wide(64), expected_wide(64);
  for (size_t i = 0; i < 64; ++i) wide[i] = in[i] / 3.0;
  std::vector<int> expected;
  for (size_t i = 0; i < 64; ++i) {
    const size_t lane = i % 32, base = i - lane;
    expected.push_back(in[base + 31 - lane]);
    expected.push_back(in[lane < 3 ? i : i - 3]);
    expected.push_back(in[lane + 5 > 31 ? i : i + 5]);
    expected.push_back(in[base + (lane ^ 9)]);
    expected.push_back(in[i / 8 * 8 + (lane + 1) % 8]);
    expected.push_back(in[lane % 16 < 2 ? i : i - 2]);
    expected.push_back(in[lane % 4 == 3 ? i : i + 1]);
    expected_wide[i] = wide[i ^ 1];
  }
  const auto out = device.zeros<int>(7 * 64);
  const auto wide_out = device.zeros<double>(64);
  device.run("shuffles", {{1}, {64}}, device.upload(in), device.upload(wide), out, wide_out);
  check_equal(device.download(out), expected, 7);
  check_equal(device.download(wide_out), expected_wide);
}

TEST_CASE("conformance: votes and matches", "[conformance]") {
  CudaDevice device("warps");
  std::vector<int> in = small_integers(96, 0, 999);
  in[70] = 7;
  in[40] = 1000;
  for (size_t i = 0; i < 32; ++i) in[i] = 8;
  std::vector<uint32_t> expected;
  for (size_t i = 0; i < in.size(); ++i) {
    const size_t base = i / 32 * 32;
    const auto lanes = [&](auto condition) {
      return lanes_where(base, [&](size_t k) { return condition(in[k]); });
    };
    expected.push_back(lanes([](int x) { return x % 2 == 1; }));
    expected.push_back(lanes([](int x) { return x == 7; }) != 0 ? 1 : 0);
    expected.push_back(lanes([](int x) { return x < 1000; }) == ~0U ? 1 : 0);
    expected.push_back(lanes([&](int x) { return x % 5 == in[i] % 5; }));
    expected.push_back(~0U);  // in / 100000 is zero everywhere
    expected.push_back(1);
    expected.push_back(lanes([&](int x) { return x % 3 == in[i] % 3; }));
    expected.push_back(~0U);
  }
  const auto out = device.zeros<uint32_t>(expected.size());
  device.run("votes", {{3}, {32}}, device.upload(in), out);
  check_equal(device.download(out), expected, 8);
}

TEST_CASE("conformance: warp reductions and scans, with a partial last warp", "[conformance]") {
  CudaDevice device("warps");
  const std::vector<int> in = small_integers(50, -500, 500);
  std::vector<int> expected;
  for (size_t i = 0; i < in.size(); ++i) {
    const size_t base = i / 32 * 32;
    int sum = 0, prefix = 0, least = INT32_MAX, most = INT32_MIN, bits = 0;
    for (size_t k = base; k < base + 32; ++k) {
      const int x = k < in.size() ? in[k] : 0;
      sum += x;
      if (k <= i) prefix += x;
      least = std::min(least, x);
      most = std::max(most, x);
      bits |= x;
    }
    const int active = static_cast<int>(std::min<size_t>(32, in.size() - base));
    for (const int value : {sum, prefix, active, least, most, bits}) expected.push_back(value);
  }
  const auto out = device.zeros<int>(expected.size());
  device.run("reductions", {{2}, {32}}, device.upload(in), out, 50);
  check_equal(device.download(out), expected, 6);
}

TEST_CASE("conformance: both sides of a branch exchange with masks of their own", "[conformance]") {
  CudaDevice device("warps");
  const std::vector<int> in = small_integers(32, 0, 100);
  int odd_sum = 0, big = 0;
  for (size_t i = 0; i < 32; ++i) {
    if (i % 2 == 1) odd_sum += in[i];
    if (i % 2 == 0 && in[i] > 50) ++big;
  }
  std::vector<int> values(32), expected(32);
  for (size_t i = 0; i < 32; ++i) values[i] = i % 2 == 1 ? odd_sum : i < 16 ? big * 101 : big;
  for (size_t i = 0; i < 32; ++i) expected[i] = values[i] + values[i ^ 1];
  const auto out = device.zeros<int>(32);
  device.run("divergent", {{1}, {32}}, device.upload(in), out);
  check_equal(device.download(out), expected);
}

TEST_CASE("conformance: tiles of a cooperative group", "[conformance]") {
  CudaDevice device("groups");
  const std::vector<int> in = small_integers(128, -100, 100);
  std::vector<int> expected;
  for (size_t i = 0; i < in.size(); ++i) {
    const size_t base = i / 8 * 8;
    const auto begin = in.begin() + static_cast<std::ptrdiff_t>(base);
    int sum = 0, prefix = 0, odd = 0;
    for (size_t k = base; k < base + 8; ++k) {
      sum += in[k];
      if (k <= i) prefix += in[k];
      odd |= (in[k] & 1) << (k - base);
    }
    for (const int value : {sum, *std::max_element(begin, begin + 8), prefix, odd, in[base + 7 - i % 8]})
      expected.push_back(value);
  }
  const auto out = device.zeros<int>(expected.size());
  device.run("tiles", {{2}, {64}}, device.upload(in), out);
  check_equal(device.download(out), expected, 5);
}

TEST_CASE("conformance: coalesced groups compact an array", "[conformance]") {
  CudaDevice device("groups");
  const std::vector<int> in = small_integers(300, 0, 1000);
  std::vector<int> expected;
  std::copy_if(in.begin(), in.end(), std::back_inserter(expected), [](int x) { return x % 3 == 0; });
  const auto out = device.zeros<int>(expected.size());
  const auto count = device.zeros<int>(1);
  device.run("compact", {{3}, {128}}, device.upload(in), out, count, 300);
  CHECK(device.download(count)[0] == static_cast<int>(expected.size()));
  std::vector<int> got = device.download(out);
  std::sort(got.begin(), got.end());
  std::sort(expected.begin(), expected.end());
  check_equal(got, expected);
}

TEST_CASE("conformance: the grid barrier orders all CTAs", "[conformance]") {
  CudaDevice device("groups");
  std::vector<int> a = small_integers(256, 0, 10), b(256);
  const auto first = device.upload(a), second = device.zeros<int>(256);
  Shape shape{{4}, {64}};
  shape.cooperative = true;
  device.run("grid_steps", shape, first, second, 5);
  for (int s = 0; s < 5; ++s) {
    for (size_t i = 0; i < 256; ++i) b[i] = a[(i + 37) % 256] + a[(i + 256 - 41) % 256];
    std::swap(a, b);
  }
  check_equal(device.download(second), a);
}

TEST_CASE("conformance: clusters read and add in each other's shared memory", "[conformance]") {
  CudaDevice device("groups");
  const std::vector<int> in = small_integers(8 * 64, 0, 1000);
  Shape shape{{8}, {64}};
  shape.cluster = 4;
  const auto out = device.zeros<int>(in.size());
  device.run("clusters", shape, device.upload(in), out);
  std::vector<int> expected;
  for (size_t cta = 0; cta < 8; ++cta)
    for (size_t t = 0; t < 64; ++t) {
      const size_t next = cta / 4 * 4 + (cta + 1) % 4;
      const int added = cta % 4 == 0 && t == 0 ? in[cta * 64] + 256 : 0;
      expected.push_back(in[next * 64 + 63 - t] * 100 + added);
    }
  check_equal(device.download(out), expected);
}
