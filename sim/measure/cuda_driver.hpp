// The CUDA driver, opened at run time.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "sim/measure/cuda_abi.hpp"
#include "support/error.hpp"

namespace ptxwire::sim {

class CudaDriver {
 public:
  /// The first release whose driver launches clusters and compiles PTX for sm_90a.
  static constexpr int kOldestVersion = 11080;

  /// Opens `path`, or libcuda.so.1 if that is empty, and initialises it. Errors say what is missing: no
  /// driver, an entry point, a driver before CUDA 11.8, no GPU.
  static Expected<std::shared_ptr<const CudaDriver>> open(const std::string& path);

  [[nodiscard]] const cuda::Functions& functions() const { return functions_; }
  /// CUDA release that the driver supports, as "12.4".
  [[nodiscard]] std::string version() const;
  [[nodiscard]] int devices() const { return devices_; }

  /// An Error "CALL failed: CUDA_ERROR_... (description)" unless `result` is success.
  [[nodiscard]] Expected<void> check(cuda::Result result, std::string_view call) const;

 private:
  Expected<void> load(void* library, const std::string& path);
  Expected<void> initialise();

  cuda::Functions functions_;
  int version_ = 0, devices_ = 0;
};

}  // namespace ptxwire::sim
