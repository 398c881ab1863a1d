// Atomics, barriers, asynchronous copies, caches and fences, clocks.
#include "tests/sim/conformance/cuda_device.hpp"

using namespace ptxwire::sim::conformance;

TEST_CASE("conformance: atomics on global memory", "[conformance]") {
  CudaDevice device("atomics");
  const std::vector<int> in = small_integers(256, 1, 1 << 28);
  std::vector<int> ints = {5, 5, INT32_MAX, INT32_MIN, -1, 0, 0, 3, 3, -1};
  std::vector<unsigned long long> longs = {1, 1, ~0ULL};
  const auto device_ints = device.upload(ints);
  const auto device_longs = device.upload(longs);
  const auto floats = device.zeros<float>(1);
  const auto doubles = device.zeros<double>(1);
  device.run("global_atomics", {{2}, {128}}, device.upload(in), device_ints, device_longs, floats, doubles);
  float sum = 0;
  double quarter_sum = 0;
  for (const int x : in) {
    ints[0] = static_cast<int>(static_cast<uint32_t>(ints[0]) + static_cast<uint32_t>(x));
    ints[1] = static_cast<int>(static_cast<uint32_t>(ints[1]) - static_cast<uint32_t>(x));
    ints[2] = std::min(ints[2], x);
    ints[3] = std::max(ints[3], x);
    ints[4] &= x | 0xFF;
    ints[5] |= x & 0xFFF;
    ints[6] ^= x;
    ints[7] = ints[7] >= 10 ? 0 : ints[7] + 1;
    ints[8] = ints[8] == 0 || ints[8] > 10 ? 10 : ints[8] - 1;
    ints[9] = static_cast<int>(std::min(static_cast<uint32_t>(ints[9]), static_cast<uint32_t>(x)));
    longs[0] += static_cast<uint64_t>(x) << 20;
    longs[1] = std::max<unsigned long long>(longs[1], static_cast<uint64_t>(x) << 33);
    longs[2] &= ~(1ULL << (x & 63));
    sum += static_cast<float>(x & 255);
    quarter_sum += 0.25 * x;  // both sums are exact in any order
  }
  check_equal(device.download(device_ints), ints);
  check_equal(device.download(device_longs), longs);
  CHECK(device.download(floats)[0] == sum);
  CHECK(device.download(doubles)[0] == quarter_sum);
}

TEST_CASE("conformance: atomics on shared memory", "[conformance]") {
  CudaDevice device("atomics");
  const std::vector<int> in = small_integers(256, -5000, 5000);
  const auto out = device.zeros<int>(2 * 19);
  const auto floats = device.zeros<float>(2);
  const auto doubles = device.zeros<double>(2);
  device.run("shared_atomics", {{2}, {128}}, device.upload(in), out, floats, doubles);
  std::vector<int> expected(2 * 19);
  std::vector<float> sums(2);
  std::vector<double> halves(2);
  for (size_t cta = 0; cta < 2; ++cta) {
    int* to = &expected[19 * cta];
    to[16] = INT32_MAX;
    to[17] = INT32_MIN;
    for (size_t k = 128 * cta; k < 128 * cta + 128; ++k) {
      ++to[in[k] & 15];
      to[16] = std::min(to[16], in[k]);
      to[17] = std::max(to[17], in[k]);
      to[18] += in[k] & 1023;
      sums[cta] += static_cast<float>(in[k] & 63);
      halves[cta] += 0.5 * in[k];
    }
  }
  check_equal(device.download(out), expected, 19);
  check_equal(device.download(floats), sums);
  check_equal(device.download(doubles), halves);
}

