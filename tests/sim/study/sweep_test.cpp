#include "sim/study/sweep.hpp"

#include <sqlite3.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "fake_runner.hpp"

using namespace ptxwire;
using namespace ptxwire::sim;
using Catch::Contains;

namespace {

/// A folder that is gone when the test is.
struct Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("ptxwire-sweep-" + std::to_string(getpid()));
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return (path / name).string(); }
};

SweepPlan plan_of(const std::string& text) {
  Expected<SweepPlan> plan = parse_sweep(text, "s.toml");
  if (!plan) FAIL(plan.error().to_string());
  return *plan;
}

std::vector<std::vector<std::string>> settings_of(const SweepPlan& plan) {
  std::vector<std::vector<std::string>> all;
  for (const Job& job : plan.points) all.push_back(job.settings);
  return all;
}

SweepOptions with_fake_runners() {
  SweepOptions options{.jobs = 2};
  options.make_runner = [] { return std::make_unique<FakeRunner>(); };
  return options;
}

SweepStore store_of(const std::string& path) {
  Expected<SweepStore> store = SweepStore::open(path);
  if (!store) FAIL(store.error().to_string());
  return *std::move(store);
}

}  // namespace

TEST_CASE("sweep plan: every combination, the last axis fastest, then the single points, each once") {
  const SweepPlan plan = plan_of(
      "scenario = 's'\nset = ['t=1']\n[grid]\nsms = [8, 16]\nchunk = [4, '6 rows']\n"
      "[[point]]\nset = ['sms=20']\n[[point]]\nset = ['sms=8', 'chunk=4']\n");
  CHECK(settings_of(plan) == std::vector<std::vector<std::string>>{{"t=1", "sms=8", "chunk=4"},
                                                                   {"t=1", "sms=8", "chunk=6 rows"},
                                                                   {"t=1", "sms=16", "chunk=4"},
                                                                   {"t=1", "sms=16", "chunk=6 rows"},
                                                                   {"t=1", "sms=20"}});
  CHECK(plan.varied == std::vector<std::string>{"sms", "chunk"});
}

TEST_CASE("sweep plan: without grid and points the scenarios alone") {
  CHECK(plan_of("scenario = ['a', 'b']\nsampled = true\n").points.size() == 2);
}

TEST_CASE("sweep plan: mistakes name the line") {
  struct Case {
    std::string text, message;
    uint32_t line;
  };
  for (const Case& wrong :
       {Case{"set = ['a=1']\n", "expected 'scenario'", 1},
        Case{"scenario = 's'\ngird = 1\n", "unknown key 'gird'", 2},
        Case{"scenario = 's'\n[grid]\nsms = 8\n", "'sms' to be a list of values", 3},
        Case{"scenario = 's'\n[grid]\nsms = []\n", "'sms' to be a list of values", 3},
        Case{"scenario = 's'\nsampled = 1\n", "true or false", 2}, Case{"scenario = \n", "", 1}}) {
    INFO(wrong.text);
    const auto plan = parse_sweep(wrong.text, "s.toml");
    REQUIRE_FALSE(plan);
    CHECK_THAT(plan.error().message, Contains(wrong.message));
    CHECK(plan.error().line == wrong.line);
    CHECK(plan.error().path == "s.toml");
  }
}

TEST_CASE("sweep: points are run once, and a second sweep finds them in the file") {
  const Folder folder;
  const SweepPlan plan = plan_of("scenario = 's'\n[grid]\nchunk = [1, 2, 3, 4, 5]\n");
  {
    SweepStore store = store_of(folder.file("r.db"));
    const auto report = run_sweep(plan, store, with_fake_runners());
    REQUIRE(report);
    CHECK(report->from_file == 0);
    for (size_t point = 0; point < 5; ++point)
      CHECK(report->results[point]->outcome->time_us == static_cast<double>(point) + 2);
  }
  SweepStore store = store_of(folder.file("r.db"));
  const auto again =
      run_sweep(plan_of("scenario = 's'\n[grid]\nchunk = [5, 6]\n"), store, with_fake_runners());
  REQUIRE(again);
  CHECK(again->from_file == 1);
  CHECK(store.all()->size() == 6);
}

TEST_CASE("sweep: a point that fails is kept with its reason, the others go on") {
  const Folder folder;
  SweepStore store = store_of(folder.file("r.db"));
  const auto report = run_sweep(plan_of("scenario = ['s', 'broken']\n"), store, with_fake_runners());
  REQUIRE(report);
  CHECK(report->results[0]->outcome);
  CHECK_THAT(report->results[1]->error, Contains("deadlocks"));
  CHECK(store.all()->size() == 2);
}

TEST_CASE("sweep: stopping is an error and keeps what was done") {
  const Folder folder;
  SweepStore store = store_of(folder.file("r.db"));
  SweepOptions options = with_fake_runners();
  options.progress = [](const SweepQueue&) { return false; };
  const auto report = run_sweep(plan_of("scenario = 's'\n[grid]\nchunk = [1, 2, 3]\n"), store, options);
  if (!report) CHECK(report.error().message == "stopped");
}

TEST_CASE("sweep store: files of others and of other versions are refused and left as they are") {
  const Folder folder;
  const std::string path = folder.file("r.db");
  const auto with_pragma = [&](const std::string& statement) {
    sqlite3* database = nullptr;
    REQUIRE(sqlite3_open(path.c_str(), &database) == SQLITE_OK);
    REQUIRE(sqlite3_exec(database, statement.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(database);
  };
  { store_of(path); }
  with_pragma("PRAGMA user_version = 99");
  const auto newer = SweepStore::open(path);
  REQUIRE_FALSE(newer);
  CHECK_THAT(newer.error().message, Contains("schema version 99") && Contains("version 1"));
  CHECK_THAT(newer.error().hint, Contains("name another file"));
  with_pragma("PRAGMA user_version = 1; PRAGMA application_id = 5");
  CHECK_THAT(SweepStore::open(path).error().message, Contains("not a result file"));
  std::filesystem::remove(path);
  with_pragma("CREATE TABLE t (x)");
  CHECK_THAT(SweepStore::open(path).error().message, Contains("not a result file"));
}

TEST_CASE("sweep results: as text and back") {
  FakeRunner runner;
  const auto good = run_point(runner, {.scenario = "s", .settings = {"chunk=2"}}, {});
  REQUIRE(good);
  const auto read = sweep_result_from_text(sweep_result_text(*good));
  REQUIRE(read);
  CHECK(read->key == good->key);
  CHECK(read->settings == good->settings);
  CHECK(read->outcome->time_us == 3);
  const auto bad = run_point(runner, {.scenario = "broken"}, {});
  REQUIRE(bad);
  CHECK_FALSE(sweep_result_from_text(sweep_result_text(*bad))->outcome);
  CHECK_FALSE(sweep_result_from_text("{}"));
}
