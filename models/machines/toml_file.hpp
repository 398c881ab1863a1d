// What every reader of a TOML file of ours needs: parsing into an Error, and errors that name the place.
#pragma once

#include <toml++/toml.h>
#include <string>

#include "support/error.hpp"

namespace ptxwire::models {

inline Error error_at(const std::string& path, const toml::source_region& source, std::string message) {
  return Error{std::move(message), path, source.begin.line, source.begin.column, {}};
}

/// Errors: file missing or not valid TOML.
inline Expected<toml::table> parse_toml_file(const std::string& path) {
  try {
    return toml::parse_file(path);
  } catch (const toml::parse_error& failure) {
    return error_at(path, failure.source(), std::string(failure.description()));
  }
}

}  // namespace ptxwire::models