TEST_CASE("conformance: tickets, compare-and-swap loops, a spin lock", "[conformance]") {
  CudaDevice device("atomics");
  const auto counter = device.zeros<uint32_t>(1);
  const auto owner = device.zeros<uint32_t>(512);
  device.run("tickets", {{4}, {128}}, counter, owner);
  std::vector<uint32_t> owners = device.download(owner), all(512);
  std::sort(owners.begin(), owners.end());
  for (uint32_t i = 0; i < 512; ++i) all[i] = i;
  check_equal(owners, all);

  const auto product = device.upload(std::vector<float>{1});
  const auto wide = device.upload(std::vector<uint64_t>{1ULL << 40});
  const auto narrow = device.upload(std::vector<uint16_t>{7, 0xABCD});
  device.run("cas_loops", {{2}, {32}}, product, wide, narrow);
  CHECK(device.download(product)[0] == 9);
  CHECK(device.download(wide)[0] == (1ULL << 40) + 3 * 64);
  check_equal(device.download(narrow), {71, 0xABCD});

  const auto lock = device.zeros<int>(1), sum = device.zeros<int>(1);
  device.run("spin_lock", {{8}, {64}}, lock, sum);
  CHECK(device.download(sum)[0] == 2 * (8 * 9 / 2));
  CHECK(device.download(lock)[0] == 0);
}

TEST_CASE("conformance: a message between CTAs by cuda::atomic_ref", "[conformance]") {
  CudaDevice device("atomics");
  const auto data = device.zeros<int>(64), flags = device.zeros<int>(2), out = device.zeros<int>(3 * 64);
  device.run("message", {{4}, {64}}, data, flags, out);
  std::vector<int> expected;
  for (int cta = 1; cta < 4; ++cta)
    for (int t = 0; t < 64; ++t) expected.push_back((100 + t) * cta);
  check_equal(device.download(out), expected);
  CHECK(device.download(flags)[1] == 3 * 64);
}

TEST_CASE("conformance: atomics on vectors", "[conformance]") {
  CudaDevice device("atomics");
  const auto pairs = device.zeros<float>(8);
  std::vector<float> quads(4 * 32), after;
  for (size_t i = 0; i < quads.size(); ++i) quads[i] = static_cast<float>(i) * 0.5F;
  for (size_t i = 0; i < quads.size(); ++i) after.push_back(quads[i] + static_cast<float>(i % 4 + 1));
  const auto device_quads = device.upload(quads);
  const auto before = device.zeros<float>(4 * 32);
  device.run("vector_atomics", {{1}, {32}}, pairs, device_quads, before);
  check_equal(device.download(pairs), {8, 4, 8, 4, 8, 4, 8, 4});
  check_equal(device.download(device_quads), after, 4);
  check_equal(device.download(before), quads, 4);
}

TEST_CASE("conformance: atomics on pairs and vectors of 16-bit floats", "[conformance]") {
  CudaDevice device("atomics");
  const auto halves = device.zeros<uint16_t>(4), bfloats = device.zeros<uint16_t>(4);
  const auto rows = device.zeros<uint16_t>(16);
  device.run("narrow_atomics", {{1}, {32}}, halves, bfloats, rows);
  // Sums over 16 lanes each, all exact: 256 = 2^8 and 272 = 1.0625 * 2^8 in half, 4 = 2^2; 16, 240, 256 in
  // bfloat16; 16 = 2^4 and 32 = 2^5 in half.
  check_equal(device.download(halves), {0x5C00, 0x4400, 0x5C40, 0x4400});
  check_equal(device.download(bfloats), {0x4180, 0x4370, 0x4180, 0x4380});
  std::vector<uint16_t> expected;
  for (size_t i = 0; i < 16; ++i) expected.push_back(i % 2 == 0 ? 0x4C00 : 0x5000);
  check_equal(device.download(rows), expected);
}

TEST_CASE("conformance: float atomics flush subnormal numbers on global memory only", "[conformance]") {
  CudaDevice device("atomics");
  const auto global = device.upload(std::vector<float>{1e-39F});
  const auto out = device.zeros<float>(1);
  device.run("subnormals", {{1}, {32}}, global, out, 1e-40F);
  CHECK(device.download(global)[0] == 0.0F);
  CHECK(device.download(out)[0] == 2 * 1e-40F);
}

