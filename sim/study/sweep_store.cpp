#include "sim/study/sweep_store.hpp"

#include <sqlite3.h>

#include <nlohmann/json.hpp>

namespace ptxwire::sim {
namespace {

using nlohmann::json;

constexpr int kBusyTimeoutMs = 10000;
constexpr int kApplicationId = 0x70747877;  // "ptxw"
constexpr const char* kCreate =
    "CREATE TABLE IF NOT EXISTS point (key TEXT PRIMARY KEY, scenario TEXT NOT NULL, settings TEXT NOT NULL,"
    " outcome TEXT, error TEXT, wall_s REAL NOT NULL, peak_rss_bytes REAL NOT NULL);";

int whole_number(sqlite3* database, std::string_view query) {
  Statement statement(database, query);
  return statement.step() ? static_cast<int>(statement.real(0)) : -1;
}

Error not_of_a_sweep(const std::string& path) {
  return Error{.message = "not a result file of ptxwire sweep", .path = path};
}

Error other_version(const std::string& path, int version) {
  return Error{
      .message = "a result file of schema version " + std::to_string(version) +
                 ", this ptxwire has version " + std::to_string(SweepStore::kSchemaVersion),
      .path = path,
      .hint = "keep it and name another file: points are simulated anew; or use the ptxwire that wrote it"};
}

/// Creates the table in a fresh file, or finds that the file is ours.
Expected<void> prepare(sqlite3* database, const std::string& path) {
  sqlite3_busy_timeout(database, kBusyTimeoutMs);
  if (sqlite3_exec(database, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;", nullptr, nullptr,
                   nullptr) != SQLITE_OK) {
    const int code = sqlite3_errcode(database);
    return code == SQLITE_NOTADB || code == SQLITE_CORRUPT
               ? not_of_a_sweep(path)
               : database_error(database, "cannot use the result file");
  }
  // Version and table come with one transaction: a process killed in between leaves an empty file.
  if (sqlite3_exec(database, "BEGIN IMMEDIATE;", nullptr, nullptr, nullptr) != SQLITE_OK)
    return database_error(database, "cannot use the result file");
  const int application = whole_number(database, "PRAGMA application_id");
  const int version = whole_number(database, "PRAGMA user_version");
  const bool fresh = whole_number(database, "SELECT count(*) FROM sqlite_master") == 0 && application == 0;
  if (!fresh) {
    sqlite3_exec(database, "ROLLBACK;", nullptr, nullptr, nullptr);
    if (application != kApplicationId) return not_of_a_sweep(path);
    if (version != SweepStore::kSchemaVersion) return other_version(path, version);
    return {};
  }
  const std::string create =
      std::string(kCreate) + "PRAGMA application_id = " + std::to_string(kApplicationId) +
      "; PRAGMA user_version = " + std::to_string(SweepStore::kSchemaVersion) + "; COMMIT;";
  if (sqlite3_exec(database, create.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    return database_error(database, "cannot create the result file");
  return {};
}

/// The stored form of an outcome: without what depends on the run that computed it.
std::string outcome_text(const Outcome& outcome) {
  Outcome plain = outcome;
  plain.wall_s = 0;
  plain.peak_rss_bytes = 0;
  return json_text(to_json(plain), JsonLayout::compact);
}

Expected<SweepResult> result_of(const Statement& row) {
  SweepResult result{.key = row.text(0), .scenario = row.text(1), .error = row.text(4)};
  const json settings = json::parse(row.text(2), nullptr, false);
  if (settings.is_discarded() || !settings.is_array())
    return Error{.message = "point " + result.key + " is damaged"};
  for (const json& setting : settings)
    result.settings.push_back(setting.is_string() ? setting.get<std::string>() : "");
  if (!row.is_null(3)) {
    Expected<Outcome> outcome = outcome_from_json(row.text(3));
    if (!outcome) return outcome.error();
    outcome->wall_s = row.real(5);
    outcome->peak_rss_bytes = static_cast<uint64_t>(row.real(6));
    result.outcome.emplace(*std::move(outcome));
  }
  return result;
}

constexpr std::string_view kColumns =
    "SELECT key, scenario, settings, outcome, error, wall_s, peak_rss_bytes FROM point ";

}  // namespace

Expected<SweepStore> SweepStore::open(const std::string& path) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  DatabaseHandle database(raw);
  if (code != SQLITE_OK)
    return Error{.message = "cannot use the result file: " +
                            std::string(raw != nullptr ? sqlite3_errmsg(raw) : "out of memory"),
                 .path = path};
  if (Expected<void> ready = prepare(raw, path); !ready) return ready.error();
  return SweepStore(std::move(database));
}

Expected<std::optional<SweepResult>> SweepStore::find(const std::string& key) const {
  Statement row(database_.get(), std::string(kColumns) + "WHERE key = ?1");
  if (!row.valid()) return database_error(database_.get(), "cannot read the result file");
  if (!row.bind(1, key).step()) return std::optional<SweepResult>();
  Expected<SweepResult> result = result_of(row);
  if (!result) return result.error();
  return std::optional<SweepResult>(*std::move(result));
}

Expected<void> SweepStore::put(const SweepResult& result) {
  Statement statement(database_.get(),
                      "INSERT INTO point (key, scenario, settings, outcome, error, wall_s, peak_rss_bytes) "
                      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (key) DO NOTHING");
  if (!statement.valid()) return database_error(database_.get(), "cannot store a point");
  statement.bind(1, result.key)
      .bind(2, result.scenario)
      .bind(3, json_text(json(result.settings), JsonLayout::compact));
  if (result.outcome) statement.bind(4, outcome_text(*result.outcome));
  if (!result.outcome) statement.bind(5, result.error);
  statement.bind(6, result.outcome ? result.outcome->wall_s : 0.0);
  statement.bind(7, result.outcome ? static_cast<double>(result.outcome->peak_rss_bytes) : 0.0);
  if (!statement.run()) return database_error(database_.get(), "cannot store a point");
  return {};
}

Expected<std::vector<SweepResult>> SweepStore::all() const {
  Statement row(database_.get(), std::string(kColumns) + "ORDER BY scenario, settings, key");
  if (!row.valid()) return database_error(database_.get(), "cannot read the result file");
  std::vector<SweepResult> results;
  while (row.step()) {
    Expected<SweepResult> result = result_of(row);
    if (!result) return result.error();
    results.push_back(*std::move(result));
  }
  return results;
}

std::string sweep_result_text(const SweepResult& result) {
  json document = {{"key", result.key},
                   {"scenario", result.scenario},
                   {"settings", result.settings},
                   {"error", result.error}};
  document["outcome"] = result.outcome ? to_json(*result.outcome) : json(nullptr);
  return json_text(document, JsonLayout::compact);
}

Expected<SweepResult> sweep_result_from_text(std::string_view text) {
  const json document = json::parse(text, nullptr, false);
  try {
    SweepResult result{.key = document.at("key"),
                       .scenario = document.at("scenario"),
                       .settings = document.at("settings"),
                       .error = document.at("error")};
    if (document.at("outcome").is_null()) return result;
    Expected<Outcome> outcome = outcome_from_json(document.at("outcome").dump());
    if (!outcome) return outcome.error();
    result.outcome.emplace(*std::move(outcome));
    return result;
  } catch (const json::exception& failed) {
    return Error{.message = "not a result of a sweep: " + std::string(failed.what())};
  }
}

}  // namespace ptxwire::sim
