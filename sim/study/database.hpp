// What the users of an SQLite file share.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "support/error.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace ptxwire::sim {

struct CloseDatabase {
  void operator()(sqlite3* database) const;
};
using DatabaseHandle = std::unique_ptr<sqlite3, CloseDatabase>;

/// One prepared statement; used once.
class Statement {
 public:
  Statement(sqlite3* database, std::string_view text);

  [[nodiscard]] bool valid() const { return statement_ != nullptr; }
  /// Parameters count from 1.
  Statement& bind(int index, std::string_view text);
  Statement& bind(int index, double value);
  /// Whether there is a row.
  bool step();
  /// Whether it ran to its end: for statements that give no rows.
  bool run();
  /// Of the current row, counted from 0; empty for NULL.
  [[nodiscard]] std::string text(int column) const;
  [[nodiscard]] double real(int column) const;
  [[nodiscard]] bool is_null(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

/// What the last call on this database complained about, with its path.
Error database_error(sqlite3* database, const std::string& doing);

}  // namespace ptxwire::sim
