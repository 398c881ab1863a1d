// Programs of others that draw for us.
#pragma once

#include <string>
#include <vector>

#include "support/error.hpp"

namespace ptxwire::sim {

struct ExternalProgram {
  std::string name;                    ///< found on PATH
  std::vector<std::string> arguments;  ///< without the name
  std::string what_for;                ///< "Graphviz draws the picture"
  std::string package;                 ///< that has it on Debian
};

/// Runs the program with `input` on its standard input and returns its standard output. Errors: it is not
/// installed, with how to get it; it failed, with what it said.
Expected<std::string> run_program(const ExternalProgram& program, const std::string& input);

}  // namespace ptxwire::sim
