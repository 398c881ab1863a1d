#include "sim/study/database.hpp"

#include <sqlite3.h>

namespace ptxwire::sim {

void CloseDatabase::operator()(sqlite3* database) const { sqlite3_close(database); }
void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Statement::Statement(sqlite3* database, std::string_view text) {
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v2(database, text.data(), static_cast<int>(text.size()), &statement, nullptr);
  statement_.reset(statement);
}

Statement& Statement::bind(int index, std::string_view text) {
  sqlite3_bind_text(statement_.get(), index, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  return *this;
}

Statement& Statement::bind(int index, double value) {
  sqlite3_bind_double(statement_.get(), index, value);
  return *this;
}

bool Statement::step() { return valid() && sqlite3_step(statement_.get()) == SQLITE_ROW; }
bool Statement::run() { return valid() && sqlite3_step(statement_.get()) == SQLITE_DONE; }

std::string Statement::text(int column) const {
  const unsigned char* text = sqlite3_column_text(statement_.get(), column);
  if (text == nullptr) return {};
  return {reinterpret_cast<const char*>(text),
          static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

double Statement::real(int column) const { return sqlite3_column_double(statement_.get(), column); }
bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

Error database_error(sqlite3* database, const std::string& doing) {
  const char* path = database != nullptr ? sqlite3_db_filename(database, nullptr) : nullptr;
  return Error{.message = doing + ": " + (database != nullptr ? sqlite3_errmsg(database) : "out of memory"),
               .path = path != nullptr ? path : ""};
}

}  // namespace ptxwire::sim
