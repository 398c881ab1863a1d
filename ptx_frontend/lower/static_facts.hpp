// What the timing model wants to know of an instruction before it runs: its unit and how many machine
// instructions the back end of a real compiler leaves of it.
#pragma once

#include <cstdint>

#include "ptx_frontend/lower/liveness.hpp"
#include "ptx_frontend/lower/virtual_code.hpp"
#include "ptx_frontend/syntax/ast.hpp"

namespace ptxwire::ptx {

/// Fills Op::latency and Op::issue_slots. Counts are for sm_90 machine code: 64-bit integer operations are
/// pairs of 32-bit ones, moves and address-space casts vanish, a product feeding one sum fuses with it,
/// constant address offsets fold into the access, division is a sequence.
void annotate_static_facts(VirtualCode& code);

/// Estimate of the instructions in the machine code of a function: its issue slots, `beyond_slots` more as
/// charge_convergence() counts them, and what every function has. A subroutine for 64-bit division is there
/// once for all its callers. Loops count as written: what a compiler unrolls is longer and runs as often.
uint32_t estimate_code_size(const VirtualCode& code, uint32_t beyond_slots);

/// Estimate of the 32-bit registers that a thread of this function takes on hardware: the peak of live values
/// plus a tenth for addresses and scheduling, in steps of 8, within the limits that `directives` imply.
/// A kernel that `moves_registers` starts with as many as they allow: setmaxnreg only shifts what is there.
uint32_t estimate_registers(uint32_t peak_live, const LaunchDirectives& directives,
                            bool moves_registers = false);
/// Whether setmaxnreg occurs.
bool moves_registers(const VirtualCode& code);

}  // namespace ptxwire::ptx
