// The runner that simulates: scenario files through sim/workload.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "sim/study/runner.hpp"
#include "sim/workload/run.hpp"
#include "sim/workload/scenario.hpp"

namespace ptxwire::sim {

/// The scenario of a job: its file, found by name or path, with machine and settings as the job has them;
/// valid.
Expected<Scenario> scenario_of(const Job& job);

class ScenarioRunner final : public Runner {
 public:
  /// `build_id` names the program that simulates, so that results of another build are not taken for its own.
  explicit ScenarioRunner(std::string build_id) : build_id_(std::move(build_id)) {}

  /// A hash of the program, every setting of the scenario, the content of every file it reads (PTX, machine,
  /// topology) and whether results are compared. The scenario's own name and path are not part of it.
  Expected<std::string> fingerprint(const Job& job) override;
  Expected<Outcome> run(const Job& job, const JobControl& control) override;

 private:
  Expected<std::string> fingerprint_of(const Job& job, const Scenario& scenario) const;

  std::string build_id_;
  /// What runs gave beside what they were for (ScenarioResult::other), by fingerprint.
  std::map<std::string, std::shared_ptr<const ScenarioResult>> by_products_;
};

}  // namespace ptxwire::sim
