// Scenarios on the stand-in driver, whose GPUs are the emulator's: the same figures as a run, every failure
// by name.
#include "sim/measure/gpu_run.hpp"

#include "tests/sim/measure/standin.hpp"

using namespace ptxwire;             // NOLINT(google-build-using-namespace)
using namespace ptxwire::sim;        // NOLINT(google-build-using-namespace)
using namespace ptxwire::sim::test;  // NOLINT(google-build-using-namespace)
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

GpuRunResult measured(const Scenario& scenario, const GpuRunOptions& options) {
  const auto driver = Standin::open();
  if (!driver) FAIL(driver.error().to_string());
  auto result = run_on_gpu(scenario, **driver, options);
  if (!result) FAIL(result.error().to_string());
  return *std::move(result);
}

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("measure: a GPU that is the emulator gives the figures of a run", "[contract]") {
  const Standin standin;
  for (Scenario scenario :
       {small_scenario(),
        scenario_named("micro_cluster_ring", {"machine=h800-node"}),   // clusters, shared memory
        scenario_named("micro_chase_peer", {"values.accesses=64"}),    // two GPUs
        scenario_named("micro_stream_write_peer", {"values.ctas=2"}),  // memory compared word by word
        scenario_named("micro_flag", {"values.rounds=8"})}) {          // two launches at once
    CAPTURE(scenario.name);
    scenario.calls = 3;  // the last of as many calls: L2 holds what they left
    const auto simulated = run_scenario(scenario, {.threads = 1});
    if (!simulated) FAIL(simulated.error().to_string());
    REQUIRE(simulated->result == ResultState::correct);
    const GpuRunResult result = measured(scenario, {.repeats = 2});
    CHECK(result.mismatch.empty());
    CHECK(result.checked);
    CHECK(result.gpu == "Stand-in h800-node");
    CHECK(result.driver == "12.4");
    REQUIRE_FALSE(result.figures.empty());
    CHECK(result.figures.front().name == scenario.figure);
    if (scenario.figure.find("gb_per_s") == std::string::npos)  // that one includes the launch here
      CHECK(result.figures.front().value.median == Approx(simulated->figures.front().value).epsilon(0.02));
    CHECK(result.time_us.median == Approx(simulated->time_us).epsilon(0.05));
  }
}

TEST_CASE("measure: every call starts from the scenario's memory, and one does not count", "[contract]") {
  const std::string log =
      std::filesystem::temp_directory_path() / ("ptxwire_calls_" + std::to_string(getpid()));
  std::filesystem::remove(log);
  const Standin standin({{"LOG", log}});
  measured(small_scenario(), {.repeats = 3});
  const std::vector<std::string> calls = lines_of(log);
  std::filesystem::remove(log);
  const auto count = [&](const std::string& name) { return std::count(calls.begin(), calls.end(), name); };
  CHECK(count("cuLaunchKernelEx") == 4);
  CHECK(count("cuMemcpyHtoD_v2") == 4);  // the ring
  CHECK(count("cuMemsetD32_v2") == 4);   // the records
  CHECK(count("cuEventElapsedTime") == 4);
  // All is given back.
  CHECK(count("cuMemAlloc_v2") == count("cuMemFree_v2"));
  CHECK(count("cuStreamCreate") == count("cuStreamDestroy_v2"));
  CHECK(count("cuEventCreate") == count("cuEventDestroy_v2"));
  CHECK(count("cuModuleUnload") == 1);
  CHECK(count("cuDevicePrimaryCtxRelease_v2") == 1);
}

TEST_CASE("measure: every failing call is named with the driver's error", "[contract]") {
  const auto fails = [](const char* call, const std::string& error, const Scenario& scenario) {
    CAPTURE(call);
    const Standin standin({{"FAIL", call}});
    std::string shown = call;
    if (shown.ends_with("_v2")) shown.resize(shown.size() - 3);
    CHECK_THAT(error_of(scenario), Contains(shown) && Contains(" failed: " + error));
  };
  for (const char* call :
       {"cuDriverGetVersion", "cuInit", "cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName",
        "cuDeviceGetAttribute", "cuCtxSetCurrent", "cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2", "cuMemsetD32_v2",
        "cuEventRecord", "cuEventElapsedTime", "cuLaunchKernelEx"})
    fails(call, "CUDA_ERROR_INVALID_VALUE", small_scenario());
  for (const char* call : {"cuDevicePrimaryCtxRetain", "cuMemAlloc_v2", "cuStreamCreate", "cuEventCreate"})
    fails(call, "CUDA_ERROR_OUT_OF_MEMORY (out of memory)", small_scenario());
  fails("cuModuleGetFunction", "CUDA_ERROR_NOT_FOUND", small_scenario());
  fails("cuStreamSynchronize", "CUDA_ERROR_LAUNCH_FAILED", small_scenario());
  fails("cuModuleLoadDataEx", "CUDA_ERROR_INVALID_PTX", small_scenario());
  const Scenario peer = scenario_named("micro_chase_peer", {"values.accesses=16"});
  fails("cuDeviceCanAccessPeer", "CUDA_ERROR_INVALID_VALUE", peer);
  fails("cuCtxEnablePeerAccess", "CUDA_ERROR_INVALID_VALUE", peer);
  fails("cuFuncSetAttribute", "CUDA_ERROR_INVALID_VALUE", scenario_named("micro_bulk_load"));
}

