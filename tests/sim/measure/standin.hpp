// The stand-in driver with its settings, for the tests of this folder.
#pragma once

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/measure/gpu_run.hpp"
#include "sim/workload/run.hpp"

namespace ptxwire::sim::test {

/// Sets the stand-in's variables for the life of the object.
class Standin {
 public:
  Standin(std::initializer_list<std::pair<const char*, std::string>> settings = {}) {
    for (const auto& [name, value] : settings) {
      names_.push_back(std::string("PTXWIRE_STANDIN_") + name);
      setenv(names_.back().c_str(), value.c_str(), 1);
    }
  }
  ~Standin() {
    for (const std::string& name : names_) unsetenv(name.c_str());
  }
  Standin(const Standin&) = delete;
  Standin& operator=(const Standin&) = delete;

  static Expected<std::shared_ptr<const CudaDriver>> open() {
    return CudaDriver::open(PTXWIRE_STANDIN_DRIVER);
  }

 private:
  std::vector<std::string> names_;
};

inline Scenario scenario_named(const std::string& name, const std::vector<std::string>& settings = {}) {
  auto scenario = load_scenario(std::string(PTXWIRE_SOURCE_DIR) + "/traces/scenarios/" + name + ".toml");
  if (!scenario) FAIL(scenario.error().to_string());
  for (const std::string& setting : settings)
    if (const auto set = apply_override(*scenario, setting); !set) FAIL(set.error().to_string());
  return *scenario;
}

/// A chase through 4 KiB in L1 on the machine that the stand-in has.
inline Scenario small_scenario() {
  return scenario_named("micro_chase_l1", {"machine=h800-node", "values.footprint=4 KiB", "values.warm=32",
                                           "values.accesses=64"});
}

inline std::string error_of(const Scenario& scenario, const GpuRunOptions& options = {.repeats = 1}) {
  const auto driver = Standin::open();
  if (!driver) return driver.error().to_string();
  const auto result = run_on_gpu(scenario, **driver, options);
  return result ? "" : result.error().to_string();
}

}  // namespace ptxwire::sim::test
