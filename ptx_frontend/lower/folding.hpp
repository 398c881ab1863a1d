// What instruction selection merges: two PTX instructions that are one machine instruction.
#pragma once

#include "ptx_frontend/lower/virtual_code.hpp"

namespace ptxwire::ptx {

/// Takes the issue slots from ops that vanish into the one that uses their result: a constant offset into the
/// address of an access (LDG [R+16]), a 32-bit product into a sum (IMAD), a shift by a constant into 64-bit
/// sums (LEA, LEA.HI.X), logic of predicates into the comparison that makes one of them (ISETP.AND). Expects
/// Op::latency and Op::issue_slots of each op by itself.
void fold_instructions(VirtualCode& code);

}  // namespace ptxwire::ptx
