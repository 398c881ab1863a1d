// Whether a launch can run at all, before anything is simulated.
#pragma once

#include "models/machines/machine.hpp"
#include "ptx_frontend/program.hpp"
#include "sim/cluster/cluster.hpp"
#include "support/error.hpp"

namespace ptxwire::sim {

/// Index of the entry, or why this launch is impossible.
Expected<uint32_t> check_launch(const ptx::Program& program, const LaunchConfig& config,
                                const models::SmParameters& sm);

/// Registers per thread that decide occupancy: the front end's estimate.
uint32_t launch_registers(const ptx::ProgramFunction& entry);

}  // namespace ptxwire::sim
