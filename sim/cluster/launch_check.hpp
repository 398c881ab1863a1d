// Whether a launch can run at all, before anything is simulated.
#pragma once

#include "models/gpu/sm_room.hpp"
#include "models/machines/machine.hpp"
#include "ptx_frontend/program.hpp"
#include "sim/cluster/cluster.hpp"
#include "support/error.hpp"

namespace ptxwire::sim {

/// Index of the entry, or why this launch is impossible.
Expected<uint32_t> check_launch(const ptx::Program& program, const LaunchConfig& config,
                                const models::SmParameters& sm);

/// Where the dynamic shared memory of a CTA begins.
uint32_t dynamic_shared_offset(const ptx::ProgramFunction& entry);
/// Shared memory of a CTA, static and dynamic.
uint64_t launch_shared_bytes(const ptx::ProgramFunction& entry, uint64_t dynamic_bytes);

/// What a CTA of this launch takes of an SM. Registers: as the launch says, else the front end's estimate.
models::CtaFootprint launch_footprint(const ptx::Program& program, const ptx::ProgramFunction& entry,
                                      const LaunchConfig& config);

}  // namespace ptxwire::sim