TEST_CASE("conformance: reducing barriers, tree sums, early exits", "[conformance]") {
  CudaDevice device("barriers");
  std::vector<int> in = small_integers(192, 20, 100);
  in[70] = -1;
  in[140] = 13;
  std::vector<int> expected;
  for (size_t i = 0; i < in.size(); ++i) {
    const auto begin = in.begin() + static_cast<std::ptrdiff_t>(i / 64 * 64);
    expected.push_back(static_cast<int>(std::count_if(begin, begin + 64, [](int x) { return x > 50; })));
    expected.push_back(std::all_of(begin, begin + 64, [](int x) { return x >= 0; }) ? 1 : 0);
    expected.push_back(std::find(begin, begin + 64, 13) != begin + 64 ? 1 : 0);
  }
  const auto out = device.zeros<int>(3 * in.size());
  device.run("reducing", {{3}, {64}}, device.upload(in), out);
  check_equal(device.download(out), expected, 3);

  const std::vector<int> many = small_integers(512, INT32_MIN / 2, INT32_MAX / 4);
  std::vector<long long> sums(2);
  for (size_t i = 0; i < 512; ++i) sums[i / 256] += many[i];
  const auto device_sums = device.zeros<long long>(2);
  device.run("tree_sum", {{2}, {256}}, device.upload(many), device_sums);
  check_equal(device.download(device_sums), sums);

  int sum = 0;
  for (size_t i = 0; i < 40; ++i) sum += many[i] / 64;
  std::vector<int> scaled(many);
  for (int& x : scaled) x /= 64;
  const auto forty = device.zeros<int>(40);
  device.run("early_exit", {{1}, {128}}, device.upload(scaled), forty);
  check_equal(device.download(forty), std::vector<int>(40, sum));
}

TEST_CASE("conformance: named barriers between producer and consumers", "[conformance]") {
  CudaDevice device("barriers");
  const std::vector<int> in = small_integers(5 * 32, 0, 1000);
  const auto out = device.zeros<int>(2 * in.size());
  device.run("producer_consumers", {{1}, {96}}, device.upload(in), out, 5);
  std::vector<int> expected;
  for (size_t r = 0; r < 5; ++r)
    for (size_t warp = 1; warp <= 2; ++warp)
      for (size_t lane = 0; lane < 32; ++lane)
        expected.push_back(in[r * 32 + (lane + warp) % 32] * 2 + static_cast<int>(warp));
  check_equal(device.download(out), expected);
}

TEST_CASE("conformance: cp.async one stage ahead, and with zero fill", "[conformance]") {
  CudaDevice device("pipelines");
  const std::vector<int> in = small_integers(2 * 5 * 64 * 4, -1000, 1000);
  const auto out = device.zeros<int>(128);
  device.run("staged_sum", {{2}, {64}}, device.upload(in), out, 5);
  std::vector<int> expected(128);
  for (size_t i = 0; i < 128; ++i)
    for (size_t tile = 0; tile < 5; ++tile)
      for (size_t c = 0; c < 4; ++c)
        expected[i] += in[((i / 64 * 5 + tile) * 64 + 63 - i % 64) * 4 + c] * static_cast<int>(c + 1);
  check_equal(device.download(out), expected);

  device.run("zero_fill", {{1}, {128}}, device.upload(in), out, 50);
  for (size_t t = 0; t < 128; ++t) expected[t] = 127 - t < 50 ? in[127 - t] : 0;
  check_equal(device.download(out), expected);
}

TEST_CASE("conformance: bulk copies with cuda::barrier and with parity waits", "[conformance]") {
  CudaDevice device("bulk");
  const std::vector<int> in = small_integers(4 * 256, -1000, 1000);
  std::vector<int> expected;
  for (size_t i = 0; i < in.size(); ++i) expected.push_back(in[i] * 3 + static_cast<int>(i % 256));
  const auto out = device.zeros<int>(in.size());
  device.run("bulk_round_trip", {{4}, {64}}, device.upload(in), out, 3);
  check_equal(device.download(out), expected);

  device.run("parity_wait", {{1}, {32}}, device.upload(in), out, 8);
  for (size_t tile = 0; tile < 8; ++tile)
    for (size_t lane = 0; lane < 32; ++lane)
      for (size_t c = 0; c < 4; ++c)
        expected[(tile * 32 + lane) * 4 + c] =
            in[(tile * 32 + 31 - lane) * 4 + c] + (c == 0 ? static_cast<int>(tile) : 0);
  check_equal(device.download(out), expected);
}

