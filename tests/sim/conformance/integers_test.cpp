// Integer arithmetic: the same expressions, compiled for the CPU.
#include "tests/sim/conformance/cuda_device.hpp"

using namespace ptxwire::sim::conformance;
using ptxwire::sim::Dim3;

namespace {

template <typename T>
std::vector<int64_t> expected_arithmetic(const std::vector<T>& a, const std::vector<T>& b) {
  std::vector<int64_t> out;
  const auto put = [&](auto value) { out.push_back(static_cast<int64_t>(static_cast<T>(value))); };
  for (size_t i = 0; i < a.size(); ++i) {
    const T x = a[i], y = b[i];
    const uint64_t ux = static_cast<uint64_t>(x), uy = static_cast<uint64_t>(y);
    const auto shift = static_cast<int>(uy & (8 * sizeof(T) - 1));
    // INT_MIN / -1 is undefined on the CPU; the GPU wraps.
    const bool overflow = std::is_signed_v<T> && y == static_cast<T>(-1);
    put(ux + uy);
    put(ux - uy);
    put(ux * uy);
    put(y == 0 ? 0 : overflow ? static_cast<T>(0 - ux) : static_cast<T>(x / y));
    put(y == 0 || overflow ? 0 : x % y);
    put(ux & uy);
    put(ux | uy);
    put(ux ^ uy);
    put(~ux);
    put(ux << shift);
    put(x >> shift);
    put(std::min(x, y));
    put(std::max(x, y));
    out.push_back(x < y ? -1 : x == y ? 0 : 1);
    put(x / 7);
    put(x % 10);
  }
  return out;
}

template <typename T>
void check_arithmetic(const std::string& name) {
  INFO(name);
  CudaDevice device("integers");
  std::vector<T> a = integers<T>(256, 1), b = integers<T>(256, 2);
  for (size_t i = 0; i < 64; ++i) {  // all pairs of corners
    a[i] = integers<T>(8, 0)[i % 8];
    b[i] = integers<T>(8, 0)[i / 8];
  }
  const auto out = device.zeros<int64_t>(16 * a.size());
  device.run("integers_" + name, {{2}, {128}}, device.upload(a), device.upload(b), out, 256);
  check_equal(device.download(out), expected_arithmetic(a, b), 16);
}

}  // namespace

TEST_CASE("conformance: integers of 8 to 64 bits", "[conformance]") {
  check_arithmetic<int8_t>("int8_t");
  check_arithmetic<uint8_t>("uint8_t");
  check_arithmetic<int16_t>("int16_t");
  check_arithmetic<uint16_t>("uint16_t");
  check_arithmetic<int32_t>("int32_t");
  check_arithmetic<uint32_t>("uint32_t");
  check_arithmetic<int64_t>("int64_t");
  check_arithmetic<uint64_t>("uint64_t");
}

TEST_CASE("conformance: 128-bit quotients and remainders", "[conformance]") {
  CudaDevice device("integers");
  const std::vector<uint64_t> high = integers<uint64_t>(128, 31), low = integers<uint64_t>(128, 32),
                              divisor = integers<uint64_t>(128, 33);
  const auto out = device.zeros<uint64_t>(8 * high.size());
  device.run("wide_quotients", {{1}, {128}}, device.upload(high), device.upload(low), device.upload(divisor),
             out);
  __extension__ typedef unsigned __int128 Wide;
  __extension__ typedef __int128 SignedWide;
  std::vector<uint64_t> expected;
  for (size_t i = 0; i < high.size(); ++i) {
    const Wide x = Wide{high[i]} << 64 | low[i];
    const Wide y = Wide{high[i] >> (low[i] % 64)} << 32 | divisor[i] | 1;
    const auto s = static_cast<SignedWide>(x), d = SignedWide{static_cast<int64_t>(divisor[i] | 1)};
    for (const Wide value : {x / y, x % y, static_cast<Wide>(s / d), static_cast<Wide>(s % d)}) {
      expected.push_back(static_cast<uint64_t>(value));
      expected.push_back(static_cast<uint64_t>(value >> 64));
    }
  }
  check_equal(device.download(out), expected, 8);
}

TEST_CASE("conformance: wide products and 128-bit sums", "[conformance]") {
  CudaDevice device("integers");
  const auto a = integers<uint64_t>(128, 3), b = integers<uint64_t>(128, 4);
  const auto out = device.zeros<uint64_t>(10 * a.size());
  device.run("wide_products", {{1}, {128}}, device.upload(a), device.upload(b), out);
  std::vector<uint64_t> expected;
  __extension__ typedef unsigned __int128 Wide;
  __extension__ typedef __int128 SignedWide;
  for (size_t i = 0; i < a.size(); ++i) {
    const uint64_t x = a[i], y = b[i];
    const auto sx = static_cast<int64_t>(x), sy = static_cast<int64_t>(y);
    const auto ux = static_cast<uint32_t>(x), uy = static_cast<uint32_t>(y);
    const auto ix = static_cast<int32_t>(x), iy = static_cast<int32_t>(y);
    const Wide p = Wide{x} * y;
    expected.push_back(static_cast<uint64_t>(p >> 64));
    expected.push_back(static_cast<uint64_t>((SignedWide{sx} * sy) >> 64));
    expected.push_back((uint64_t{ux} * uy) >> 32);
    expected.push_back(static_cast<uint64_t>((int64_t{ix} * iy) >> 32));
    expected.push_back(uint64_t{ux} * uy);
    expected.push_back(static_cast<uint64_t>(int64_t{ix} * iy));
    expected.push_back(static_cast<uint64_t>(p + x));
    expected.push_back(static_cast<uint64_t>((p + x) >> 64));
    const SignedWide s = SignedWide{sx} * 131072 - sy;
    expected.push_back(static_cast<uint64_t>(s));
    expected.push_back(static_cast<uint64_t>(s >> 64));
  }
  check_equal(device.download(out), expected, 10);
}
