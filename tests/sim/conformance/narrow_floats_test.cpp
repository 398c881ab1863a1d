// Half, bfloat16 and the eight-bit floats. Expected values come from rounding to the format by its
// definition: the nearest multiple of the format's spacing at that size.
#include "tests/sim/conformance/cuda_device.hpp"

using namespace ptxwire::sim::conformance;

namespace {

/// A binary format of at most 16 bits, described by its numbers.
struct Format {
  int mantissa_bits;
  int least_exponent;  ///< of the smallest normal number
  double largest;
  bool has_infinity;
};
constexpr Format kHalf{10, -14, 65504, true};
const Format kBfloat{7, -126, std::ldexp(255, 120), true};
constexpr Format kE4m3{3, -6, 448, false}, kE5m2{2, -14, 57344, true};

/// Nearest value of the format, ties to even. Beyond the largest: infinity, or the largest if saturating.
double rounded(double x, const Format& format, bool saturate = false) {
  if (x == 0 || std::isnan(x) || std::isinf(x))
    return saturate && std::isinf(x) ? std::copysign(format.largest, x) : x;
  const int exponent = std::max(std::ilogb(x), format.least_exponent);
  const double spacing = std::ldexp(1, exponent - format.mantissa_bits);
  const double result = std::nearbyint(x / spacing) * spacing;
  if (std::abs(result) <= format.largest) return std::copysign(result, x);
  return std::copysign(saturate ? format.largest : std::numeric_limits<double>::infinity(), x);
}

/// Value of a bit pattern of an eight-bit format.
double decoded(uint32_t bits, const Format& format) {
  const uint32_t exponent = (bits & 0x7F) >> format.mantissa_bits;
  const uint32_t mantissa = bits & ((1U << format.mantissa_bits) - 1);
  const uint32_t top = 0x7FU >> format.mantissa_bits;
  double value =
      std::ldexp(exponent == 0 ? mantissa : mantissa + (1U << format.mantissa_bits),
                 static_cast<int>(std::max(exponent, 1U)) - 1 + format.least_exponent - format.mantissa_bits);
  if (format.has_infinity && exponent == top)
    value =
        mantissa == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  if (!format.has_infinity && (bits & 0x7F) == 0x7F) value = std::numeric_limits<double>::quiet_NaN();
  return (bits & 0x80) != 0 ? -value : value;
}

std::vector<float> numbers(size_t count, uint32_t seed) {
  std::vector<float> values = {0,     -0.0F, 1,      -1,      0.333F, 1000.5F, -2049,  65504, 65519,
                               6e-8F, 3e-5F, -1e-7F, 2047.5F, 17,     -17.5F,  448.5F, 464,   -480};
  std::mt19937 random(seed);
  while (values.size() < count)
    values.push_back(std::ldexp(static_cast<float>(static_cast<int>(random() % 65536) - 32768),
                                -15 + static_cast<int>(random() % 24) - 12));
  std::rotate(values.begin(), values.begin() + seed % 18, values.begin() + 18);
  values.resize(count);
  return values;
}

void check_arithmetic(const std::string& kernel, const Format& format) {
  INFO(kernel);
  CudaDevice device("halves");
  const std::vector<float> a = numbers(256, 1), b = numbers(256, 2);
  const auto out = device.zeros<float>(10 * a.size());
  device.run(kernel, {{2}, {128}}, device.upload(a), device.upload(b), out);
  std::vector<float> expected;
  for (size_t i = 0; i < a.size(); ++i) {
    const double x = rounded(static_cast<double>(a[i]), format),
                 y = rounded(static_cast<double>(b[i]), format);
    const auto put = [&](double value) { expected.push_back(static_cast<float>(value)); };
    put(x);
    put(rounded(x + y, format));
    put(rounded(x - y, format));
    put(rounded(x * y, format));
    put(rounded(static_cast<double>(static_cast<long double>(x) * static_cast<long double>(y) +
                                    static_cast<long double>(x)),
                format));
    put(-x);
    put(x < y ? 1 : 0);
    put(x == y ? (std::signbit(x) ? y : x) : std::max(x, y));
    put(std::isinf(x) ? std::copysign(2147483648.0, x) : std::nearbyint(x));
    if (format.mantissa_bits == 10) {
      put(rounded(std::trunc(static_cast<double>(a[i])), format));
    } else {
      uint32_t bits = 0;
      std::memcpy(&bits, &a[i], 4);
      bits &= 0xFFFF0000;  // towards zero
      float truncated = 0;
      std::memcpy(&truncated, &bits, 4);
      put(static_cast<double>(truncated));
    }
    // A conversion to an integer keeps no sign of zero.
    expected[expected.size() - 2] += 0.0F;
    if (format.mantissa_bits == 10) expected.back() += 0.0F;
  }
  check_equal(device.download(out), expected, 10);
}

}  // namespace

TEST_CASE("conformance: half arithmetic", "[conformance]") { check_arithmetic("half_arithmetic", kHalf); }
TEST_CASE("conformance: bfloat16 arithmetic", "[conformance]") {
  check_arithmetic("bfloat_arithmetic", kBfloat);
}

