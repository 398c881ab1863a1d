// A CUDA driver of ours for tests: the entry points that sim/measure uses, over a simulated cluster. Loaded
// with dlopen in place of libcuda.so.1; what it does is set through the environment, read by cuInit:
//
//   PTXWIRE_STANDIN_MACHINE   path of the machine file whose GPUs it has (default: h800-node beside the
//   sources) PTXWIRE_STANDIN_DEVICES   how many of them (default 2) PTXWIRE_STANDIN_VERSION   of the driver
//   (default 12040) PTXWIRE_STANDIN_FAIL      "CALL" or "CALL:N": this call fails, every time or the N-th
//   time PTXWIRE_STANDIN_CORRUPT   "1": a bit of what is read back is wrong PTXWIRE_STANDIN_LOG       path of
//   a file that gets the name of every call
//
// Kernels run in the emulator with full timing, when their stream is waited for; events are in simulated
// time.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ptx_frontend/frontend.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/measure/cuda_abi.hpp"
#include "sim/memory/tensor_map.hpp"

namespace {

using namespace ptxwire;       // NOLINT(google-build-using-namespace): a library of its own
using namespace ptxwire::sim;  // NOLINT(google-build-using-namespace)

constexpr cuda::Result kInvalidValue = 1, kOutOfMemory = 2, kInvalidPtx = 218, kNotFound = 500,
                       kLaunchFailed = 719;
constexpr int kDefaultVersion = 12040;

std::string environment(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

struct Driver {
  std::unique_ptr<Cluster> cluster;
  models::Machine machine;
  uint32_t devices = 0;
  uint32_t current = 0;
  std::map<std::string, int> calls;
  std::vector<std::shared_ptr<const ptx::Program>> programs;  ///< handle n is module n - 1
  struct Kernel {
    uint32_t module;
    std::string name;
  };
  std::vector<Kernel> kernels;
  std::vector<StreamId> streams;
  std::vector<EventId> events;
  bool is_dirty = false;  ///< something is enqueued
};
Driver& driver() {
  static Driver instance;
  return instance;
}

/// Notes the call; true if it is to fail now.
bool fails(const char* call) {
  const int count = ++driver().calls[call];
  if (const std::string log = environment("PTXWIRE_STANDIN_LOG", ""); !log.empty())
    std::ofstream(log, std::ios::app) << call << '\n';
  const std::string wanted = environment("PTXWIRE_STANDIN_FAIL", "");
  const size_t colon = std::min(wanted.find(':'), wanted.size());
  if (wanted.substr(0, colon) != call) return false;
  return colon == wanted.size() || std::stoi(wanted.substr(colon + 1)) == count;
}

/// Handles are numbers from 1 on.
template <typename Handle>
Handle handle_of(size_t number) {
  return reinterpret_cast<Handle>(number);
}
template <typename Handle>
size_t number_of(Handle handle) {
  return reinterpret_cast<size_t>(handle);
}

cuda::Result run_enqueued() {
  if (!driver().is_dirty) return cuda::kSuccess;
  driver().is_dirty = false;
  return driver().cluster->run({.threads = 1}) ? cuda::kSuccess : kLaunchFailed;
}

}  // namespace

extern "C" {

cuda::Result cuGetErrorName(cuda::Result result, const char** name) {
  switch (result) {
    case cuda::kSuccess:
      *name = "CUDA_SUCCESS";
      return cuda::kSuccess;
    case kInvalidValue:
      *name = "CUDA_ERROR_INVALID_VALUE";
      return cuda::kSuccess;
    case kOutOfMemory:
      *name = "CUDA_ERROR_OUT_OF_MEMORY";
      return cuda::kSuccess;
    case kInvalidPtx:
      *name = "CUDA_ERROR_INVALID_PTX";
      return cuda::kSuccess;
    case kNotFound:
      *name = "CUDA_ERROR_NOT_FOUND";
      return cuda::kSuccess;
    case kLaunchFailed:
      *name = "CUDA_ERROR_LAUNCH_FAILED";
      return cuda::kSuccess;
    default:
      *name = nullptr;
      return kInvalidValue;
  }
}

cuda::Result cuGetErrorString(cuda::Result result, const char** text) {
  *text = result == kOutOfMemory ? "out of memory" : "as the stand-in was told";
  return cuda::kSuccess;
}

cuda::Result cuDriverGetVersion(int* version) {
  if (fails("cuDriverGetVersion")) return kInvalidValue;
  *version = std::stoi(environment("PTXWIRE_STANDIN_VERSION", std::to_string(kDefaultVersion)));
  return cuda::kSuccess;
}

cuda::Result cuInit(unsigned) {
  driver() = {};
  if (fails("cuInit")) return kInvalidValue;
  const std::string path =
      environment("PTXWIRE_STANDIN_MACHINE", PTXWIRE_SOURCE_DIR "/models/machines/h800-node.toml");
  auto machine = models::load_machine(path);
  if (!machine) return kInvalidValue;
  driver().machine = *std::move(machine);
  driver().devices = static_cast<uint32_t>(std::stoul(environment("PTXWIRE_STANDIN_DEVICES", "2")));
  if (driver().devices == 0) return cuda::kSuccess;
  auto cluster = Cluster::create(driver().machine, driver().devices);
  if (!cluster) return kInvalidValue;
  driver().cluster = *std::move(cluster);
  return cuda::kSuccess;
}

cuda::Result cuDeviceGetCount(int* count) {
  if (fails("cuDeviceGetCount")) return kInvalidValue;
  *count = static_cast<int>(driver().devices);
  return cuda::kSuccess;
}

cuda::Result cuDeviceGet(cuda::Device* device, int ordinal) {
  if (fails("cuDeviceGet") || ordinal < 0 || static_cast<uint32_t>(ordinal) >= driver().devices)
    return kInvalidValue;
  *device = ordinal;
  return cuda::kSuccess;
}

cuda::Result cuDeviceGetName(char* name, int bytes, cuda::Device) {
  if (fails("cuDeviceGetName")) return kInvalidValue;
  const std::string text = "Stand-in " + driver().machine.name;
  std::strncpy(name, text.c_str(), static_cast<size_t>(bytes) - 1);
  name[bytes - 1] = '\0';
  return cuda::kSuccess;
}

cuda::Result cuDeviceGetAttribute(int* value, int attribute, cuda::Device) {
  if (fails("cuDeviceGetAttribute")) return kInvalidValue;
  const models::Machine& machine = driver().machine;
  switch (attribute) {
    case cuda::kClockRate:
      *value = static_cast<int>(machine.sm.clock_hz / 1e3);
      return cuda::kSuccess;
    case cuda::kMultiprocessorCount:
      *value = static_cast<int>(machine.sm.count);
      return cuda::kSuccess;
    case cuda::kL2CacheBytes:
      *value = static_cast<int>(machine.l2.bytes);
      return cuda::kSuccess;
    case cuda::kComputeCapabilityMajor:
      *value = std::stoi(environment("PTXWIRE_STANDIN_SM", "90")) / 10;
      return cuda::kSuccess;
    case cuda::kComputeCapabilityMinor:
      *value = std::stoi(environment("PTXWIRE_STANDIN_SM", "90")) % 10;
      return cuda::kSuccess;
    default:
      return kInvalidValue;
  }
}

cuda::Result cuDeviceTotalMem_v2(size_t* bytes, cuda::Device) {
  if (fails("cuDeviceTotalMem_v2")) return kInvalidValue;
  *bytes = driver().machine.hbm.bytes;
  return cuda::kSuccess;
}

cuda::Result cuDeviceCanAccessPeer(int* can, cuda::Device, cuda::Device) {
  if (fails("cuDeviceCanAccessPeer")) return kInvalidValue;
  *can = environment("PTXWIRE_STANDIN_PEERS", "1") == "1" ? 1 : 0;
  return cuda::kSuccess;
}

cuda::Result cuDevicePrimaryCtxRetain(cuda::Context* context, cuda::Device device) {
  if (fails("cuDevicePrimaryCtxRetain")) return kOutOfMemory;
  *context = handle_of<cuda::Context>(static_cast<size_t>(device) + 1);
  return cuda::kSuccess;
}

cuda::Result cuDevicePrimaryCtxRelease_v2(cuda::Device) {
  return fails("cuDevicePrimaryCtxRelease_v2") ? kInvalidValue : cuda::kSuccess;
}

cuda::Result cuCtxSetCurrent(cuda::Context context) {
  if (fails("cuCtxSetCurrent")) return kInvalidValue;
  driver().current = static_cast<uint32_t>(number_of(context) - 1);
  return cuda::kSuccess;
}

cuda::Result cuCtxEnablePeerAccess(cuda::Context, unsigned) {
  return fails("cuCtxEnablePeerAccess") ? kInvalidValue : cuda::kSuccess;
}

cuda::Result cuModuleLoadDataEx(cuda::Module* module, const void* image, unsigned options, int* keys,
                                void** values) {
  char* log = nullptr;
  size_t log_bytes = 0;
  for (unsigned i = 0; i < options; ++i) {
    if (keys[i] == cuda::kErrorLogBuffer) log = static_cast<char*>(values[i]);
    if (keys[i] == cuda::kErrorLogBufferBytes) log_bytes = number_of(values[i]);
  }
  const auto refuse = [&](const std::string& why) {
    if (log != nullptr && log_bytes != 0) {
      std::strncpy(log, why.c_str(), log_bytes - 1);
      log[log_bytes - 1] = '\0';
    }
    return kInvalidPtx;
  };
  if (fails("cuModuleLoadDataEx")) return refuse("ptxas application ptx input, line 7; fatal: as told\n");
  ptx::Diagnostics diagnostics;
  ptx::Module parsed =
      ptx::parse(std::make_shared<const std::string>(static_cast<const char*>(image)), "image", diagnostics);
  if (!diagnostics.has_errors()) ptx::check(parsed, diagnostics);
  if (diagnostics.has_errors()) return refuse("ptxas application ptx input: errors in the PTX\n");
  auto program = ptx::link_and_lower({&parsed});
  if (!program) return refuse(program.error().to_string());
  driver().programs.push_back(std::make_shared<const ptx::Program>(*std::move(program)));
  const auto loaded = driver().cluster->load(driver().programs.back());
  if (!loaded) return refuse(loaded.error().to_string());
  *module = handle_of<cuda::Module>(*loaded + 1);
  return cuda::kSuccess;
}

cuda::Result cuModuleUnload(cuda::Module) { return fails("cuModuleUnload") ? kInvalidValue : cuda::kSuccess; }

cuda::Result cuModuleGetFunction(cuda::Function* function, cuda::Module module, const char* name) {
  if (fails("cuModuleGetFunction")) return kNotFound;
  const auto number = static_cast<uint32_t>(number_of(module) - 1);
  if (driver().programs[number]->find_entry(name) == UINT32_MAX) return kNotFound;
  driver().kernels.push_back({number, name});
  *function = handle_of<cuda::Function>(driver().kernels.size());
  return cuda::kSuccess;
}

cuda::Result cuFuncSetAttribute(cuda::Function, int, int) {
  return fails("cuFuncSetAttribute") ? kInvalidValue : cuda::kSuccess;
}

cuda::Result cuMemAlloc_v2(cuda::DevicePointer* address, size_t bytes) {
  if (fails("cuMemAlloc_v2")) return kOutOfMemory;
  const auto allocated = driver().cluster->allocate(GpuId{driver().current}, bytes, "stand-in");
  if (!allocated) return kOutOfMemory;
  *address = *allocated;
  return cuda::kSuccess;
}

cuda::Result cuMemFree_v2(cuda::DevicePointer address) {
  if (fails("cuMemFree_v2")) return kInvalidValue;
  return driver().cluster->free(address) ? cuda::kSuccess : kInvalidValue;
}

cuda::Result cuMemcpyHtoD_v2(cuda::DevicePointer to, const void* from, size_t bytes) {
  if (fails("cuMemcpyHtoD_v2")) return kInvalidValue;
  return driver().cluster->write(to, {static_cast<const uint8_t*>(from), bytes}) ? cuda::kSuccess
                                                                                 : kInvalidValue;
}

cuda::Result cuMemcpyDtoH_v2(void* to, cuda::DevicePointer from, size_t bytes) {
  if (fails("cuMemcpyDtoH_v2")) return kInvalidValue;
  if (!driver().cluster->read(from, {static_cast<uint8_t*>(to), bytes})) return kInvalidValue;
  // Word 6 of a record is its checksum; in data it is a word as any other.
  if (environment("PTXWIRE_STANDIN_CORRUPT", "") == "1" && bytes >= 28) static_cast<uint8_t*>(to)[24] ^= 1U;
  return cuda::kSuccess;
}

cuda::Result cuMemsetD32_v2(cuda::DevicePointer address, unsigned value, size_t words) {
  if (fails("cuMemsetD32_v2")) return kInvalidValue;
  const std::vector<uint32_t> content(words, value);
  return driver().cluster->write(address, {reinterpret_cast<const uint8_t*>(content.data()), words * 4})
             ? cuda::kSuccess
             : kInvalidValue;
}

cuda::Result cuStreamCreate(cuda::Stream* stream, unsigned) {
  if (fails("cuStreamCreate")) return kOutOfMemory;
  driver().streams.push_back(driver().cluster->create_stream(GpuId{driver().current}));
  *stream = handle_of<cuda::Stream>(driver().streams.size());
  return cuda::kSuccess;
}

cuda::Result cuStreamDestroy_v2(cuda::Stream) {
  return fails("cuStreamDestroy_v2") ? kInvalidValue : cuda::kSuccess;
}

cuda::Result cuStreamSynchronize(cuda::Stream) {
  return fails("cuStreamSynchronize") ? kLaunchFailed : run_enqueued();
}

cuda::Result cuEventCreate(cuda::Event* event, unsigned) {
  if (fails("cuEventCreate")) return kOutOfMemory;
  driver().events.push_back(0);
  *event = handle_of<cuda::Event>(driver().events.size());
  return cuda::kSuccess;
}

cuda::Result cuEventDestroy_v2(cuda::Event) {
  return fails("cuEventDestroy_v2") ? kInvalidValue : cuda::kSuccess;
}

cuda::Result cuEventRecord(cuda::Event event, cuda::Stream stream) {
  if (fails("cuEventRecord")) return kInvalidValue;
  driver().events[number_of(event) - 1] = driver().cluster->record(driver().streams[number_of(stream) - 1]);
  driver().is_dirty = true;
  return cuda::kSuccess;
}

cuda::Result cuEventElapsedTime(float* ms, cuda::Event from, cuda::Event to) {
  if (fails("cuEventElapsedTime")) return kInvalidValue;
  const Picoseconds begin = driver().cluster->event_time(driver().events[number_of(from) - 1]);
  const Picoseconds end = driver().cluster->event_time(driver().events[number_of(to) - 1]);
  *ms = static_cast<float>((end - begin).us() / 1e3);
  return cuda::kSuccess;
}

cuda::Result cuLaunchKernelEx(const cuda::LaunchConfig* config, cuda::Function function, void**,
                              void** extra) {
  if (fails("cuLaunchKernelEx")) return kInvalidValue;
  const Driver::Kernel& kernel = driver().kernels[number_of(function) - 1];
  LaunchConfig launch{.module = kernel.module,
                      .kernel = kernel.name,
                      .grid = {config->grid_x, config->grid_y, config->grid_z},
                      .block = {config->block_x, config->block_y, config->block_z},
                      .dynamic_shared_bytes = config->dynamic_shared_bytes};
  for (unsigned i = 0; i < config->attribute_count; ++i)
    if (config->attributes[i].id == cuda::LaunchAttribute::cluster_dimension)
      launch.cluster = config->attributes[i].value.cluster.x;
  const uint8_t* block = nullptr;
  size_t bytes = 0;
  for (void** key = extra; number_of(*key) != cuda::kLaunchParamEnd; key += 2) {
    if (number_of(key[0]) == cuda::kLaunchParamBufferPointer) block = static_cast<const uint8_t*>(key[1]);
    if (number_of(key[0]) == cuda::kLaunchParamBufferBytes) bytes = *static_cast<const size_t*>(key[1]);
  }
  launch.parameters.assign(block, block + bytes);
  driver().is_dirty = true;
  return driver().cluster->launch(driver().streams[number_of(config->stream) - 1], std::move(launch))
             ? cuda::kSuccess
             : kInvalidValue;
}

cuda::Result cuTensorMapEncodeTiled(void* map, int type, uint32_t rank, void* address, const uint64_t* dims,
                                    const uint64_t* strides, const uint32_t* box,
                                    const uint32_t* element_strides, int interleave, int swizzle,
                                    int promotion, int fill) {
  if (fails("cuTensorMapEncodeTiled") || interleave != 0 || rank == 0 || rank > kMaxTensorRank)
    return kInvalidValue;
  TensorMapFields fields{.type = static_cast<TensorType>(type),
                         .rank = rank,
                         .address = number_of(address),
                         .swizzle = static_cast<TensorSwizzle>(swizzle),
                         .promotion = static_cast<TensorPromotion>(promotion),
                         .fill = static_cast<TensorFill>(fill)};
  std::copy_n(dims, rank, fields.dims.begin());
  std::copy_n(strides, rank - 1, fields.strides.begin() + 1);
  std::copy_n(box, rank, fields.box.begin());
  std::copy_n(element_strides, rank, fields.element_strides.begin());
  const auto encoded = encode_tensor_map(fields);
  if (!encoded) return kInvalidValue;
  std::memcpy(map, encoded->bytes.data(), kTensorMapBytes);
  return cuda::kSuccess;
}

}  // extern "C"
