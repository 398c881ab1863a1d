// A lowered function as text, for debugging and for tests that compare whole listings.
//
//   .entry spin  rows 6  predicates 1  frame 0  shared 0  registers 16
//   B0
//        0  line 9    memory/1    ld.param.u64             r0:2 <- [#0x0]
//   B1  poll loop, state {}
//        2  line 12   memory/1    ld.acquire.sys.global.s32  r4 <- [r0:2]
//        4  line 14   branch/1    @p0 bra                  -> 2, joins 5
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ptx_frontend/program.hpp"

namespace ptxwire::ptx {

/// `function` is an index into Program::functions.
std::string dump_function(const Program& program, uint32_t function);

/// One operand: r4 (row), r4:2 (pair at rows 4 and 5), p1, !p1, #0x10, #global variable+8, _ (sink).
std::string dump_slot(const Program& program, const Slot& slot);

std::string_view latency_class_name(LatencyClass latency);

}  // namespace ptxwire::ptx
