// What a sweep runs: a TOML file with a grid, a list, or both.
//
//   scenario = "h800_intranode_dispatch_ep8"   # or a list of them
//   set = ["tokens=1024"]                      # of every point
//   sampled = true                             # cut long steady phases short where that can be
//   [grid]                                     # every combination
//   sms = [8, 16, 24]
//   chunk = [4, 8]
//   [[point]]                                  # and single points
//   set = ["sms=20", "chunk=6"]
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/study/runner.hpp"
#include "support/error.hpp"

namespace ptxwire::sim {

struct SweepPlan {
  std::string path;
  std::vector<Job> points;          ///< each once, in the order of the file: the last axis runs fastest
  std::vector<std::string> varied;  ///< keys that the grid and the points set
};

/// Errors name the line: TOML syntax, unknown key, wrong type, no point at all, more than 100,000.
Expected<SweepPlan> parse_sweep(std::string_view text, const std::string& path);

}  // namespace ptxwire::sim
