// What every reader of a TOML file of ours needs: parsing into an Error, and errors that name the place.
#pragma once

#include <toml++/toml.h>
#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "support/error.hpp"
#include "support/nearest.hpp"

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

/// What readers of nested tables share: the first error is kept, with the place of the node it is about.
class TomlReader {
 public:
  /// `path` must outlive this.
  explicit TomlReader(const std::string& path) : path_(path) {}

  [[nodiscard]] Expected<void> result() const { return error_ ? Expected<void>(*error_) : Expected<void>(); }

 protected:
  [[nodiscard]] bool failed() const { return error_.has_value(); }

  void fail(const toml::node& node, std::string message, std::string hint = {}) {
    if (error_) return;
    error_ = error_at(path_, node.source(), std::move(message));
    error_->hint = std::move(hint);
  }

  void check_keys(const toml::table& table, std::span<const std::string_view> known) {
    for (const auto& [key, node] : table)
      if (std::find(known.begin(), known.end(), key.str()) == known.end())
        fail(node, "unknown key '" + std::string(key.str()) + "'", suggestion(key.str(), known));
  }

 private:
  const std::string& path_;
  std::optional<Error> error_;
};

}  // namespace ptxwire::models