TEST_CASE("measure: tensor maps are built by the driver", "[contract]") {
  const Scenario gemm =
      scenario_named("micro_gemm", {"values.ctas=2", "values.m=256", "values.n=256", "values.k=64"});
  {
    const Standin standin;
    const GpuRunResult result = measured(gemm, {.repeats = 1});
    CHECK(result.mismatch.empty());
    CHECK(result.figures.front().name == "tflop_per_s");
  }
  const Standin standin({{"FAIL", "cuTensorMapEncodeTiled"}});
  CHECK_THAT(error_of(gemm), Contains("cuTensorMapEncodeTiled failed: CUDA_ERROR_INVALID_VALUE"));
}

TEST_CASE("measure: a later call of the same kind may fail as well", "[contract]") {
  const Standin standin({{"FAIL", "cuLaunchKernelEx:3"}});
  CHECK_THAT(error_of(small_scenario(), {.repeats = 4}), Contains("cuLaunchKernelEx failed"));
  CHECK(error_of(small_scenario(), {.repeats = 1}).empty());
}

TEST_CASE("measure: the driver's log of refused PTX is shown", "[contract]") {
  const Standin standin({{"FAIL", "cuModuleLoadDataEx"}});
  CHECK_THAT(error_of(small_scenario()),
             Contains("kernels/micro/chase.ptx") && Contains("ptx input, line 7; fatal: as told"));
}

TEST_CASE("measure: GPUs that will not do are refused before anything runs", "[contract]") {
  {
    const Standin standin({{"VERSION", "11040"}});
    CHECK_THAT(error_of(small_scenario()), Contains("supports CUDA 11.4, at least 11.8 is needed"));
  }
  {
    const Standin standin({{"DEVICES", "0"}});
    CHECK_THAT(error_of(small_scenario()), Contains("sees no GPU"));
  }
  {
    const Standin standin({{"DEVICES", "1"}});
    CHECK_THAT(error_of(scenario_named("micro_chase_peer")),
               Contains("2 GPUs from device 0 on, the driver sees 1"));
    CHECK_THAT(error_of(small_scenario(), {.first_device = 1, .repeats = 1}), Contains("from device 1 on"));
  }
  {
    const Standin standin({{"PEERS", "0"}});
    CHECK_THAT(error_of(scenario_named("micro_chase_peer")), Contains("cannot reach the memory of device 1"));
  }
  {
    const Standin standin({{"SM", "80"}});
    CHECK_THAT(error_of(small_scenario()), Contains("(sm_80), the kernels are for sm_90a"));
  }
  const Standin standin;
  CHECK_THAT(error_of(scenario_named("h800_intranode_dispatch_ep8")),
             Contains("kernel \"intranode_dispatch\", measure runs those of kernel \"micro\""));
  const auto missing = CudaDriver::open("no-such-driver.so");
  REQUIRE_FALSE(missing.has_value());
  CHECK_THAT(missing.error().to_string(), StartsWith("error: no CUDA driver: no-such-driver.so"));
  const auto other = CudaDriver::open("libm.so.6");  // a library, but no driver
  REQUIRE_FALSE(other.has_value());
  CHECK_THAT(other.error().to_string(), Contains("has no 'cuGetErrorName'"));
}

TEST_CASE("measure: a wrong result is found", "[contract]") {
  const Standin standin({{"CORRUPT", "1"}});
  const GpuRunResult result = measured(small_scenario(), {.repeats = 1});
  CHECK_THAT(result.mismatch, StartsWith("checksum: found "));
  const GpuRunResult unchecked = measured(small_scenario(), {.repeats = 1, .check_results = false});
  CHECK(unchecked.mismatch.empty());
  CHECK_FALSE(unchecked.checked);
}

TEST_CASE("measure: the GPU is compared with the machine", "[contract]") {
  const Standin standin;
  const auto driver = Standin::open();
  REQUIRE(driver.has_value());
  const auto difference = [&](const std::string& name) {
    Scenario scenario = small_scenario();
    scenario.machine = name;
    const auto machine = scenario_machine(scenario);
    if (!machine) FAIL(machine.error().to_string());
    const auto text = difference_from_machine(**driver, 0, *machine);
    return text ? *text : text.error().to_string();
  };
  CHECK(difference("h800-node").empty());
  CHECK_THAT(difference("h800-pcie"), Contains("132 SMs instead of 114"));
}

TEST_CASE("measure: spread of an odd and an even number of calls", "[analytic]") {
  const Spread odd = spread_of({3, 1, 2});
  CHECK(odd.median == 2);
  CHECK(odd.least == 1);
  CHECK(odd.most == 3);
  CHECK(spread_of({4, 1, 2, 3}).median == 2.5);
}
