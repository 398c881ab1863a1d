#include "sim/study/result_store.hpp"

#include <sqlite3.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace ptxwire::sim {
namespace {

namespace fs = std::filesystem;

constexpr int kBusyTimeoutMs = 10000;
// Also a check that the file is ours: creating is a no-op on one of this schema and fails on a damaged file.
constexpr const char* kPrepare =
    "PRAGMA journal_mode = WAL;"
    "CREATE TABLE IF NOT EXISTS results (key TEXT PRIMARY KEY, description TEXT NOT NULL, result TEXT NOT "
    "NULL);"
    "SELECT key, description, result FROM results LIMIT 1;";

/// Opens without judging; the outcome tells a damaged file from a place that cannot be written.
int open_and_prepare(const std::string& path, sqlite3** database, std::string& reason) {
  int code = sqlite3_open_v2(path.c_str(), database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  if (code == SQLITE_OK) {
    sqlite3_busy_timeout(*database, kBusyTimeoutMs);
    code = sqlite3_exec(*database, kPrepare, nullptr, nullptr, nullptr);
  }
  if (code != SQLITE_OK) reason = *database != nullptr ? sqlite3_errmsg(*database) : sqlite3_errstr(code);
  return code;
}

bool is_damage(int code) { return code == SQLITE_NOTADB || code == SQLITE_CORRUPT || code == SQLITE_ERROR; }

}  // namespace

ResultStore::ResultStore(ResultStore&&) noexcept = default;
ResultStore& ResultStore::operator=(ResultStore&&) noexcept = default;
ResultStore::~ResultStore() = default;

std::string ResultStore::default_path() {
  const char* chosen = std::getenv("PTXWIRE_CACHE");
  const fs::path folder = chosen != nullptr && *chosen != '\0' ? chosen : ".cache";
  return (folder / "results.sqlite").string();
}

Expected<ResultStore> ResultStore::open(const std::string& path) {
  const fs::path file(path);
  std::error_code failed;
  if (file.has_parent_path()) fs::create_directories(file.parent_path(), failed);
  for (const bool second_try : {false, true}) {
    sqlite3* database = nullptr;
    std::string reason;
    const int code = open_and_prepare(path, &database, reason);
    if (code == SQLITE_OK) return ResultStore(database);
    sqlite3_close(database);
    if (second_try || !is_damage(code)) {
      return Error{.message = "cannot use the result store: " + reason, .path = path};
    }
    fs::rename(path, path + ".damaged", failed);
    if (failed)
      return Error{.message = "cannot put a damaged result store aside: " + failed.message(), .path = path};
    // What a killed writer left for the damaged file must not be replayed into the fresh one.
    fs::remove(path + "-wal", failed);
    fs::remove(path + "-shm", failed);
  }
  return Error{.message = "cannot use the result store", .path = path};
}

std::optional<std::string> ResultStore::find(const std::string& key) const {
  Statement statement(database_.get(), "SELECT result FROM results WHERE key = ?1");
  if (!statement.valid() || !statement.bind(1, key).step() || statement.is_null(0)) return std::nullopt;
  return statement.text(0);
}

Expected<void> ResultStore::put(const std::string& key, const std::string& description,
                                const std::string& text) {
  Statement statement(database_.get(),
                      "INSERT OR REPLACE INTO results (key, description, result) VALUES (?1, ?2, ?3)");
  if (!statement.valid() || !statement.bind(1, key).bind(2, description).bind(3, text).run())
    return database_error(database_.get(), "cannot store a result");
  return {};
}

}  // namespace ptxwire::sim
