// The compute kernels of kernels/compute: small launches of their scenarios, and on drawn data against what
// the host computes.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <random>

#include "sim/workload/kernel_arguments.hpp"
#include "sim/workload/run.hpp"
#include "sim/workload/run_parts.hpp"

using namespace ptxwire;
using namespace ptxwire::sim;

namespace {

const std::string kRoot = PTXWIRE_SOURCE_DIR;

float as_float(uint16_t bf16) {
  const uint32_t bits = uint32_t{bf16} << 16U;
  float value = 0;
  std::memcpy(&value, &bits, 4);
  return value;
}

uint16_t as_bf16(float value) {  // of values that bf16 holds exactly
  uint32_t bits = 0;
  std::memcpy(&bits, &value, 4);
  return static_cast<uint16_t>(bits >> 16U);
}

/// One kernel of kernels/compute on one GPU without time.
class Kernel {
 public:
  explicit Kernel(const std::string& file) {
    auto machine = models::load_machine(kRoot + "/models/machines/h800-node.toml");
    REQUIRE(machine);
    models::make_untimed(*machine);
    auto cluster = Cluster::create(*machine, 1);
    REQUIRE(cluster);
    cluster_ = *std::move(cluster);
    const auto loaded = load_on(*cluster_, Scenario{}, kRoot + "/kernels/compute/" + file + ".ptx", "");
    if (!loaded) FAIL(loaded.error().to_string());
    module_ = loaded->module;
  }
  template <typename T>
  DeviceAddress put(const std::vector<T>& values) {
    const DeviceAddress address = room<T>(values.size());
    REQUIRE(cluster_->write(address,
                            {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(T)}));
    return address;
  }
  template <typename T>
  DeviceAddress room(size_t count) {
    const auto address = cluster_->allocate(GpuId{0}, count * sizeof(T), "test");
    REQUIRE(address);
    return *address;
  }
  template <typename T>
  std::vector<T> get(DeviceAddress address, size_t count) {
    std::vector<T> values(count);
    REQUIRE(cluster_->read(address, {reinterpret_cast<uint8_t*>(values.data()), count * sizeof(T)}));
    return values;
  }
  void run(const std::string& entry, Dim3 grid, uint32_t threads, uint32_t shared,
           std::vector<uint8_t> parameters) {
    LaunchConfig config;
    config.module = module_;
    config.kernel = entry;
    config.grid = grid;
    config.block.x = threads;
    config.dynamic_shared_bytes = shared;
    config.parameters = std::move(parameters);
    const auto launched = cluster_->launch(cluster_->create_stream(GpuId{0}), std::move(config));
    if (!launched) FAIL(launched.error().to_string());
    const auto report = cluster_->run({.threads = 1});
    if (!report) FAIL(report.error().to_string());
  }

 private:
  std::unique_ptr<Cluster> cluster_;
  uint32_t module_ = 0;
};

}  // namespace

TEST_CASE("compute kernels: small launches of all scenarios are correct", "[workload]") {
  struct Case {
    const char* name;
    std::vector<std::string> settings;
  };
  const Case c =
      GENERATE(Case{"compute_copy_elements", {"values.ctas=8"}}, Case{"compute_scale", {"values.ctas=8"}},
               Case{"compute_add", {"values.ctas=8"}}, Case{"compute_copy_rows", {"values.ctas=4"}},
               Case{"compute_rotary", {"values.ctas=2", "values.ctas_z=3"}},
               Case{"compute_cast_rows", {"values.ctas=4"}},
               Case{"compute_cast_transpose", {"values.ctas=2", "values.ctas_y=3"}},
               Case{"compute_transpose", {"values.ctas=32"}}, Case{"compute_sum_rows", {"values.ctas=4"}},
               Case{"compute_dot_rows", {"values.ctas=2", "values.ctas_y=2"}},
               Case{"compute_select_rows", {"values.ctas=4"}},
               Case{"compute_layer_norm", {"values.ctas=6", "values.rows=13"}},
               Case{"hold_sms", {"values.cycles=2000"}},
               Case{"hold_moving", {"values.cycles=20000", "values.rows=40", "values.pause_ns=0"}},
               Case{"hold_moving", {"values.cycles=20000", "values.rows=40", "values.to_gpu=1", "ranks=2"}});
  const auto path = find_scenario(c.name);
  REQUIRE(path);
  auto scenario = load_scenario(*path);
  if (!scenario) FAIL(scenario.error().to_string());
  for (const std::string& setting : c.settings) REQUIRE(apply_override(*scenario, setting));
  const auto result = run_scenario(*scenario, {.threads = 1});
  if (!result) FAIL(result.error().to_string());
  INFO(c.name << ": " << result->first_mismatch);
  CHECK(result->result == ResultState::correct);
}

TEST_CASE("compute kernels: a transpose of drawn bytes", "[workload]") {
  constexpr uint32_t kRows = 256, kColumns = 384;
  std::mt19937 random(1);
  std::vector<uint8_t> from(kRows * kColumns);
  for (uint8_t& byte : from) byte = static_cast<uint8_t>(random());
  Kernel kernel("cast");
  const auto source = kernel.put(from), target = kernel.room<uint8_t>(from.size());
  kernel.run("transpose_bytes", {6, 1, 1}, 512, 16896,
             pack_parameters(source, target, static_cast<int32_t>(kRows), static_cast<int32_t>(kColumns)));
  const auto found = kernel.get<uint8_t>(target, from.size());
  std::vector<uint8_t> expected(from.size());
  for (size_t r = 0; r < kRows; ++r)
    for (size_t c = 0; c < kColumns; ++c) expected[c * kRows + r] = from[r * kColumns + c];
  CHECK(found == expected);
}

