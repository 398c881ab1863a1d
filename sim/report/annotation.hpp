// PTX with what the machine makes of it, line by line: issue slots, latency class, live registers.
//
//   slots  class       live  |  source
//       1  memory         7  |    ld.global.u32 %r4, [%rd2];
//       0  none           7  |    mov.u32 %r5, %r4;
#pragma once

#include <string>
#include <string_view>

#include "ptx_frontend/program.hpp"

namespace ptxwire::sim {

/// The text of one module, annotated with its lowered form. Slots are machine instructions after the back
/// end's clean-up; live is the number of 32-bit registers that hold a value still to be read when the line is
/// done. A head line per function sums up: issue slots, registers per thread, size of the code.
std::string annotate(const ptx::Program& program, std::string_view text);

}  // namespace ptxwire::sim
