// Long steady phases cut short: what a call of full size would take, from one call with a part of its tokens.
//
// The part (shorter_call.hpp) begins and ends as the whole call does: its channels and ranks differ from each
// other by as many rows. Only the time in which all of them are busy is shorter, and that is added at the
// rate that the part had in its middle (steady_phase.hpp).
//
// How large the part is goes by what the exact run would execute, so that the sampled one costs a fifth of it
// or less; where that leaves too little for a steady phase, sampling is refused.
#pragma once

#include "sim/workload/run.hpp"

namespace ptxwire::sim {

/// Share of the tokens of a call that a sampled run executes.
double sampled_share(const Scenario& scenario);

/// Whether `scenario` can be sampled. Error: its family has no long steady phase that is known, or the call
/// is too short for one.
Expected<void> can_sample(const Scenario& scenario);

/// Runs a part of `scenario` and extrapolates. The result is marked as sampled, with its error; its verdict,
/// its waits and its resources are those of the part.
Expected<ScenarioResult> run_sampled(const Scenario& scenario, const RunOptions& options = {});

}  // namespace ptxwire::sim
