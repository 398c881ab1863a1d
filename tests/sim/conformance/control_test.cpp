// Control flow, calls and local memory, in optimised and in debug builds of the same source.
#include "tests/sim/conformance/cuda_device.hpp"

using namespace ptxwire::sim::conformance;

namespace {

std::vector<int> expected_switches(const std::vector<int>& in) {
  std::vector<int> out;
  for (const int x : in) {
    int y = 1;
    switch (x & 15) {
      case 0:
        y = x * 3;
        break;
      case 1:
        y = x - 17;
        break;
      case 2:
        y = (x ^ 0x55) + 1000;
        break;
      case 3:
        y = 1001;
        break;
      case 4:
        y = -x;
        break;
      case 5:
        y = x * 8;
        break;
      case 6:
        y = x >> 2;
        break;
      case 7:
        y = x | 0x1000;
        break;
      case 8:
        y = x % 11;
        break;
      case 9:
        for (int k = 0; k < (x >> 4 & 7); ++k) y = y * 5 + k;
        break;
      case 10:
        y = -999;
        break;
      case 12:
        y = x / 9;
        break;
      default:
        y = 77;
        break;
    }
    out.push_back(y);
  }
  return out;
}

int expected_nested(int x) {
  int sum = 0;
  for (int a = 0; a < x % 9; ++a) {
    if (a == 5) continue;
    for (int b = a; b < 12; ++b) {
      if ((a * b + x) % 7 == 3) break;
      for (int c = b;;) {
        sum += a ^ c;
        c -= 2;
        if (sum > 4000) return sum;
        if (c <= 0) break;
      }
    }
    sum -= a;
  }
  return sum;
}

}  // namespace

TEST_CASE("conformance: switches, nested loops, early returns", "[conformance]") {
  const std::string module = GENERATE("control", "control_unoptimised");
  INFO(module);
  CudaDevice device(module);
  const std::vector<int> in = small_integers(200, 0, 20000);
  const auto input = device.upload(in);
  const auto out = device.zeros<int>(in.size());
  const Shape shape{{2}, {128}};
  device.run("switches", shape, input, out, 200);
  check_equal(device.download(out), expected_switches(in));

  std::vector<int> expected;
  for (const int x : in) expected.push_back(expected_nested(x));
  device.run("nested", shape, input, out, 200);
  check_equal(device.download(out), expected);

  std::vector<uint32_t> starts, steps;
  for (const int x : in) {
    starts.push_back(static_cast<uint32_t>(x) + 1);
    uint64_t value = starts.back();
    uint32_t count = 0;
    for (; value != 1 && count <= 500; ++count) value = value % 2 != 0 ? 3 * value + 1 : value / 2;
    steps.push_back(count);
  }
  const auto counts = device.zeros<uint32_t>(in.size());
  device.run("collatz", shape, device.upload(starts), counts, 200);
  check_equal(device.download(counts), steps);

  const std::vector<int> few = small_integers(200, 0, 40);
  std::vector<int> flags;
  for (const int x : few) {
    const bool odd = x % 2 == 1, big = x != 0 && 1000 / x > 50;
    flags.push_back((odd ? 1 : 0) + (big ? 2 : 0) + (odd != big ? 4 : 0) + (odd && !big ? 8 : 0));
  }
  device.run("short_circuit", shape, device.upload(few), out, 200);
  check_equal(device.download(out), flags);
}

TEST_CASE("conformance: structures by value and pointers to locals through calls", "[conformance]") {
  CudaDevice device(GENERATE("calls", "calls_debug"));
  const std::vector<int> in = small_integers(64, 0, 15000);
  const auto sums = device.zeros<int64_t>(2 * in.size());
  const auto means = device.zeros<float>(in.size());
  device.run("structs", {{2}, {32}}, device.upload(in), sums, means);
  std::vector<int64_t> expected_sums;
  std::vector<float> expected_means;
  for (const int x : in) {
    const auto narrow = [](int value) { return static_cast<int16_t>(value); };
    uint32_t tags[2][3];
    for (int k = 0; k < 2; ++k)
      for (int t = 0; t < 3; ++t) tags[k][t] = static_cast<uint32_t>(x + t * k);
    const int tag = x & 31;
    tags[1][((x + 1) & 63) % 3] ^= static_cast<uint32_t>(tag);
    const int weights[2] = {narrow(x), narrow(narrow(2 * x) + tag)};
    int64_t sum = 0;
    for (int k = 0; k < 2; ++k)
      sum += static_cast<uint32_t>(weights[k]) + tags[k][0] + tags[k][1] * 3 + tags[k][2] * 5;
    const bool swapped = x % 2 == 1;
    expected_sums.push_back(swapped ? -x : sum);
    expected_sums.push_back(swapped ? sum : -x);
    expected_means.push_back((0.5F * static_cast<float>(x) + 0.75F * static_cast<float>(x)) / 2);
  }
  check_equal(device.download(sums), expected_sums, 2);
  check_equal(device.download(means), expected_means);
}

