// What the readers of topology files share: numbers and ranges in names, counts, rates, unknown keys.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "models/machines/toml_file.hpp"
#include "support/error.hpp"

namespace ptxwire::models {

inline constexpr int64_t kMaxTopologyVertices = 4096, kMaxParallelLinks = 1024;

/// Numbers of a name such as "gpu[0-7]": first, last, both included.
struct NumberRange {
  uint32_t first = 0, last = 0;
};

/// "3" or "[0-7]".
std::optional<NumberRange> parse_number_range(std::string_view text);

class TopologyFileReader {
 protected:
  explicit TopologyFileReader(const std::string& path) : path_(path) {}

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] Error fail(const toml::source_region& place, std::string message,
                           std::string hint = {}) const;
  [[nodiscard]] Expected<void> check_keys(const toml::table& table,
                                          std::initializer_list<std::string_view> known) const;
  /// The value of `key`, which must be there.
  [[nodiscard]] Expected<const toml::node*> require(const toml::table& table, std::string_view key) const;
  [[nodiscard]] Expected<std::string> read_text(const toml::table& table, std::string_view key) const;
  [[nodiscard]] Expected<uint32_t> read_count(const toml::table& table, std::string_view key,
                                              int64_t maximum) const;
  /// Bytes per second of "25 GB/s" or "400 Gb/s".
  [[nodiscard]] Expected<double> read_rate(const toml::table& table, std::string_view key) const;

 private:
  std::string path_;
};

}  // namespace ptxwire::models
