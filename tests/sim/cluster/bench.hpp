// A small cluster of the H800 node with one PTX module on it, for tests of the simulator core.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cluster/cluster.hpp"

namespace ptxwire::sim::test {

/// PTX text of a module: the header, then `body`.
std::string module_text(std::string_view body);

/// An entry with `parameters` 64-bit parameters, which are in %rd0, %rd1, ... when `body` starts; %r0 is
/// %tid.x. Free for the body: %r1-%r39, the other %rd up to %rd39, %p0-%p9, %h0-%h9, %f0-%f9, %fd0-%fd9.
std::string entry(std::string_view name, uint32_t parameters, std::string_view body,
                  std::string_view directives = {});

struct Shape {
  Dim3 grid{}, block{32, 1, 1};
  uint32_t gpu = 0;
  uint32_t cluster = 1;
  uint32_t dynamic_shared = 0;
  bool cooperative = false;
};

/// Fails the test case if the module or the machine cannot be loaded.
class Bench {
 public:
  explicit Bench(std::string_view body, uint32_t gpus = 1);

  [[nodiscard]] Cluster& cluster() { return *cluster_; }
  DeviceAddress allocate(uint64_t bytes, uint32_t gpu = 0);
  /// What Cluster::launch says; the stream is the first of the shape's GPU.
  Expected<LaunchId> try_launch(const std::string& kernel, const std::vector<uint64_t>& parameters,
                                const Shape& shape = {});
  void launch(const std::string& kernel, const std::vector<uint64_t>& parameters, const Shape& shape = {});
  /// One thread (or ${PTXWIRE_TEST_THREADS}) and 50 ms of simulated time unless `limits` says otherwise.
  RunReport run(const RunLimits& limits = default_limits());
  /// The text of the error that the run ends with; fails if it ends well.
  std::string run_error(const RunLimits& limits = default_limits());
  static RunLimits default_limits();

  template <typename T>
  std::vector<T> read(DeviceAddress address, size_t count) {
    std::vector<T> values(count);
    read_bytes(address, values.data(), count * sizeof(T));
    return values;
  }
  template <typename T>
  void write(DeviceAddress address, const std::vector<T>& values) {
    write_bytes(address, values.data(), values.size() * sizeof(T));
  }

 private:
  void read_bytes(DeviceAddress address, void* target, size_t bytes);
  void write_bytes(DeviceAddress address, const void* source, size_t bytes);

  std::unique_ptr<Cluster> cluster_;
  std::vector<StreamId> streams_;
};

/// Runs kernel `k(out)` on one GPU and returns `count` 32-bit words of its zeroed output.
std::vector<uint32_t> words_of(std::string_view module_body, size_t count, const Shape& shape = {});

}  // namespace ptxwire::sim::test
