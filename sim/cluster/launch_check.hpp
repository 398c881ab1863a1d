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

/// Where the dynamic shared memory of a CTA begins.
uint32_t dynamic_shared_offset(const ptx::ProgramFunction& entry);
/// Shared memory of a CTA, static and dynamic.
uint64_t launch_shared_bytes(const ptx::ProgramFunction& entry, uint64_t dynamic_bytes);

/// CTAs that the GPU holds at once, if one SM holds `per_sm` and every cluster lies in one GPC on SMs of its
/// own.
uint64_t resident_ctas(const models::SmParameters& sm, uint32_t per_sm, uint32_t cluster);

}  // namespace ptxwire::sim