TEST_CASE("conformance: cuda::barrier phases, bulk reductions", "[conformance]") {
  CudaDevice device("bulk");
  const std::vector<int> in = small_integers(64, -1000, 1000);
  const auto out = device.zeros<int>(64);
  device.run("split_barrier", {{1}, {64}}, device.upload(in), out, 6);
  std::vector<int> expected;
  for (size_t t = 0; t < 64; ++t) expected.push_back(in[(t + 6) % 64] + 15);
  check_equal(device.download(out), expected);

  std::vector<float> values, sums(64);
  for (const int x : small_integers(4 * 64, -1000, 1000)) values.push_back(static_cast<float>(x) * 0.25F);
  for (size_t i = 0; i < values.size(); ++i) sums[i % 64] += values[i];  // exact in any order
  const auto total = device.zeros<float>(64);
  device.run("bulk_reduce", {{4}, {64}}, device.upload(values), total);
  check_equal(device.download(total), sums);
}

TEST_CASE("conformance: cache hints change no value", "[conformance]") {
  CudaDevice device("caches");
  const std::vector<int> in = small_integers(128, -1000, 1000);
  const auto input = device.upload(in);
  const auto out = device.zeros<int>(5 * 128);
  device.run("hints", {{2}, {64}}, input, out, 128);
  std::vector<int> expected(5 * 128);
  for (size_t i = 0; i < 128; ++i)
    for (size_t copy = 0; copy < 5; ++copy) {
      expected[copy * 128 + i] = static_cast<int>(copy);
      for (size_t k = 0; k < 7; ++k) expected[copy * 128 + i] += static_cast<int>(k + 1) * in[(i + k) % 128];
    }
  check_equal(device.download(out), expected);

  const auto wide = device.zeros<int>(128);
  device.run("wide_hints", {{1}, {32}}, input, wide);
  std::vector<int> sums;
  for (size_t i = 0; i < 128; ++i) sums.push_back(in[i] + in[(i / 4 ^ 1) * 4 + 3 - i % 4]);
  check_equal(device.download(wide), sums);
}

TEST_CASE("conformance: fences and volatile flags between CTAs", "[conformance]") {
  CudaDevice device("caches");
  const std::vector<int> in = small_integers(6 * 32, -1000, 1000);
  const auto partial = device.zeros<int>(6), total = device.zeros<int>(1);
  const auto finished = device.zeros<uint32_t>(1);
  device.run("last_block", {{6}, {32}}, device.upload(in), partial, finished, total);
  int sum = 0;
  for (const int x : in) sum += x;
  CHECK(device.download(total)[0] == sum);

  const auto turn = device.zeros<int>(1), seen = device.zeros<int>(2);
  device.run("ping_pong", {{2}, {32}}, turn, 15, seen);
  CHECK(device.download(turn)[0] == 15);
  check_equal(device.download(seen), {8, 7});
}

TEST_CASE("conformance: clocks go on, and sleeping takes about the time asked for", "[conformance]") {
  CudaDevice device("clocks");
  const auto cycles = device.zeros<long long>(64);
  const auto nanoseconds = device.zeros<uint64_t>(32);
  device.run("clocks", {{1}, {32}}, cycles, nanoseconds, 2000U);
  // The ISA bounds nanosleep by 0 and twice the argument.
  for (const long long clk : device.download(cycles)) CHECK((clk > 0 && clk < 2 * 2000 * 2));
  for (const uint64_t ns : device.download(nanoseconds)) CHECK(ns <= 2 * 2000 + 500);
}
