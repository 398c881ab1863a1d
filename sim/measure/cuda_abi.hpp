// The part of the CUDA driver API that is used here, declared by ourselves: builds need no CUDA toolkit, and
// the driver is opened at run time. Names and values are those of NVIDIA's cuda.h (driver API reference,
// CUDA 11.8 to 13); a test compares them with that header where it is installed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ptxwire::sim::cuda {

using Result = int;  ///< CUresult
inline constexpr Result kSuccess = 0;

using Device = int;                        ///< CUdevice
using DevicePointer = unsigned long long;  ///< CUdeviceptr
using Context = struct ContextObject*;     ///< CUcontext
using Module = struct ModuleObject*;       ///< CUmodule
using Function = struct FunctionObject*;   ///< CUfunction
using Stream = struct StreamObject*;       ///< CUstream
using Event = struct EventObject*;         ///< CUevent

/// CUdevice_attribute
enum DeviceAttribute : int {
  kClockRate = 13,  ///< kHz, of the SMs at their highest
  kMultiprocessorCount = 16,
  kL2CacheBytes = 38,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
};

/// CUfunction_attribute
enum FunctionAttribute : int {
  kMaxDynamicSharedBytes = 8,
  kNonPortableClusterSizeAllowed = 14,
};

/// CUjit_option
enum JitOption : int { kErrorLogBuffer = 5, kErrorLogBufferBytes = 6 };

inline constexpr unsigned kStreamNonBlocking = 1;  ///< CU_STREAM_NON_BLOCKING
inline constexpr unsigned kEventDefault = 0;

/// Keys of cuLaunchKernelEx's `extra`: the parameters as one block of bytes.
inline constexpr uintptr_t kLaunchParamEnd = 0, kLaunchParamBufferPointer = 1, kLaunchParamBufferBytes = 2;

/// CUlaunchAttribute
struct LaunchAttribute {
  enum Id : int { cooperative = 2, cluster_dimension = 4 };
  Id id;
  int padding = 0;
  union Value {
    unsigned char bytes[64];
    int cooperative;
    struct {
      unsigned x, y, z;
    } cluster;
  } value;
};
static_assert(sizeof(LaunchAttribute) == 72);

/// CUlaunchConfig
struct LaunchConfig {
  unsigned grid_x, grid_y, grid_z;
  unsigned block_x, block_y, block_z;
  unsigned dynamic_shared_bytes;
  Stream stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};
static_assert(sizeof(LaunchConfig) == 56 && offsetof(LaunchConfig, stream) == 32);

/// What the driver library exports, by the names of the entry points.
struct Functions {
  Result (*cuGetErrorName)(Result, const char**) = nullptr;
  Result (*cuGetErrorString)(Result, const char**) = nullptr;
  Result (*cuInit)(unsigned flags) = nullptr;
  Result (*cuDriverGetVersion)(int* version) = nullptr;
  Result (*cuDeviceGetCount)(int* count) = nullptr;
  Result (*cuDeviceGet)(Device*, int ordinal) = nullptr;
  Result (*cuDeviceGetName)(char* name, int bytes, Device) = nullptr;
  Result (*cuDeviceGetAttribute)(int* value, int attribute, Device) = nullptr;
  Result (*cuDeviceTotalMem_v2)(size_t* bytes, Device) = nullptr;
  Result (*cuDeviceCanAccessPeer)(int* can, Device, Device peer) = nullptr;
  Result (*cuDevicePrimaryCtxRetain)(Context*, Device) = nullptr;
  Result (*cuDevicePrimaryCtxRelease_v2)(Device) = nullptr;
  Result (*cuCtxSetCurrent)(Context) = nullptr;
  Result (*cuCtxEnablePeerAccess)(Context peer, unsigned flags) = nullptr;
  Result (*cuModuleLoadDataEx)(Module*, const void* image, unsigned options, int* keys,
                               void** values) = nullptr;
  Result (*cuModuleUnload)(Module) = nullptr;
  Result (*cuModuleGetFunction)(Function*, Module, const char* name) = nullptr;
  Result (*cuFuncSetAttribute)(Function, int attribute, int value) = nullptr;
  Result (*cuMemAlloc_v2)(DevicePointer*, size_t bytes) = nullptr;
  Result (*cuMemFree_v2)(DevicePointer) = nullptr;
  Result (*cuMemcpyHtoD_v2)(DevicePointer, const void*, size_t bytes) = nullptr;
  Result (*cuMemcpyDtoH_v2)(void*, DevicePointer, size_t bytes) = nullptr;
  Result (*cuMemsetD32_v2)(DevicePointer, unsigned value, size_t words) = nullptr;
  Result (*cuStreamCreate)(Stream*, unsigned flags) = nullptr;
  Result (*cuStreamDestroy_v2)(Stream) = nullptr;
  Result (*cuStreamSynchronize)(Stream) = nullptr;
  Result (*cuEventCreate)(Event*, unsigned flags) = nullptr;
  Result (*cuEventDestroy_v2)(Event) = nullptr;
  Result (*cuEventRecord)(Event, Stream) = nullptr;
  Result (*cuEventElapsedTime)(float* ms, Event start, Event end) = nullptr;
  Result (*cuLaunchKernelEx)(const LaunchConfig*, Function, void** parameters, void** extra) = nullptr;
  /// Optional: drivers before CUDA 12.0 do not have it.
  Result (*cuTensorMapEncodeTiled)(void* map, int type, uint32_t rank, void* address, const uint64_t* dims,
                                   const uint64_t* strides, const uint32_t* box,
                                   const uint32_t* element_strides, int interleave, int swizzle,
                                   int promotion, int fill) = nullptr;
};

}  // namespace ptxwire::sim::cuda
