// Our declarations of the driver API against NVIDIA's header, where a CUDA toolkit is installed.
#include "sim/measure/cuda_abi.hpp"

#include <catch2/catch.hpp>

#if __has_include(PTXWIRE_CUDA_HEADER)
#include PTXWIRE_CUDA_HEADER

using namespace ptxwire::sim;  // NOLINT(google-build-using-namespace)

TEST_CASE("CUDA ABI: types and values are those of cuda.h", "[contract]") {
  static_assert(sizeof(cuda::LaunchConfig) == sizeof(CUlaunchConfig));
  static_assert(offsetof(cuda::LaunchConfig, grid_z) == offsetof(CUlaunchConfig, gridDimZ));
  static_assert(offsetof(cuda::LaunchConfig, block_x) == offsetof(CUlaunchConfig, blockDimX));
  static_assert(offsetof(cuda::LaunchConfig, dynamic_shared_bytes) ==
                offsetof(CUlaunchConfig, sharedMemBytes));
  static_assert(offsetof(cuda::LaunchConfig, stream) == offsetof(CUlaunchConfig, hStream));
  static_assert(offsetof(cuda::LaunchConfig, attributes) == offsetof(CUlaunchConfig, attrs));
  static_assert(offsetof(cuda::LaunchConfig, attribute_count) == offsetof(CUlaunchConfig, numAttrs));
  static_assert(sizeof(cuda::LaunchAttribute) == sizeof(CUlaunchAttribute));
  static_assert(offsetof(cuda::LaunchAttribute, value) == offsetof(CUlaunchAttribute, value));
  static_assert(sizeof(cuda::DevicePointer) == sizeof(CUdeviceptr));
  CHECK(static_cast<int>(cuda::kSuccess) == static_cast<int>(CUDA_SUCCESS));
  CHECK(static_cast<int>(cuda::LaunchAttribute::cooperative) ==
        static_cast<int>(CU_LAUNCH_ATTRIBUTE_COOPERATIVE));
  CHECK(static_cast<int>(cuda::LaunchAttribute::cluster_dimension) ==
        static_cast<int>(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION));
  CHECK(static_cast<int>(cuda::kClockRate) == static_cast<int>(CU_DEVICE_ATTRIBUTE_CLOCK_RATE));
  CHECK(static_cast<int>(cuda::kMultiprocessorCount) ==
        static_cast<int>(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
  CHECK(static_cast<int>(cuda::kL2CacheBytes) == static_cast<int>(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE));
  CHECK(static_cast<int>(cuda::kComputeCapabilityMajor) ==
        static_cast<int>(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
  CHECK(static_cast<int>(cuda::kComputeCapabilityMinor) ==
        static_cast<int>(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  CHECK(static_cast<int>(cuda::kMaxDynamicSharedBytes) ==
        static_cast<int>(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES));
  CHECK(static_cast<int>(cuda::kNonPortableClusterSizeAllowed) ==
        static_cast<int>(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED));
  CHECK(static_cast<int>(cuda::kErrorLogBuffer) == static_cast<int>(CU_JIT_ERROR_LOG_BUFFER));
  CHECK(static_cast<int>(cuda::kErrorLogBufferBytes) == static_cast<int>(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES));
  CHECK(static_cast<int>(cuda::kStreamNonBlocking) == static_cast<int>(CU_STREAM_NON_BLOCKING));
  CHECK(static_cast<int>(cuda::kLaunchParamBufferPointer) ==
        static_cast<int>(CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT));
  CHECK(static_cast<int>(cuda::kLaunchParamBufferBytes) ==
        static_cast<int>(CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT));
}
#endif
