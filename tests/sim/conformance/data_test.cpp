// Vectors, module variables, parameters, bits, shared memory, grids; printf, assert and faults.
#include <bit>

#include "tests/sim/conformance/cuda_device.hpp"

using namespace ptxwire::sim::conformance;

namespace {

template <typename T>
std::vector<T> bytes_as(const std::vector<uint8_t>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

}  // namespace

TEST_CASE("conformance: vector loads of every element width", "[conformance]") {
  CudaDevice device("vectors");
  std::vector<float> f;
  for (const int x : small_integers(4 * 64, -100, 100)) f.push_back(static_cast<float>(x) * 0.5F);
  const auto i2 = small_integers(2 * 64, -100000, 100000);
  const auto u4 = integers<uint8_t>(4 * 64, 1);
  const auto s4 = integers<int16_t>(4 * 64, 2);
  std::vector<double> d;
  for (const float x : f) d.push_back(static_cast<double>(x) / 3);
  const auto l2 = integers<int64_t>(2 * 64, 3);
  const auto out = device.zeros<double>(6 * 64);
  device.run("vector_types", {{2}, {32}}, device.upload(f), device.upload(i2), device.upload(u4),
             device.upload(s4), device.upload(d), device.upload(l2), out);
  std::vector<double> expected;
  for (size_t i = 0; i < 64; ++i) {
    const auto weighted = [&](const auto& values, double base) {
      double sum = 0;
      for (size_t c = 4; c-- > 0;) sum = sum * base + static_cast<double>(values[4 * i + c]);
      return sum;
    };
    expected.push_back(weighted(f, 10));
    expected.push_back(i2[2 * i] - 3.0 * i2[2 * i + 1]);
    expected.push_back(weighted(u4, 256));
    expected.push_back(weighted(s4, 3));
    expected.push_back(d[2 * i] - d[2 * i + 1]);
    expected.push_back(static_cast<double>(l2[2 * i] ^ l2[2 * i + 1]));
  }
  check_equal(device.download(out), expected, 6);
}

TEST_CASE("conformance: vector stores and whole structures", "[conformance]") {
  CudaDevice device("vectors");
  const auto in = integers<int32_t>(64, 1);
  const auto c4 = device.zeros<int8_t>(4 * 64);
  const auto h2 = device.zeros<uint16_t>(2 * 64);
  const auto u4 = device.zeros<uint32_t>(4 * 64);
  const auto d2 = device.zeros<double>(2 * 64);
  device.run("vector_stores", {{2}, {32}}, device.upload(in), c4, h2, u4, d2);
  std::vector<int8_t> chars;
  std::vector<uint16_t> shorts;
  std::vector<uint32_t> words;
  std::vector<double> doubles;
  for (const int32_t x : in) {
    const auto u = static_cast<uint32_t>(x);
    for (const uint32_t v : {u, u >> 8, 0 - u, u * 3}) chars.push_back(static_cast<int8_t>(v));
    for (const uint32_t v : {u, u >> 16}) shorts.push_back(static_cast<uint16_t>(v));
    for (const uint32_t v : {u, ~u, u << 4, static_cast<uint32_t>(x >> 4)}) words.push_back(v);
    for (const double v : {1.0, 0.5}) doubles.push_back(v * x);
  }
  check_equal(device.download(c4), chars, 4);
  check_equal(device.download(h2), shorts, 2);
  check_equal(device.download(u4), words, 4);
  check_equal(device.download(d2), doubles, 2);

  struct alignas(16) Record {
    uint64_t key;
    float weight;
    uint16_t count;
    uint8_t bytes[18];
  };
  std::vector<uint8_t> raw = integers<uint8_t>(40 * sizeof(Record), 7);
  std::vector<Record> records = bytes_as<Record>(raw), reversed;
  const auto result = device.zeros<Record>(40);
  device.run("reverse_records", {{1}, {64}}, device.upload(records), result, 40);
  const auto got = device.download(result);
  for (size_t i = 0; i < 40; ++i) {
    Record r = records[39 - i];
    r.key += i;
    r.bytes[i % 18] = 0xEE;
    INFO("record " << i);
    CHECK(r.key == got[i].key);
    CHECK(same(r.weight, got[i].weight));
    CHECK(r.count == got[i].count);
    CHECK(std::memcmp(r.bytes, got[i].bytes, 18) == 0);
  }
}

TEST_CASE("conformance: initialised variables and pointers between them", "[conformance]") {
  CudaDevice device("variables");
  const std::vector<int> in = small_integers(64, 0, 1000);
  const auto out = device.zeros<double>(7 * 64);
  const int coefficients[8] = {3, 1, 4, 1, 5, 9, 2, 6};
  const double matrix[2][3] = {{1, 2, 3}, {4, 5, 6.5}};
  const std::string words[3] = {"alpha", "be", "gamma!"}, letters = "conformance";
  const double settings[2] = {7 - 5 + 100, 9 + 0x1p40 + 10000};
  std::vector<double> expected;
  for (const int x : in) {
    const auto u = static_cast<size_t>(x);
    const std::string& word = words[u % 3];
    expected.push_back(coefficients[u & 7] * 0.125);
    expected.push_back(letters[u % 11]);
    expected.push_back(42);
    expected.push_back(matrix[u & 1][u % 3]);
    expected.push_back(static_cast<double>(word.size()) * 1000 + word[u % word.size()]);
    expected.push_back(settings[u & 1]);
    expected.push_back(std::pow(10, u % 5));
  }
  device.run("write_variables", {{1}, {32}});
  device.run("read_variables", {{2}, {32}}, device.upload(in), out);
  check_equal(device.download(out), expected, 7);
  check_equal(device.download_symbol<uint64_t>("written", 4),
              {1ULL << 40, 1ULL << 41, 1ULL << 42, 1ULL << 43});
}

TEST_CASE("conformance: templates with shared arrays of their own", "[conformance]") {
  CudaDevice device("variables");
  std::vector<float> floats;
  std::vector<int64_t> integers;
  for (const int x : small_integers(64, 0, 1000)) {
    floats.push_back(static_cast<float>(x) * 0.25F);
    integers.push_back(int64_t{x} << 35);
  }
  const auto check = [&](const std::string& kernel, auto values) {
    const auto out = device.zeros<typename decltype(values)::value_type>(64);
    device.run(kernel, {{1}, {64}}, device.upload(values), out, 5);
    auto expected = values;
    for (size_t i = 0; i < 64; ++i) {
      expected[i] = -5;
      for (size_t k = 0; k < 5; ++k) expected[i] += values[(i + k) % 64];
    }
    check_equal(device.download(out), expected);
  };
  check("_Z6rotateIfEvPKT_PS0_i", floats);
  check("_Z6rotateIlEvPKT_PS0_i", integers);
}

TEST_CASE("conformance: parameters of every width and a structure by value", "[conformance]") {
  CudaDevice device("variables");
  struct Parameter {
    int rows, columns;
    float gains[5];
    uint8_t flags[3];
  };
  const Parameter shape{6, 7, {1, 2, 3, 4.5F, 8}, {1, 0, 255}};
  const auto out = device.zeros<double>(32);
  device.run("parameters", {{1}, {32}}, static_cast<int8_t>(-3), int16_t{-300}, -70000, int64_t{-1} << 40,
             0.5F, 0.125, true, shape, out);
  std::vector<double> expected;
  for (size_t i = 0; i < 32; ++i)
    expected.push_back(-3 - 600 - 210000 - 4 * 0x1p40 + 2.5 + 0.75 + 7 + 42 +
                       static_cast<double>(shape.gains[i % 5]) + 1000.0 * shape.flags[i % 3]);
  check_equal(device.download(out), expected);
}

TEST_CASE("conformance: bits of 32", "[conformance]") {
  CudaDevice device("bits");
  const auto a = integers<uint32_t>(128, 1), b = integers<uint32_t>(128, 2);
  const auto out = device.zeros<uint32_t>(20 * 128);
  device.run("bits32", {{1}, {128}}, device.upload(a), device.upload(b), out);
  std::vector<uint32_t> expected;
  for (size_t i = 0; i < 128; ++i) {
    const uint32_t x = a[i], y = b[i];
    const uint64_t both = uint64_t{y} << 32 | x;
    const auto permuted = [&](uint32_t selector) {
      uint32_t value = 0;
      for (uint32_t k = 0; k < 4; ++k)
        value |= static_cast<uint32_t>(both >> (8 * (selector >> (4 * k) & 7)) & 0xFF) << (8 * k);
      return value;
    };
    uint32_t reversed = 0, dot = 5, differences = x > y ? x - y : y - x, second = ~0U;
    for (uint32_t k = 0; k < 32; ++k) reversed |= (x >> k & 1) << (31 - k);
    for (uint32_t k = 0; k < 32; k += 8) dot += (x >> k & 0xFF) * (y >> k & 0xFF);
    for (uint32_t k = 0, found = 0; k < 32; ++k)
      if ((x >> k & 1) != 0 && ++found == 2) second = k;
    const auto sign24 = [](uint32_t v) { return static_cast<int32_t>(v << 8) >> 8; };
    for (const uint32_t value : {permuted(0x5140),
                                 permuted(y & 0x7777),
                                 static_cast<uint32_t>(both << (y & 31) >> 32),
                                 static_cast<uint32_t>(both >> (x & 31)),
                                 x,
                                 static_cast<uint32_t>(std::popcount(x)),
                                 static_cast<uint32_t>(std::countl_zero(x)),
                                 x == 0 ? 0 : static_cast<uint32_t>(std::countr_zero(x)) + 1,
                                 reversed,
                                 (x & y) | (~x & (y >> 3)),
                                 x ^ y ^ 0x0F0F1234U,
                                 std::rotl(x, 13),
                                 x >> 5 & 0x7FF,
                                 (y & ~(0x1FFU << 7)) | (x & 0x1FF) << 7,
                                 static_cast<uint32_t>(static_cast<int32_t>(x << 15) >> 26),
                                 x == 0 ? ~0U : 31 - static_cast<uint32_t>(std::countl_zero(x)),
                                 dot,
                                 differences + 3,
                                 static_cast<uint32_t>(int64_t{sign24(x)} * sign24(y)),
                                 second})
      expected.push_back(value);
  }
  check_equal(device.download(out), expected, 20);
}

TEST_CASE("conformance: bits of 64, bytes of 32", "[conformance]") {
  CudaDevice device("bits");
  const auto a = integers<uint64_t>(128, 1);
  const auto out = device.zeros<uint64_t>(6 * 128);
  device.run("bits64", {{1}, {128}}, device.upload(a), out);
  std::vector<uint64_t> expected;
  for (const uint64_t x : a) {
    uint64_t reversed = 0;
    for (uint32_t k = 0; k < 64; ++k) reversed |= (x >> k & 1) << (63 - k);
    expected.push_back(static_cast<uint64_t>(std::popcount(x)));
    expected.push_back(static_cast<uint64_t>(std::countl_zero(x)));
    expected.push_back(x == 0 ? 0 : static_cast<uint64_t>(std::countr_zero(x)) + 1);
    expected.push_back(reversed);
    expected.push_back(std::rotl(x, static_cast<int>(x & 63)));
    expected.push_back(x);
  }
  check_equal(device.download(out), expected, 6);

  const auto x = integers<uint32_t>(128, 3), y = integers<uint32_t>(128, 4);
  const auto words = device.zeros<uint32_t>(12 * 128);
  device.run("bytes", {{1}, {128}}, device.upload(x), device.upload(y), words);
  std::vector<uint32_t> bytewise;
  for (size_t i = 0; i < 128; ++i) {
    const auto each = [&](auto operation) {
      uint32_t value = 0;
      for (uint32_t k = 0; k < 32; k += 8)
        value |= (static_cast<uint32_t>(
                      operation(static_cast<int>(x[i] >> k & 0xFF), static_cast<int>(y[i] >> k & 0xFF))) &
                  0xFF)
                 << k;
      return value;
    };
    bytewise.push_back(each([](int p, int q) { return p + q; }));
    bytewise.push_back(each([](int p, int q) { return p - q; }));
    bytewise.push_back(each([](int p, int q) { return std::abs(p - q); }));
    bytewise.push_back(each([](int p, int q) { return std::max(p, q); }));
    bytewise.push_back(each([](int p, int q) { return p > q ? 0xFF : 0; }));
    bytewise.push_back(each([](int p, int q) { return std::min(p + q, 255); }));
    const auto signed_half = [](uint32_t word, uint32_t k) { return int{static_cast<int16_t>(word >> k)}; };
    uint32_t least = 0, sums = 0, byte_distance = 0, half_distance = 0;
    for (uint32_t k = 0; k < 32; k += 16) {
      const int p = signed_half(x[i], k), q = signed_half(y[i], k);
      least |= uint32_t{static_cast<uint16_t>(std::min(p, q))} << k;
      sums |= uint32_t{static_cast<uint16_t>(std::clamp(p + q, -32768, 32767))} << k;
      half_distance += static_cast<uint32_t>(std::abs((p & 0xFFFF) - (q & 0xFFFF)));
    }
    each([&](int p, int q) { return byte_distance += static_cast<uint32_t>(std::abs(p - q)); });
    bytewise.push_back(least);
    bytewise.push_back(each([](int p, int q) { return (p + q + 1) / 2; }));
    bytewise.push_back(byte_distance);
    bytewise.push_back(half_distance);
    bytewise.push_back(sums);
    bytewise.push_back(each([](int p, int) { return std::abs(static_cast<int8_t>(p)); }));
  }
  check_equal(device.download(words), bytewise, 12);
}

TEST_CASE("conformance: shared memory, static and dynamic", "[conformance]") {
  CudaDevice device("shared");
  std::vector<float> in, expected(50 * 37);
  for (const int x : small_integers(50 * 37, 0, 1 << 20)) in.push_back(static_cast<float>(x));
  for (size_t y = 0; y < 37; ++y)
    for (size_t x = 0; x < 50; ++x) expected[x * 37 + y] = in[y * 50 + x];
  const auto out = device.zeros<float>(in.size());
  device.run("transpose", {{4, 3}, {16, 16}}, device.upload(in), out, 50, 37);
  check_equal(device.download(out), expected, 37);

  std::vector<double> values, mixed;
  for (const int x : small_integers(200, 0, 1 << 20)) values.push_back(x * 0.5);
  for (size_t k = 0; k < 200; ++k)
    mixed.push_back(values[199 - k] + static_cast<uint8_t>((k + (k % 64 * 29 + 3) % 64) % 200 * 7));
  const auto carved = device.zeros<double>(200);
  Shape shape{{1}, {64}};
  shape.dynamic_shared_bytes = 200 * 9;
  device.run("carved", shape, device.upload(values), carved, 200);
  check_equal(device.download(carved), mixed);
}

TEST_CASE("conformance: grids and blocks of three dimensions", "[conformance]") {
  CudaDevice device("shared");
  const auto out = device.zeros<uint32_t>(3 * 2 * 4 * 5 * 3 * 2);
  device.run("coordinates", {{3, 2, 4}, {5, 3, 2}}, out);
  std::vector<uint32_t> expected;
  for (uint32_t block = 0; block < 24; ++block)
    for (uint32_t t = 0; t < 30; ++t)
      expected.push_back(t % 5 | t / 5 % 3 << 4 | t / 15 << 8 | block % 3 << 12 | block / 3 % 2 << 16 |
                         block / 6 << 20 | 8U << 24);
  check_equal(device.download(out), expected, 30);
}

TEST_CASE("conformance: printf", "[conformance]") {
  CudaDevice device("prints");
  const auto label = device.upload(std::vector<char>{'o', 'u', 'r', ' ', 'l', 'a', 'b', 'e', 'l', 0});
  const auto report = device.run("print", {{1}, {32}}, device.upload(small_integers(32, 27, 27)), label);
  CHECK(report.printf_output ==
        "thread 0 of block: 27 13.50 b 123456789abc 100%\n"
        "thread 1 of block: 27 13.50 b 123456789abd 100%\n"
        "our label done\n");
}

TEST_CASE("conformance: assert, trap and stray accesses end the run with their place", "[conformance]") {
  // Runs a kernel on 32 integers of which number 17 is `value`; empty if nothing went wrong.
  const auto message = [](const std::string& kernel, int value, const auto&... more) {
    CudaDevice device("prints");
    std::vector<int> in(32, 5);
    in[17] = value;
    const auto report = device.try_run(kernel, {{1}, {32}}, device.upload(in), more...);
    return report ? std::string() : report.error().to_string();
  };
  CHECK(message("check", 99).empty());
  CHECK_THAT(message("check", 100), Catch::Contains("x < 100") && Catch::Contains("17"));
  CHECK(message("stop", 41).empty());
  CHECK_THAT(message("stop", 42), Catch::Contains("trap") && Catch::Contains("17"));
  CHECK(message("out_of_bounds", 0, 0).empty());
  CHECK_THAT(message("out_of_bounds", 0, 1 << 20), Catch::Contains("out_of_bounds"));
}