TEST_CASE("conformance: recursion", "[conformance]") {
  CudaDevice device(GENERATE("calls", "calls_debug"));
  const auto ackermanns = device.zeros<uint32_t>(32);
  const auto fibonaccis = device.zeros<int64_t>(32);
  device.run("recursion", {{1}, {32}}, ackermanns, fibonaccis);
  std::vector<uint32_t> expected;
  std::vector<int64_t> numbers = {0, 1};
  for (uint32_t i = 0; i < 32; ++i) {
    const uint32_t m = i % 3, n = i % 4;
    expected.push_back(m == 0 ? n + 1 : m == 1 ? n + 2 : 2 * n + 3);  // closed forms
    if (i >= 2) numbers.push_back(i < 11 ? numbers[i - 1] + numbers[i - 2] : numbers[i % 11]);
  }
  check_equal(device.download(ackermanns), expected);
  check_equal(device.download(fibonaccis), numbers);
}

TEST_CASE("conformance: function tables and virtual functions", "[conformance]") {
  CudaDevice device(GENERATE("calls", "calls_debug"));
  const std::vector<int> a = small_integers(64, -50, 50, 1), b = small_integers(64, -50, 50, 2),
                         which = small_integers(64, 0, 3, 3);
  const auto out = device.zeros<int>(64);
  device.run("function_table", {{2}, {32}}, device.upload(a), device.upload(b), device.upload(which), out);
  std::vector<int> expected;
  for (size_t i = 0; i < 64; ++i) {
    const int results[4] = {a[i] + b[i], a[i] - b[i], a[i] * b[i], std::max(a[i], b[i])};
    expected.push_back(results[which[i]] * 10 + a[i] - 3);
  }
  check_equal(device.download(out), expected);

  std::vector<float> sizes(32), areas(32);
  for (size_t i = 0; i < 32; ++i) {
    sizes[i] = static_cast<float>(i) * 0.5F;
    areas[i] = i % 2 == 0 ? sizes[i] * sizes[i] + 4000 : 3 * sizes[i] * sizes[i];
  }
  const auto floats = device.zeros<float>(32);
  device.run("virtual_calls", {{1}, {32}}, device.upload(sizes), floats);
  check_equal(device.download(floats), areas);
}

TEST_CASE("conformance: local arrays with run-time indices", "[conformance]") {
  CudaDevice device("locals");
  std::vector<int> rows = small_integers(17 * 64, -1000, 1000);
  const auto sorted = device.zeros<int>(rows.size());
  device.run("sort_rows", {{2}, {32}}, device.upload(rows), sorted);
  for (auto row = rows.begin(); row != rows.end(); row += 17) std::sort(row, row + 17);
  check_equal(device.download(sorted), rows, 17);

  std::vector<uint8_t> bytes;
  std::vector<uint16_t> most;
  for (const int x : small_integers(40 * 64, 0, 255)) bytes.push_back(static_cast<uint8_t>(x));
  for (size_t i = 0; i < 64; ++i) {
    int bins[16] = {};
    for (size_t k = 0; k < 40; ++k) ++bins[bytes[40 * i + k] % 16];
    const auto best = std::max_element(bins, bins + 16);
    most.push_back(static_cast<uint16_t>((best - bins) * 256 + *best));
  }
  const auto found = device.zeros<uint16_t>(64);
  device.run("histogram", {{2}, {32}}, device.upload(bytes), found, 40);
  check_equal(device.download(found), most);

  std::vector<uint32_t> entries;
  std::vector<uint64_t> powers;
  for (const int x : small_integers(9 * 32, 0, 1000)) entries.push_back(static_cast<uint32_t>(x));
  for (size_t i = 0; i < 32; ++i) {
    uint64_t result[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    for (int p = 0; p < 7; ++p)
      for (auto& row : result) {
        uint64_t next[3] = {};
        for (size_t k = 0; k < 3; ++k)
          for (size_t c = 0; c < 3; ++c) next[c] += row[k] * (entries[9 * i + 3 * k + c] % 10);
        std::copy(next, next + 3, row);
      }
    for (size_t r = 0; r < 3; ++r)
      for (size_t c = 0; c < 3; ++c) powers.push_back(result[r][(c + i) % 3]);
  }
  const auto matrices = device.zeros<uint64_t>(powers.size());
  device.run("matrix_power", {{1}, {32}}, device.upload(entries), matrices, 7);
  check_equal(device.download(matrices), powers, 9);
}

TEST_CASE("conformance: one generic load from three memories", "[conformance]") {
  CudaDevice device("locals");
  const std::vector<int> in = small_integers(64, 0, 1000000);
  const auto out = device.zeros<int>(64);
  device.run("mixed_pointers", {{1}, {64}}, device.upload(in), out);
  std::vector<int> expected;
  for (size_t i = 0; i < 64; ++i)
    expected.push_back(i % 3 == 0   ? in[i]
                       : i % 3 == 1 ? in[63 - i] + 1
                                    : in[i] + 10 * static_cast<int>(i % 4));
  check_equal(device.download(out), expected);
}
