// One simulated H800 and one module of tests/sim/conformance/cuda, driven the way a CUDA host program would.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "sim/cluster/cluster.hpp"

namespace ptxwire::sim::conformance {

/// Device memory that holds `count` values of T.
template <typename T>
struct Array {
  DeviceAddress address = 0;
  size_t count = 0;
};

/// Grid, block and what else a launch may ask for.
struct Shape {
  Dim3 grid, block;
  uint32_t dynamic_shared_bytes = 0;
  uint32_t cluster = 1;
  bool cooperative = false;
};

class CudaDevice {
 public:
  /// Loads `<module>.ptx`; fails the test if it does not load.
  explicit CudaDevice(const std::string& module);

  template <typename T>
  Array<T> upload(const std::vector<T>& values) {
    const Array<T> array = zeros<T>(values.size());
    write(array.address, {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(T)});
    return array;
  }
  template <typename T>
  Array<T> zeros(size_t count) {
    return {allocate(count * sizeof(T)), count};
  }
  template <typename T>
  std::vector<T> download(Array<T> array) const {
    std::vector<T> values(array.count);
    read(array.address, {reinterpret_cast<uint8_t*>(values.data()), array.count * sizeof(T)});
    return values;
  }
  template <typename T>
  std::vector<T> download_symbol(const std::string& name, size_t count) const {
    return download(Array<T>{symbol(name), count});
  }

  /// Launches and runs; arguments are laid out as C++ lays out a parameter list. Fails the test on an error.
  template <typename... Arguments>
  RunReport run(const std::string& kernel, const Shape& shape, const Arguments&... arguments) {
    auto report = try_run(kernel, shape, arguments...);
    if (!report) FAIL(kernel << ": " << report.error().to_string());
    return *std::move(report);
  }
  template <typename... Arguments>
  Expected<RunReport> try_run(const std::string& kernel, const Shape& shape, const Arguments&... arguments) {
    std::vector<uint8_t> parameters;
    (append(parameters, arguments), ...);
    return launch(kernel, shape, std::move(parameters));
  }

 private:
  template <typename T>
  static void append(std::vector<uint8_t>& block, const T& value) {
    block.resize((block.size() + alignof(T) - 1) / alignof(T) * alignof(T));
    block.resize(block.size() + sizeof(T));
    std::memcpy(block.data() + block.size() - sizeof(T), &value, sizeof(T));
  }
  template <typename T>
  static void append(std::vector<uint8_t>& block, const Array<T>& array) {
    append(block, array.address);
  }

  DeviceAddress allocate(uint64_t bytes);
  void write(DeviceAddress address, std::span<const uint8_t> bytes);
  void read(DeviceAddress address, std::span<uint8_t> bytes) const;
  [[nodiscard]] DeviceAddress symbol(const std::string& name) const;
  Expected<RunReport> launch(const std::string& kernel, const Shape& shape, std::vector<uint8_t> parameters);

  std::unique_ptr<Cluster> cluster_;
  uint32_t module_ = 0;
};

/// `count` values that cover the type's corners (0, 1, -1, extremes) and then the whole range at random.
template <typename T>
std::vector<T> integers(size_t count, uint32_t seed) {
  std::vector<T> values = {0,
                           1,
                           static_cast<T>(-1),
                           2,
                           7,
                           std::numeric_limits<T>::max(),
                           std::numeric_limits<T>::min(),
                           static_cast<T>(10)};
  std::mt19937_64 random(seed);
  while (values.size() < count) {
    const uint64_t bits = random();
    values.push_back(static_cast<T>(bits >> (random() % 4 * 16)));
  }
  values.resize(count);
  return values;
}

/// `count` integers of [low, high] at random.
std::vector<int> small_integers(size_t count, int low, int high, uint32_t seed = 1);

/// Corners (zeros, halves, large and small numbers) and random finite numbers of all sizes.
template <typename T>
std::vector<T> reals(size_t count, uint32_t seed) {
  std::vector<T> values = {0,      T(-0.0), 1,       -1,        T(0.5), T(-0.5),
                           T(2.5), T(-1.5), T(1e30), T(-1e-30), T(3e9), T(65504)};
  std::mt19937_64 random(seed);
  while (values.size() < count) {
    const double mantissa = static_cast<double>(random() >> 11) * 0x1p-53 * 2 - 1;
    values.push_back(static_cast<T>(std::ldexp(mantissa, static_cast<int>(random() % 60) - 30)));
  }
  // The corners pair with each other in another order for every seed.
  std::rotate(values.begin(), values.begin() + seed % 12, values.begin() + 12);
  values.resize(count);
  return values;
}

/// Equal bit for bit, except that any NaN equals any other.
template <typename T>
bool same(T a, T b) {
  return (a != a && b != b) || std::memcmp(&a, &b, sizeof(T)) == 0;
}

/// Fails with index, operation (index modulo `stride`) and both values at the first difference.
template <typename T>
void check_equal(const std::vector<T>& got, const std::vector<T>& expected, size_t stride = 1) {
  REQUIRE(got.size() == expected.size());
  size_t differences = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    if (same(got[i], expected[i]) || ++differences > 3) continue;
    UNSCOPED_INFO("element " << i / stride << ", operation " << i % stride << ": got " << +got[i]
                             << ", expected " << +expected[i]);
  }
  CHECK(differences == 0);
}

}  // namespace ptxwire::sim::conformance
