// Floating point of all widths. Results that IEEE 754 defines are compared bit for bit, library functions and
// approximations within the errors that the CUDA programming guide states (in ulp of the exact result).
#include "tests/sim/conformance/cuda_device.hpp"

using namespace ptxwire::sim::conformance;

namespace {

template <typename T>
std::vector<T> expected_arithmetic(const std::vector<T>& a, const std::vector<T>& b,
                                   const std::vector<T>& c) {
  std::vector<T> out;
  for (size_t i = 0; i < a.size(); ++i) {
    const T x = a[i], y = b[i];
    const T twelfth = sizeof(T) == 4 ? std::copysign(x, y) : static_cast<T>(static_cast<float>(x));
    // fmin and fmax: -0 is less than +0 on the GPU.
    const T least = x == y ? (std::signbit(x) ? x : y) : std::min(x, y);
    const T most = x == y ? (std::signbit(x) ? y : x) : std::max(x, y);
    for (const T value : {x + y, x - y, x * y, x / y, std::sqrt(std::abs(x)), std::fma(x, y, c[i]),
                          std::floor(x), std::ceil(x), std::trunc(x), std::nearbyint(x), least, most, twelfth,
                          -x, std::fmod(x, y), std::round(x)})
      out.push_back(value);
  }
  return out;
}

/// Largest distance between result and exact value, in ulp of T at the exact value.
template <typename T>
double ulps(T got, long double exact) {
  const T rounded = static_cast<T>(exact);
  if (std::isnan(got) != std::isnan(rounded)) return 1e30;
  if (got == rounded) return 0;
  const T magnitude = std::abs(rounded);
  const long double ulp =
      static_cast<long double>(std::nextafter(magnitude, std::numeric_limits<T>::infinity())) -
      static_cast<long double>(magnitude);
  return static_cast<double>(std::abs(static_cast<long double>(got) - exact) / ulp);
}

uint64_t saturated(double x, double low, double high, bool is_signed) {
  if (std::isnan(x)) return 0;
  if (x <= low) return static_cast<uint64_t>(static_cast<int64_t>(low));
  if (x >= high)
    return is_signed ? static_cast<uint64_t>(static_cast<int64_t>(high - 1)) : static_cast<uint64_t>(high);
  return is_signed ? static_cast<uint64_t>(static_cast<int64_t>(x)) : static_cast<uint64_t>(x);
}

}  // namespace

TEST_CASE("conformance: float and double arithmetic is IEEE's", "[conformance]") {
  CudaDevice device("floats");
  {
    const auto a = reals<float>(256, 1), b = reals<float>(256, 2), c = reals<float>(256, 3);
    const auto out = device.zeros<float>(16 * 256);
    device.run("float_arithmetic", {{2}, {128}}, device.upload(a), device.upload(b), device.upload(c), out);
    check_equal(device.download(out), expected_arithmetic(a, b, c), 16);
  }
  const auto a = reals<double>(256, 1), b = reals<double>(256, 2), c = reals<double>(256, 3);
  const auto out = device.zeros<double>(16 * 256);
  device.run("double_arithmetic", {{2}, {128}}, device.upload(a), device.upload(b), device.upload(c), out);
  check_equal(device.download(out), expected_arithmetic(a, b, c), 16);
}

TEST_CASE("conformance: floats to integers truncate, round and saturate", "[conformance]") {
  CudaDevice device("floats");
  std::vector<float> in = reals<float>(128, 4);
  in[20] = std::numeric_limits<float>::infinity();
  in[21] = -in[20];
  in[22] = 2147483520.0F;
  in[23] = -2147483648.0F;
  const auto out = device.zeros<int64_t>(8 * 128);
  device.run("float_to_integer", {{1}, {128}}, device.upload(in), out);
  std::vector<int64_t> expected;
  const double word = 0x1p31, wide = 0x1p63;
  const auto narrow = [&](float x) { return static_cast<int64_t>(saturated(x, -word, word, true)); };
  for (const float x : in) {
    const auto whole =
        x >= static_cast<float>(wide) ? INT64_MAX : static_cast<int64_t>(saturated(x, -wide, wide * 2, true));
    expected.push_back(narrow(std::trunc(x)));
    expected.push_back(whole);
    expected.push_back(x >= 0 ? static_cast<int64_t>(saturated(std::trunc(x), 0, 4294967295.0, false)) : 0);
    expected.push_back(whole);
    expected.push_back(narrow(std::nearbyint(x)));
    expected.push_back(narrow(std::ceil(x)));
    expected.push_back(narrow(std::floor(x)));
    int32_t bits = 0;
    std::memcpy(&bits, &x, 4);
    expected.push_back(bits);
  }
  check_equal(device.download(out), expected, 8);
}

