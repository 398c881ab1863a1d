#include "sim/measure/cuda_driver.hpp"

#include <dlfcn.h>

namespace ptxwire::sim {
namespace {

constexpr const char* kDefaultLibrary = "libcuda.so.1";

std::string version_text(int version) {
  return std::to_string(version / 1000) + '.' + std::to_string(version % 1000 / 10);
}

}  // namespace

Expected<std::shared_ptr<const CudaDriver>> CudaDriver::open(const std::string& path) {
  const std::string library_path = path.empty() ? kDefaultLibrary : path;
  // Never closed: drivers keep threads of their own.
  void* library = dlopen(library_path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    return Error{.message = "no CUDA driver: " + std::string(reason != nullptr ? reason : library_path),
                 .hint = "measure needs an NVIDIA GPU with its driver; 'run' simulates the same scenario"};
  }
  auto driver = std::make_shared<CudaDriver>();
  if (const auto loaded = driver->load(library, library_path); !loaded) return loaded.error();
  if (const auto ready = driver->initialise(); !ready) return ready.error();
  return std::shared_ptr<const CudaDriver>(std::move(driver));
}

Expected<void> CudaDriver::load(void* library, const std::string& path) {
  std::string missing;
  const auto find = [&](auto& function, const char* name) {
    void* symbol = dlsym(library, name);
    if (symbol == nullptr && missing.empty()) missing = name;
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(symbol);
  };
  cuda::Functions& f = functions_;
  find(f.cuGetErrorName, "cuGetErrorName");
  find(f.cuGetErrorString, "cuGetErrorString");
  find(f.cuInit, "cuInit");
  find(f.cuDriverGetVersion, "cuDriverGetVersion");
  if (missing.empty()) {
    if (auto read = check(f.cuDriverGetVersion(&version_), "cuDriverGetVersion"); !read) return read;
    if (version_ < kOldestVersion)
      return Error{.message = "the driver supports CUDA " + version_text(version_) + ", at least " +
                              version_text(kOldestVersion) + " is needed",
                   .path = path};
  }
  find(f.cuDeviceGetCount, "cuDeviceGetCount");
  find(f.cuDeviceGet, "cuDeviceGet");
  find(f.cuDeviceGetName, "cuDeviceGetName");
  find(f.cuDeviceGetAttribute, "cuDeviceGetAttribute");
  find(f.cuDeviceTotalMem_v2, "cuDeviceTotalMem_v2");
  find(f.cuDeviceCanAccessPeer, "cuDeviceCanAccessPeer");
  find(f.cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
  find(f.cuDevicePrimaryCtxRelease_v2, "cuDevicePrimaryCtxRelease_v2");
  find(f.cuCtxSetCurrent, "cuCtxSetCurrent");
  find(f.cuCtxEnablePeerAccess, "cuCtxEnablePeerAccess");
  find(f.cuModuleLoadDataEx, "cuModuleLoadDataEx");
  find(f.cuModuleUnload, "cuModuleUnload");
  find(f.cuModuleGetFunction, "cuModuleGetFunction");
  find(f.cuFuncSetAttribute, "cuFuncSetAttribute");
  find(f.cuMemAlloc_v2, "cuMemAlloc_v2");
  find(f.cuMemFree_v2, "cuMemFree_v2");
  find(f.cuMemcpyHtoD_v2, "cuMemcpyHtoD_v2");
  find(f.cuMemcpyDtoH_v2, "cuMemcpyDtoH_v2");
  find(f.cuMemsetD32_v2, "cuMemsetD32_v2");
  find(f.cuStreamCreate, "cuStreamCreate");
  find(f.cuStreamDestroy_v2, "cuStreamDestroy_v2");
  find(f.cuStreamSynchronize, "cuStreamSynchronize");
  find(f.cuEventCreate, "cuEventCreate");
  find(f.cuEventDestroy_v2, "cuEventDestroy_v2");
  find(f.cuEventRecord, "cuEventRecord");
  find(f.cuEventElapsedTime, "cuEventElapsedTime");
  find(f.cuLaunchKernelEx, "cuLaunchKernelEx");
  if (!missing.empty())
    return Error{.message = "the driver has no '" + missing + "': it is no CUDA driver, or older than CUDA " +
                            version_text(kOldestVersion),
                 .path = path};
  find(f.cuTensorMapEncodeTiled, "cuTensorMapEncodeTiled");  // may be missing
  return {};
}

Expected<void> CudaDriver::initialise() {
  if (auto done = check(functions_.cuInit(0), "cuInit"); !done) return done;
  if (auto done = check(functions_.cuDeviceGetCount(&devices_), "cuDeviceGetCount"); !done) return done;
  if (devices_ > 0) return {};
  return Error{.message = "the CUDA driver sees no GPU",
               .hint = "measure needs an NVIDIA GPU; 'run' simulates the same scenario"};
}

std::string CudaDriver::version() const { return version_text(version_); }

Expected<void> CudaDriver::check(cuda::Result result, std::string_view call) const {
  if (result == cuda::kSuccess) return {};
  const char *name = nullptr, *description = nullptr;
  const bool named = functions_.cuGetErrorName(result, &name) == cuda::kSuccess && name != nullptr;
  const bool described =
      functions_.cuGetErrorString(result, &description) == cuda::kSuccess && description != nullptr;
  Error error{.message =
                  std::string(call) + " failed: " + (named ? name : "error " + std::to_string(result))};
  if (described) error.message += " (" + std::string(description) + ')';
  return error;
}

}  // namespace ptxwire::sim
