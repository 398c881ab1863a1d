// Reading a whole file as text.
#pragma once

#include <string>

#include "support/error.hpp"

namespace ptxwire::sim {

/// The bytes of a regular file. The error names the path and the system's reason.
Expected<std::string> read_whole_file(const std::string& path);

}  // namespace ptxwire::sim
