// Running scenarios, and not running them twice.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/study/outcome.hpp"
#include "sim/study/result_store.hpp"
#include "support/error.hpp"

namespace ptxwire::sim {

/// Whether a long steady phase is cut short and extrapolated (workload/sampling.hpp).
enum class Sampling : uint8_t {
  off,
  on,           ///< an Error where the scenario has no such phase
  if_possible,  ///< else exactly
};

/// What to simulate: everything here determines the result.
struct Job {
  std::string scenario;               ///< path of a scenario file, or a name below traces/scenarios
  std::vector<std::string> settings;  ///< "key=value", applied in this order; a later one overrides
  std::string machine;                ///< path or name of a machine file, empty: the scenario's own
  bool check_results = true;          ///< compare every byte with the expectation
  Sampling sampling = Sampling::off;
};

/// How to simulate it: nothing here changes the result.
struct JobControl {
  uint32_t threads = 0;    ///< 0: all cores
  double max_time_us = 0;  ///< simulated time after which the run stops with an Error; 0: the default budget
  /// Called now and then with the share of the run that is done, in [0, 1], as far as it can be told;
  /// returning false stops the run with an Error.
  std::function<bool(double)> progress;
};

class Runner {
 public:
  virtual ~Runner() = default;
  /// A name for everything that determines the result of `job`: same name, same result.
  virtual Expected<std::string> fingerprint(const Job& job) = 0;
  virtual Expected<Outcome> run(const Job& job, const JobControl& control) = 0;
};

/// Simulates nothing: what the runner around it does not have is an Error.
class RecallingRunner final : public Runner {
 public:
  /// `named` gives the fingerprints; it must outlive this.
  explicit RecallingRunner(Runner& named) : named_(named) {}

  Expected<std::string> fingerprint(const Job& job) override { return named_.fingerprint(job); }
  Expected<Outcome> run(const Job& job, const JobControl& control) override;

 private:
  Runner& named_;
};

/// Asks the store first and keeps what it had to compute. Failed runs are not kept. A store that cannot be
/// written does not fail the run: `store_problem` says so.
class CachingRunner final : public Runner {
 public:
  /// Both must outlive this. `store` may be null: nothing is kept.
  CachingRunner(Runner& inner, ResultStore* store) : inner_(inner), store_(store) {}

  Expected<std::string> fingerprint(const Job& job) override { return inner_.fingerprint(job); }
  Expected<Outcome> run(const Job& job, const JobControl& control) override;
  [[nodiscard]] const std::string& store_problem() const { return store_problem_; }

 private:
  Runner& inner_;
  ResultStore* store_;
  std::string store_problem_;
};

}  // namespace ptxwire::sim
