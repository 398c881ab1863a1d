#include "sim/measure/gpu_session.hpp"

#include <array>

namespace ptxwire::sim {

namespace {

constexpr int kHopper = 9;  ///< compute capability of the sm_90a code that our kernels are
constexpr uint32_t kPortableCluster = 8;
constexpr int kNoInterleave = 0;
constexpr size_t kLogBytes = 16384;

}  // namespace

GpuSession::~GpuSession() {
  const cuda::Functions& f = driver_.functions();
  for (Gpu& gpu : gpus_) {
    if (gpu.context == nullptr || f.cuCtxSetCurrent(gpu.context) != cuda::kSuccess) continue;
    for (const cuda::Event event : gpu.events) f.cuEventDestroy_v2(event);
    for (const cuda::Stream stream : gpu.streams) f.cuStreamDestroy_v2(stream);
    for (const cuda::DevicePointer address : gpu.memory) f.cuMemFree_v2(address);
    if (gpu.module != nullptr) f.cuModuleUnload(gpu.module);
    f.cuDevicePrimaryCtxRelease_v2(gpu.device);
  }
}

Expected<void> GpuSession::open(uint32_t first, uint32_t count) {
  const cuda::Functions& f = driver_.functions();
  if (driver_.devices() < 0 || first + count > static_cast<uint32_t>(driver_.devices()))
    return Error{.message = "the scenario runs on " + std::to_string(count) +
                            (count == 1 ? " GPU" : " GPUs") + " from device " + std::to_string(first) +
                            " on, the driver sees " + std::to_string(driver_.devices())};
  for (uint32_t i = 0; i < count; ++i) {
    gpus_.emplace_back();
    Gpu& gpu = gpus_.back();
    if (auto done = driver_.check(f.cuDeviceGet(&gpu.device, static_cast<int>(first + i)), "cuDeviceGet");
        !done)
      return done;
    const auto major = attribute(i, cuda::kComputeCapabilityMajor);
    const auto minor = attribute(i, cuda::kComputeCapabilityMinor);
    if (!major || !minor) return major ? minor.error() : major.error();
    if (*major != kHopper) {
      const auto known = name(i);
      return Error{.message = "device " + std::to_string(first + i) + " is " + (known ? *known : "a GPU") +
                              " (sm_" + std::to_string(*major) + std::to_string(*minor) +
                              "), the kernels are for sm_90a (Hopper)"};
    }
    if (auto done =
            driver_.check(f.cuDevicePrimaryCtxRetain(&gpu.context, gpu.device), "cuDevicePrimaryCtxRetain");
        !done)
      return done;
  }
  for (uint32_t i = 0; i < count; ++i)
    for (uint32_t j = 0; j < count; ++j) {
      if (i == j) continue;
      int can = 0;
      if (auto done = driver_.check(f.cuDeviceCanAccessPeer(&can, gpus_[i].device, gpus_[j].device),
                                    "cuDeviceCanAccessPeer");
          !done)
        return done;
      if (can == 0)
        return Error{.message = "device " + std::to_string(first + i) +
                                " cannot reach the memory of device " + std::to_string(first + j)};
      if (auto done = enter(i); !done) return done;
      if (auto done = driver_.check(f.cuCtxEnablePeerAccess(gpus_[j].context, 0), "cuCtxEnablePeerAccess");
          !done)
        return done;
    }
  return {};
}

Expected<void> GpuSession::load(const std::string& ptx, const std::string& path, const std::string& entry) {
  const cuda::Functions& f = driver_.functions();
  for (uint32_t i = 0; i < gpus_.size(); ++i) {
    if (auto done = enter(i); !done) return done;
    std::string log(kLogBytes, '\0');
    std::array<int, 2> keys = {cuda::kErrorLogBuffer, cuda::kErrorLogBufferBytes};
    std::array<void*, 2> values = {log.data(), reinterpret_cast<void*>(kLogBytes)};
    const cuda::Result result =
        f.cuModuleLoadDataEx(&gpus_[i].module, ptx.c_str(), keys.size(), keys.data(), values.data());
    if (auto done = driver_.check(result, "cuModuleLoadDataEx"); !done) {
      gpus_[i].module = nullptr;
      Error error = done.error();
      error.path = path;
      log.resize(log.find('\0') == std::string::npos ? log.size() : log.find('\0'));
      while (!log.empty() && (log.back() == '\n' || log.back() == ' ')) log.pop_back();
      if (!log.empty()) error.message += "; the driver's log: " + log;
      return error;
    }
    if (auto done = driver_.check(f.cuModuleGetFunction(&gpus_[i].function, gpus_[i].module, entry.c_str()),
                                  "cuModuleGetFunction of '" + entry + "'");
        !done)
      return done;
  }
  return {};
}

Expected<void> GpuSession::allow(uint32_t cluster, uint32_t dynamic_shared_bytes) {
  const cuda::Functions& f = driver_.functions();
  for (uint32_t i = 0; i < gpus_.size(); ++i) {
    if (auto done = enter(i); !done) return done;
    const auto set = [&](cuda::FunctionAttribute attribute, uint32_t value) {
      return driver_.check(f.cuFuncSetAttribute(gpus_[i].function, attribute, static_cast<int>(value)),
                           "cuFuncSetAttribute");
    };
    if (dynamic_shared_bytes != 0)
      if (auto done = set(cuda::kMaxDynamicSharedBytes, dynamic_shared_bytes); !done) return done;
    if (cluster > kPortableCluster)
      if (auto done = set(cuda::kNonPortableClusterSizeAllowed, 1); !done) return done;
  }
  return {};
}

Expected<cuda::DevicePointer> GpuSession::allocate(uint32_t gpu, uint64_t bytes, const std::string& name) {
  if (auto done = enter(gpu); !done) return done.error();
  cuda::DevicePointer address = 0;
  if (auto done = driver_.check(driver_.functions().cuMemAlloc_v2(&address, bytes),
                                "cuMemAlloc of " + std::to_string(bytes) + " bytes for '" + name + "'");
      !done)
    return done.error();
  gpus_[gpu].memory.push_back(address);
  return address;
}

Expected<void> GpuSession::write(uint32_t gpu, cuda::DevicePointer address, std::span<const uint8_t> bytes) {
  if (auto done = enter(gpu); !done) return done;
  return driver_.check(driver_.functions().cuMemcpyHtoD_v2(address, bytes.data(), bytes.size()),
                       "cuMemcpyHtoD");
}

Expected<void> GpuSession::read(uint32_t gpu, cuda::DevicePointer address, std::span<uint8_t> bytes) {
  if (auto done = enter(gpu); !done) return done;
  return driver_.check(driver_.functions().cuMemcpyDtoH_v2(bytes.data(), address, bytes.size()),
                       "cuMemcpyDtoH");
}

Expected<void> GpuSession::clear(uint32_t gpu, cuda::DevicePointer address, uint64_t bytes) {
  if (auto done = enter(gpu); !done) return done;
  return driver_.check(driver_.functions().cuMemsetD32_v2(address, 0, bytes / 4), "cuMemsetD32");
}

Expected<cuda::Stream> GpuSession::create_stream(uint32_t gpu) {
  if (auto done = enter(gpu); !done) return done.error();
  cuda::Stream stream = nullptr;
  if (auto done = driver_.check(driver_.functions().cuStreamCreate(&stream, cuda::kStreamNonBlocking),
                                "cuStreamCreate");
      !done)
    return done.error();
  gpus_[gpu].streams.push_back(stream);
  return stream;
}

Expected<cuda::Event> GpuSession::create_event(uint32_t gpu) {
  if (auto done = enter(gpu); !done) return done.error();
  cuda::Event event = nullptr;
  if (auto done =
          driver_.check(driver_.functions().cuEventCreate(&event, cuda::kEventDefault), "cuEventCreate");
      !done)
    return done.error();
  gpus_[gpu].events.push_back(event);
  return event;
}

Expected<void> GpuSession::record(uint32_t gpu, cuda::Event event, cuda::Stream stream) {
  if (auto done = enter(gpu); !done) return done;
  return driver_.check(driver_.functions().cuEventRecord(event, stream), "cuEventRecord");
}

Expected<void> GpuSession::synchronize(uint32_t gpu, cuda::Stream stream) {
  if (auto done = enter(gpu); !done) return done;
  return driver_.check(driver_.functions().cuStreamSynchronize(stream), "cuStreamSynchronize");
}

Expected<double> GpuSession::elapsed_us(cuda::Event from, cuda::Event to) {
  float ms = 0;
  if (auto done = driver_.check(driver_.functions().cuEventElapsedTime(&ms, from, to), "cuEventElapsedTime");
      !done)
    return done.error();
  return static_cast<double>(ms) * 1e3;
}

Expected<void> GpuSession::launch(uint32_t gpu, const cuda::LaunchConfig& config,
                                  std::span<const uint8_t> parameters) {
  if (auto done = enter(gpu); !done) return done;
  size_t bytes = parameters.size();
  std::array<void*, 5> extra = {reinterpret_cast<void*>(cuda::kLaunchParamBufferPointer),
                                const_cast<uint8_t*>(parameters.data()),
                                reinterpret_cast<void*>(cuda::kLaunchParamBufferBytes), &bytes,
                                reinterpret_cast<void*>(cuda::kLaunchParamEnd)};
  return driver_.check(
      driver_.functions().cuLaunchKernelEx(&config, gpus_[gpu].function, nullptr, extra.data()),
      "cuLaunchKernelEx");
}

// Types, swizzles and promotions are numbered as the driver numbers them (sim/memory/tensor_map.hpp).
Expected<TensorMap> GpuSession::encode(const TensorMap& map) const {
  const auto fields = decode_tensor_map(map.bytes);
  if (!fields) return Error{.message = "the argument is no tensor map"};
  if (driver_.functions().cuTensorMapEncodeTiled == nullptr)
    return Error{.message = "the driver has no 'cuTensorMapEncodeTiled': tensor maps need CUDA 12.0"};
  alignas(kTensorMapAlign) TensorMap encoded;
  const cuda::Result result = driver_.functions().cuTensorMapEncodeTiled(
      encoded.bytes.data(), static_cast<int>(fields->type), fields->rank,
      reinterpret_cast<void*>(fields->address), fields->dims.data(), fields->strides.data() + 1,
      fields->box.data(), fields->element_strides.data(), kNoInterleave, static_cast<int>(fields->swizzle),
      static_cast<int>(fields->promotion), static_cast<int>(fields->fill));
  if (auto done = driver_.check(result, "cuTensorMapEncodeTiled"); !done) return done.error();
  return encoded;
}

Expected<int> GpuSession::attribute(uint32_t gpu, cuda::DeviceAttribute attribute) const {
  int value = 0;
  if (auto done =
          driver_.check(driver_.functions().cuDeviceGetAttribute(&value, attribute, gpus_[gpu].device),
                        "cuDeviceGetAttribute");
      !done)
    return done.error();
  return value;
}

Expected<std::string> GpuSession::name(uint32_t gpu) const {
  std::array<char, 256> text{};
  if (auto done = driver_.check(
          driver_.functions().cuDeviceGetName(text.data(), static_cast<int>(text.size()), gpus_[gpu].device),
          "cuDeviceGetName");
      !done)
    return done.error();
  return std::string(text.data());
}

Expected<void> GpuSession::enter(uint32_t gpu) {
  return driver_.check(driver_.functions().cuCtxSetCurrent(gpus_[gpu].context), "cuCtxSetCurrent");
}

}  // namespace ptxwire::sim
