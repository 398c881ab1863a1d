// What an internode run must have left in memory, as expectation.hpp for one node.
#pragma once

#include <string>

#include "sim/workload/internode.hpp"

namespace ptxwire::sim {

/// Dispatch: the rows of rank r are, for source ranks s ascending, the tokens of s selected for r, ascending:
/// bytes, scales, meta (and experts and weights where they travel), and the handle that it leaves for
/// combine.
Expected<std::string> check_internode_dispatch(const InternodeCluster& host, const TestData& data);

/// Combine: row t of rank r is the sum over nodes m ascending of the BF16 sums over the GPUs of m ascending
/// that have a row of it, in float, rounded to BF16.
Expected<std::string> check_internode_combine(const InternodeCluster& host, const TestData& data);

}  // namespace ptxwire::sim
