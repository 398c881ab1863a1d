// A runner whose results are a function of the job, for tests of what surrounds a simulation.
#pragma once

#include <string>

#include "sim/study/runner.hpp"

namespace ptxwire::sim {

/// Predicts chunk + 1 microseconds ("chunk=N" in the settings, else 1) and 10 GB/s; scenarios named "broken"
/// fail, "micro" gives 1500 GB/s and 250 clk as well.
class FakeRunner final : public Runner {
 public:
  int runs = 0;
  ResultState result = ResultState::correct;
  std::string version = "1";
  Sampling last_sampling = Sampling::off;

  Expected<std::string> fingerprint(const Job& job) override {
    std::string name = version + '|' + job.scenario;
    for (const std::string& setting : job.settings) name += '|' + setting;
    return name;
  }

  Expected<Outcome> run(const Job& job, const JobControl& control) override {
    ++runs;
    if (job.scenario == "broken") return Error{.message = "kernel 'k' deadlocks"};
    if (control.progress && !control.progress(0.5)) return Error{.message = "stopped"};
    last_sampling = job.sampling;
    Outcome outcome{.scenario = job.scenario, .settings = job.settings, .time_us = 1, .logical_gb_per_s = 10};
    for (const std::string& setting : job.settings) {
      if (setting.starts_with("chunk=")) outcome.time_us += std::stod(setting.substr(6));
    }
    outcome.result = result;
    outcome.kernels = {{"k", 0.5, 0.75}};
    if (job.scenario == "micro") outcome.figures = {{"gb_per_s", 1500, "GB/s"}, {"near_clk", 250, "clk"}};
    return outcome;
  }
};

}  // namespace ptxwire::sim
