// A runner with the result store of this user behind it; without one where none can be had.
#pragma once

#include <optional>

#include "sim/study/result_store.hpp"
#include "sim/study/runner.hpp"

namespace ptxwire::cli {

class CachedRunner {
 public:
  /// `simulator` must outlive this. A store that cannot be opened or written is a note on standard error, not
  /// an error: the work can be done without.
  CachedRunner(sim::Runner& simulator, bool use_store);
  ~CachedRunner();
  CachedRunner(const CachedRunner&) = delete;
  CachedRunner& operator=(const CachedRunner&) = delete;

  [[nodiscard]] sim::Runner& runner() { return *runner_; }

 private:
  std::optional<sim::ResultStore> store_;
  std::optional<sim::CachingRunner> runner_;
};

}  // namespace ptxwire::cli
