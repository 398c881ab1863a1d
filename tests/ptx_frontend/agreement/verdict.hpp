// What ptxas and what the front end say about a module.
#pragma once

#include <string>

namespace ptxwire::ptx::agreement {

struct Verdict {
  bool accepted = false;
  bool undecided = false;  ///< ptxas crashed or ran out of time: its front end had taken the module
  std::string message;     ///< the first error
  std::string id;          ///< ours: of the first error
};

bool have_ptxas();

/// Assembles for sm_90a, or for the module's own target where that is newer.
Verdict ask_ptxas(const std::string& text);

/// Parses and checks in this process.
Verdict ask_front_end(const std::string& text);

}  // namespace ptxwire::ptx::agreement
