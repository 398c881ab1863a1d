// A scenario run to its end, with every value as it has to be.
#pragma once

#include <catch2/catch.hpp>
#include <optional>

#include "sim/workload/run.hpp"

namespace ptxwire::sim::test {

inline ScenarioResult run(const Scenario& scenario, uint32_t threads = 1,
                          std::optional<bool> spare_registers = {}) {
  for (const auto& [key, value] : scenario_settings(scenario)) UNSCOPED_INFO(key << " = " << value);
  RunOptions options;
  options.max_time = models::microseconds(20000);
  options.threads = threads;
  options.spare_registers = spare_registers;
  auto result = run_scenario(scenario, options);
  if (!result) FAIL(result.error().to_string());
  INFO(result->first_mismatch);
  REQUIRE(result->result == ResultState::correct);
  return *result;
}

}  // namespace ptxwire::sim::test
