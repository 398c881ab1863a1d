// Verdicts of ptxas and of the front end over many mutants, counted.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/ptx_frontend/agreement/mutator.hpp"
#include "tests/ptx_frontend/agreement/verdict.hpp"

namespace ptxwire::ptx::agreement {

struct Disagreement {
  uint64_t seed = 0;
  Mutant mutant;
  Verdict ptxas, ours;
};

struct Comparison {
  struct Count {
    size_t mutants = 0, agreed = 0;
  };
  std::array<Count, static_cast<size_t>(Mutation::count)> by_mutation{};
  std::vector<Disagreement> disagreements;
  size_t undecided = 0;  ///< not counted as mutants
  [[nodiscard]] Count total() const;
};

/// `count` mutants of the modules, with seeds from `first_seed` on, on `threads` threads.
Comparison compare(const std::vector<std::string>& modules, size_t count, uint64_t first_seed,
                   unsigned threads);

}  // namespace ptxwire::ptx::agreement
