// Where a command's result goes: a table on standard output, JSON to a file or to standard output.
#pragma once

#include <string>

#include "support/error.hpp"

namespace ptxwire::cli {

/// Before the work: an error if the JSON file will not be writable. `json_path` is empty (none), "-" or a
/// path.
Expected<void> check_output(const std::string& json_path);
/// After it: prints the table, or the JSON for "-"; writes the JSON file.
Expected<void> write_output(const std::string& json_path, const std::string& table, const std::string& json);
/// One line on standard error.
void print_note(const std::string& text);

}  // namespace ptxwire::cli
