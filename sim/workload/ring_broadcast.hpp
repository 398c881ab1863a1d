// Runs the ring broadcast: one buffer from the first rank of a ring to all others, iteration after iteration,
// as a collective benchmark times it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/machines/machine.hpp"
#include "sim/workload/run.hpp"
#include "sim/workload/scenario.hpp"

namespace ptxwire::sim {

/// The ranks in the order of `ring`, the root first. Error: it does not name each rank once.
Expected<std::vector<uint32_t>> ring_order(const Scenario& scenario);

/// Chunks that channel `channel` moves per iteration: in rounds of one chunk per channel, the last one of
/// what is left, evenly, in multiples of 4 KiB.
uint64_t ring_steps(const Scenario& scenario, uint32_t channel);

/// Settings that exclude each other; called by validate().
Expected<void> validate_ring_broadcast(const Scenario& scenario);

/// The PTX file of the scenario.
Expected<std::string> ring_broadcast_program_path(const Scenario& scenario);

/// run_scenario for kernel = "ring_broadcast"; the scenario is valid. All iterations are enqueued at once.
/// `time_us` is the steady time of one: of the later half of them, from the end of one to the end of the
/// next, by the slowest rank; of a single iteration the time from its start. The first ones are left out
/// because the last ranks start late and catch up. Iterations send two contents in turn, so that a chunk left
/// over from the one before would be seen.
Expected<ScenarioResult> run_ring_broadcast(const Scenario& scenario, const models::Machine& machine,
                                            const RunOptions& options);

}  // namespace ptxwire::sim