TEST_CASE("conformance: bfloat16 pairs summed in float", "[conformance]") {
  CudaDevice device("halves");
  std::vector<uint16_t> rows;
  for (const float x : numbers(8 * 128, 3)) {
    uint32_t bits = 0;
    std::memcpy(&bits, &x, 4);
    rows.push_back(static_cast<uint16_t>(bits >> 16));
  }
  const auto sums = device.zeros<uint16_t>(128);
  device.run("bfloat_pairs", {{1}, {64}}, device.upload(rows), sums, 8, 64);
  std::vector<uint16_t> expected;
  for (size_t i = 0; i < 128; ++i) {
    float sum = 0;
    for (size_t r = 0; r < 8; ++r) {
      const uint32_t bits = uint32_t{rows[r * 128 + i]} << 16;
      float value = 0;
      std::memcpy(&value, &bits, 4);
      sum += value;
    }
    const auto result = static_cast<float>(rounded(static_cast<double>(sum), kBfloat));
    uint32_t bits = 0;
    std::memcpy(&bits, &result, 4);
    expected.push_back(static_cast<uint16_t>(bits >> 16));
  }
  check_equal(device.download(sums), expected);
}

TEST_CASE("conformance: pairs of halves", "[conformance]") {
  CudaDevice device("halves");
  // Small integers, whose sums, products and fused results are exact in half precision: patterns of k / 8.
  const auto pattern = [](double x) {
    if (x == 0) return uint16_t{0};
    const int exponent = std::ilogb(x);
    const auto mantissa = static_cast<uint32_t>(std::ldexp(std::abs(x), 10 - exponent)) & 0x3FF;
    return static_cast<uint16_t>((x < 0 ? 0x8000U : 0U) | static_cast<uint32_t>(exponent + 15) << 10 |
                                 mantissa);
  };
  const auto a = small_integers(128, -30, 30, 1), b = small_integers(128, -30, 30, 2);
  std::vector<uint16_t> x, y, expected;
  for (size_t i = 0; i < 128; ++i) {
    x.push_back(pattern(a[i] / 8.0));
    y.push_back(pattern(b[i] / 8.0));
  }
  for (size_t i = 0; i < 128; i += 2) {
    for (size_t k = i; k < i + 2; ++k) expected.push_back(pattern((a[k] + b[k]) / 8.0));
    for (size_t k = i; k < i + 2; ++k) expected.push_back(pattern(a[k] * b[k] / 64.0 + b[k] / 8.0));
    for (const size_t k : {i + 1, i}) {
      const double product = a[k] * b[k] / 64.0;
      const bool negative_zero = product == 0 && (a[k] < 0 || b[k] < 0);
      expected.push_back(negative_zero ? 0x8000 : pattern(product));
    }
  }
  const auto out = device.zeros<uint16_t>(3 * 128);
  device.run("half_pairs", {{1}, {64}}, device.upload(x), device.upload(y), out);
  check_equal(device.download(out), expected, 6);
}

TEST_CASE("conformance: eight-bit floats, every pattern to float", "[conformance]") {
  CudaDevice device("fp8");
  std::vector<uint8_t> in(256);
  std::vector<float> e4m3(256), e5m2(256);
  for (uint32_t i = 0; i < 256; ++i) {
    in[i] = static_cast<uint8_t>(i);
    e4m3[i] = static_cast<float>(decoded(i, kE4m3));
    e5m2[i] = static_cast<float>(decoded(i, kE5m2));
  }
  const auto a = device.zeros<float>(256), b = device.zeros<float>(256);
  device.run("from_fp8", {{2}, {128}}, device.upload(in), a, b);
  check_equal(device.download(a), e4m3);
  check_equal(device.download(b), e5m2);
}

TEST_CASE("conformance: floats to eight bits, saturating", "[conformance]") {
  CudaDevice device("fp8");
  const std::vector<float> in = numbers(256, 4);
  const auto check = [&](const std::vector<uint8_t>& got, const Format& format) {
    for (size_t i = 0; i < in.size(); ++i) {
      INFO(in[i] << " gives pattern " << +got[i]);
      CHECK(same(decoded(got[i], format), rounded(static_cast<double>(in[i]), format, true)));
    }
  };
  const auto a = device.zeros<uint8_t>(256), b = device.zeros<uint8_t>(256);
  const auto input = device.upload(in);
  device.run("to_fp8", {{2}, {128}}, input, a, b);
  check(device.download(a), kE4m3);
  check(device.download(b), kE5m2);
  const auto c = device.zeros<uint8_t>(256), d = device.zeros<uint8_t>(256);
  device.run("pairs_to_fp8", {{1}, {128}}, input, c, d);
  check(device.download(c), kE4m3);
  check(device.download(d), kE5m2);
}

TEST_CASE("conformance: a group of 128 values quantised with one scale", "[conformance]") {
  CudaDevice device("fp8");
  const std::vector<float> in = numbers(512, 5);
  const auto packed = device.zeros<uint8_t>(512);
  const auto scales = device.zeros<float>(4);
  device.run("quantise", {{4}, {32}}, device.upload(in), packed, scales);
  const auto got = device.download(packed);
  const auto got_scales = device.download(scales);
  for (size_t group = 0; group < 4; ++group) {
    float most = 1e-4F;
    for (size_t k = 128 * group; k < 128 * group + 128; ++k) most = std::max(most, std::abs(in[k]));
    CHECK(same(got_scales[group], most * (1 / 448.0F)));
    const float scale = 448.0F / most;
    for (size_t k = 128 * group; k < 128 * group + 128; ++k)
      CHECK(same(decoded(got[k], kE4m3), rounded(static_cast<double>(in[k] * scale), kE4m3, true)));
  }
}
