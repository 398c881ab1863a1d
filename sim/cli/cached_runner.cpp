#include "sim/cli/cached_runner.hpp"

#include "sim/cli/output.hpp"

namespace ptxwire::cli {

CachedRunner::CachedRunner(sim::Runner& simulator, bool use_store) {
  if (use_store) {
    Expected<sim::ResultStore> store = sim::ResultStore::open(sim::ResultStore::default_path());
    if (store) {
      store_ = *std::move(store);
    } else {
      print_note("results are not kept: " + store.error().to_string());
    }
  }
  runner_.emplace(simulator, store_ ? &*store_ : nullptr);
}

CachedRunner::~CachedRunner() {
  if (!runner_->store_problem().empty()) print_note("results were not kept: " + runner_->store_problem());
}

}  // namespace ptxwire::cli
