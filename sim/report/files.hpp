// Files that the user asked for: whole or not there, and found impossible before hours were spent on their
// content.
#pragma once

#include <string>
#include <string_view>

#include "support/error.hpp"

namespace ptxwire::sim {

/// Succeeds if write_file(path, ...) would be able to write: the folder exists and takes new files, and
/// `path` is no folder. Nothing is left behind. Call it before the run whose result goes there.
Expected<void> check_writable(const std::string& path);

/// Writes beside `path` under a temporary name and renames, so that a reader sees the old or the new content,
/// never half of it. What is no regular file (/dev/stdout, a pipe) is written directly.
Expected<void> write_file(const std::string& path, std::string_view content);

}  // namespace ptxwire::sim
