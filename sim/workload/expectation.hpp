// What a run must have left in memory, computed from the routing and the data functions alone and compared
// row by row, so that no second copy of a buffer is ever made.
#pragma once

#include <string>

#include "sim/workload/intranode.hpp"

namespace ptxwire::sim {

/// Empty if everything is as expected, else the first mismatch in words: rank, row, where it should have come
/// from, what was found and what was expected.
///
/// Dispatch: the rows of rank r are, for sources s ascending, the tokens of s selected for r, ascending;
/// bytes, scales, source index (and experts and weights where they travel), and the handle it leaves.
Expected<std::string> check_dispatch(const IntranodeNode& node, const TestData& data);

/// Combine: row t of rank r is bf16(sum over ranks q ascending, for which the token was selected, of
/// float(row of q)).
Expected<std::string> check_combine(const IntranodeNode& node, const TestData& data);

}  // namespace ptxwire::sim
