// A routing from a file, as a training or inference job can log it (routing = "file", routing_file =
// "x.csv"):
//
//   rank,token,expert0,expert1
//   0,0,17,3
//   0,1,3,-1
//   1,0,12,30
//
// One line per token, in any order: which rank has it, its number there from 0, and the `topk` experts it
// goes to, the best first; -1 is no selection. Every token of every rank has one line. Tokens beyond those of
// the scenario are left out, so one long log serves calls of several sizes. Blank lines and lines that begin
// with # are skipped.
#pragma once

#include <string>

#include "sim/workload/routing.hpp"
#include "sim/workload/scenario.hpp"

namespace ptxwire::sim {

/// `largest_fan_out`: nodes that a token may go to. Errors, with path and line: no such file, another header,
/// a field that is no whole number, too many or too few fields, rank or expert out of range, an expert twice,
/// a token twice, a token that goes to more nodes; with the path: tokens without a line.
Expected<Routing> load_routing(const RoutingShape& shape, const std::string& path, uint32_t largest_fan_out);

/// The routing of an expert kernel: drawn as `shape` says, or read from the scenario's file.
Expected<Routing> scenario_routing(const Scenario& scenario, const RoutingShape& shape);

/// Keys about skewed routings: an exponent out of range, a file without the pattern or the other way round.
Expected<void> validate_routing_keys(const Scenario& scenario);

}  // namespace ptxwire::sim
