// Results that were computed before, in one SQLite file. A process killed at any moment leaves the file
// usable: a result is there whole or not at all.
#pragma once

#include <optional>
#include <string>

#include "sim/study/database.hpp"
#include "support/error.hpp"

namespace ptxwire::sim {

class ResultStore {
 public:
  /// Opens or creates the file and its folder. A file that is no database, or one of another schema, is put
  /// aside as
  /// `<path>.damaged` and a fresh one is made. Error: the place cannot be written.
  static Expected<ResultStore> open(const std::string& path);
  /// `$PTXWIRE_CACHE/results.sqlite`, or `.cache/results.sqlite` in the working folder.
  static std::string default_path();

  ResultStore(ResultStore&&) noexcept;
  ResultStore& operator=(ResultStore&&) noexcept;
  ~ResultStore();

  /// The text stored under `key`; nothing if there is none or it cannot be read.
  [[nodiscard]] std::optional<std::string> find(const std::string& key) const;
  /// Stores `text`, in place of what the key had. `description` is for people who look into the file. Several
  /// processes may use one file; a store waits up to 10 s for the others.
  Expected<void> put(const std::string& key, const std::string& description, const std::string& text);

 private:
  explicit ResultStore(sqlite3* database) : database_(database) {}

  DatabaseHandle database_;
};

}  // namespace ptxwire::sim