TEST_CASE("conformance: integers to floats round once", "[conformance]") {
  CudaDevice device("floats");
  const auto in = integers<int64_t>(128, 5);
  const auto singles = device.zeros<float>(4 * 128);
  const auto doubles = device.zeros<double>(4 * 128);
  device.run("integer_to_float", {{1}, {128}}, device.upload(in), singles, doubles);
  std::vector<float> expected_singles;
  std::vector<double> expected_doubles;
  for (const int64_t x : in) {
    expected_singles.push_back(static_cast<float>(x));
    expected_singles.push_back(static_cast<float>(static_cast<uint64_t>(x)));
    expected_singles.push_back(static_cast<float>(static_cast<int32_t>(x)));
    expected_singles.push_back(static_cast<float>(static_cast<uint8_t>(x)));
    expected_doubles.push_back(static_cast<double>(x));
    expected_doubles.push_back(static_cast<double>(static_cast<uint64_t>(x)));
    expected_doubles.push_back(static_cast<double>(static_cast<uint32_t>(x)));
    expected_doubles.push_back(static_cast<double>(static_cast<int16_t>(x)));
  }
  check_equal(device.download(singles), expected_singles, 4);
  check_equal(device.download(doubles), expected_doubles, 4);
}

TEST_CASE("conformance: CUDA's math library within its stated errors", "[conformance]") {
  CudaDevice device("floats");
  std::vector<float> in;
  for (int i = 0; i < 128; ++i) in.push_back((static_cast<float>(i) - 60.3F) * 0.173F);
  in[5] = 1e6F;  // needs the slow argument reduction
  in[6] = -3.4e7F;
  in[7] = 0;
  const auto out = device.zeros<float>(8 * in.size());
  device.run("float_library", {{1}, {128}}, device.upload(in), out);
  const auto got = device.download(out);
  const double limits[8] = {2, 2, 2, 2, 4, 2, 2, 1};
  for (size_t i = 0; i < in.size(); ++i) {
    const long double x = static_cast<long double>(in[i]);
    const long double shifted = static_cast<long double>(std::abs(in[i]) + 0.5F);
    const long double exact[8] = {std::sin(x),
                                  std::cos(x),
                                  std::exp(static_cast<long double>(in[i] * 0.01F)),
                                  std::log(shifted),
                                  std::pow(shifted, 0.75L),
                                  std::tanh(x),
                                  std::erf(x),
                                  std::cbrt(x)};
    for (size_t k = 0; k < 8; ++k) {
      INFO("function " << k << " of " << in[i] << " gives " << got[8 * i + k]);
      CHECK(ulps(got[8 * i + k], exact[k]) <= limits[k] + 0.5);
    }
  }

  std::vector<double> wide(in.begin(), in.end());
  wide[8] = 1e9;
  const auto wide_out = device.zeros<double>(6 * wide.size());
  device.run("double_library", {{1}, {128}}, device.upload(wide), wide_out);
  const auto doubles = device.download(wide_out);
  for (size_t i = 0; i < wide.size(); ++i) {
    const long double x = static_cast<long double>(wide[i]);
    const long double shifted = static_cast<long double>(std::abs(wide[i]) + 0.5);
    const long double exact[6] = {std::sin(x),         std::exp(static_cast<long double>(wide[i] * 0.01)),
                                  std::log(shifted),   std::pow(shifted, 0.75L),
                                  std::atan2(x, 2.0L), 1 / std::sqrt(shifted)};
    for (size_t k = 0; k < 6; ++k) {
      INFO("function " << k << " of " << wide[i] << " gives " << doubles[6 * i + k]);
      CHECK(ulps(doubles[6 * i + k], exact[k]) <= 2.5);
    }
  }
}

TEST_CASE("conformance: approximate intrinsics within their stated errors", "[conformance]") {
  CudaDevice device("fast_math");
  std::vector<float> a, b;
  for (int i = 0; i < 96; ++i) {
    a.push_back((static_cast<float>(i) - 48) * 0.0625F);
    b.push_back(0.25F + static_cast<float>(i) * 0.3F);
  }
  const auto out = device.zeros<float>(10 * a.size());
  device.run("approximate", {{1}, {96}}, device.upload(a), device.upload(b), out);
  const auto got = device.download(out);
  for (size_t i = 0; i < a.size(); ++i) {
    const double x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    const float* values = &got[10 * i];
    const auto value = [&](size_t k) { return static_cast<double>(values[k]); };
    INFO("x = " << x << ", y = " << y);
    CHECK(ulps(values[0], std::exp(static_cast<long double>(a[i]))) <= 2 + std::floor(std::abs(1.173 * x)));
    if (y >= 0.5 && y <= 2) {
      CHECK(std::abs(value(1) - std::log(y)) <= std::ldexp(1, -21));
    } else {
      CHECK(ulps(values[1], std::log(static_cast<long double>(b[i]))) <= 3);
    }
    CHECK(std::abs(value(2) - std::sin(x)) <= std::ldexp(1, -21));
    CHECK(std::abs(value(3) - std::cos(x)) <= std::ldexp(1, -21));
    CHECK(ulps(values[4], static_cast<long double>(a[i]) / static_cast<long double>(b[i])) <= 2);
    CHECK(ulps(values[5], 1 / std::sqrt(static_cast<long double>(b[i]))) <= 2);
    CHECK(same(values[6], 1 / b[i]));
    CHECK(ulps(values[7], std::exp2(static_cast<long double>(a[i]))) <= 2);
    CHECK(value(8) == Approx(std::pow(y, x * 0.25)).epsilon(1e-5));
    CHECK(same(values[9], std::min(1.0F, std::max(0.0F, a[i] + 0.0F))));
  }
}