TEST_CASE("compute kernels: the k-th largest of drawn numbers", "[workload]") {
  constexpr size_t kRows = 5, kColumns = 256;
  const int32_t k = GENERATE(1, 8, 256);
  std::mt19937 random(2);
  std::uniform_real_distribution<float> draw(-100, 100);
  std::vector<float> from(kRows * kColumns);
  for (float& value : from) value = std::round(draw(random));  // some are equal
  Kernel kernel("rows");
  const auto source = kernel.put(from), target = kernel.room<float>(kRows);
  kernel.run("select_row", {kRows, 1, 1}, 256, 0,
             pack_parameters(source, target, static_cast<int32_t>(kColumns), k));
  const auto found = kernel.get<float>(target, kRows);
  for (size_t r = 0; r < kRows; ++r) {
    std::vector<float> row(from.begin() + static_cast<long>(r * kColumns),
                           from.begin() + static_cast<long>((r + 1) * kColumns));
    std::sort(row.begin(), row.end(), std::greater<>());
    CHECK(found[r] == row[static_cast<size_t>(k - 1)]);
  }
}

TEST_CASE("compute kernels: layer norm and its gradient against double", "[workload]") {
  constexpr size_t kRows = 3, kHidden = 7168;
  std::mt19937 random(3);
  const auto draw = [&](size_t count, int least, int most) {  // in eighths: bf16 holds them exactly
    std::vector<uint16_t> values(count);
    for (uint16_t& value : values)
      value = as_bf16(
          static_cast<float>(least + static_cast<int>(random() % static_cast<unsigned>(most - least + 1))) /
          8);
    return values;
  };
  const auto x = draw(kRows * kHidden, -31, 31), dy = draw(kRows * kHidden, -15, 15),
             gamma = draw(kHidden, 4, 12), beta = draw(kHidden, -8, 8);
  Kernel kernel("layer_norm");
  const auto px = kernel.put(x), pdy = kernel.put(dy), pg = kernel.put(gamma), pb = kernel.put(beta);
  const auto out = kernel.room<uint16_t>(x.size()), dx = kernel.room<uint16_t>(x.size());
  const auto statistics = kernel.room<float>(2 * kRows), partial = kernel.room<float>(2 * kHidden);
  const auto rows = static_cast<int32_t>(kRows);
  kernel.run("layer_norm_forward", {2, 1, 1}, 128, 0, pack_parameters(px, pg, pb, out, statistics, rows));
  kernel.run("layer_norm_backward", {1, 1, 1}, 256, 0,
             pack_parameters(pdy, px, pg, statistics, dx, partial, rows));
  const auto found = kernel.get<uint16_t>(out, x.size()), gradient = kernel.get<uint16_t>(dx, x.size());
  const auto sums = kernel.get<float>(partial, 2 * kHidden);
  std::vector<double> beta_sum(kHidden), gamma_sum(kHidden);
  for (size_t r = 0; r < kRows; ++r) {
    double mean = 0, variance = 0, sum = 0, product = 0;
    for (size_t c = 0; c < kHidden; ++c) mean += as_float(x[r * kHidden + c]) / double{kHidden};
    for (size_t c = 0; c < kHidden; ++c)
      variance += std::pow(as_float(x[r * kHidden + c]) - mean, 2) / double{kHidden};
    const double inverse = 1 / std::sqrt(variance + 1e-5);
    const auto normal = [&](size_t c) { return (as_float(x[r * kHidden + c]) - mean) * inverse; };
    const auto weighted = [&](size_t c) {
      return double{as_float(dy[r * kHidden + c])} * as_float(gamma[c]);
    };
    for (size_t c = 0; c < kHidden; ++c) {
      sum += weighted(c) / kHidden;
      product += weighted(c) * normal(c) / kHidden;
      beta_sum[c] += as_float(dy[r * kHidden + c]);
      gamma_sum[c] += as_float(dy[r * kHidden + c]) * normal(c);
    }
    constexpr double kRounding = 1.0 / 256;  // half a unit of bf16, and the float arithmetic before
    for (size_t c = 0; c < kHidden; ++c) {
      const double y = normal(c) * as_float(gamma[c]) + as_float(beta[c]);
      const double d = (weighted(c) - sum - normal(c) * product) * inverse;
      REQUIRE(as_float(found[r * kHidden + c]) == Approx(y).epsilon(kRounding).margin(1e-3));
      REQUIRE(as_float(gradient[r * kHidden + c]) == Approx(d).epsilon(kRounding).margin(1e-3));
    }
  }
  for (size_t c = 0; c < kHidden; ++c) {
    REQUIRE(sums[c] == Approx(beta_sum[c]).margin(1e-4));
    REQUIRE(sums[kHidden + c] == Approx(gamma_sum[c]).margin(1e-3));
  }
}
