#include "tests/ptx_frontend/agreement/comparison.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

namespace ptxwire::ptx::agreement {

Comparison::Count Comparison::total() const {
  Count sum;
  for (const Count& count : by_mutation) {
    sum.mutants += count.mutants;
    sum.agreed += count.agreed;
  }
  return sum;
}

Comparison compare(const std::vector<std::string>& modules, size_t count, uint64_t first_seed,
                   unsigned threads) {
  Comparison comparison;
  if (modules.empty()) return comparison;
  std::mutex mutex;
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < count; i = next++) {
      const uint64_t seed = first_seed + i;
      // A multiplier spreads consecutive seeds over the modules.
      const std::string& module = modules[(seed * 0x9e3779b97f4a7c15U >> 20) % modules.size()];
      Mutant mutant = mutate(module, seed);
      Verdict ptxas = ask_ptxas(mutant.text), ours = ask_front_end(mutant.text);
      const std::lock_guard lock(mutex);
      if (ptxas.undecided) {
        ++comparison.undecided;
        continue;
      }
      Comparison::Count& tally = comparison.by_mutation[static_cast<size_t>(mutant.mutation)];
      ++tally.mutants;
      if (ptxas.accepted == ours.accepted) {
        ++tally.agreed;
      } else {
        comparison.disagreements.push_back({seed, std::move(mutant), std::move(ptxas), std::move(ours)});
      }
    }
  };
  std::vector<std::thread> pool;
  for (unsigned i = 1; i < threads; ++i) pool.emplace_back(work);
  work();
  for (std::thread& thread : pool) thread.join();
  std::sort(comparison.disagreements.begin(), comparison.disagreements.end(),
            [](const Disagreement& a, const Disagreement& b) { return a.seed < b.seed; });
  return comparison;
}

}  // namespace ptxwire::ptx::agreement
