#include "sim/study/result_store.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "fake_runner.hpp"
#include "sim/study/content_hash.hpp"

using namespace ptxwire;
using namespace ptxwire::sim;

namespace {

namespace fs = std::filesystem;

/// A folder of this test alone, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (fs::temp_directory_path() / "ptxwire-store-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code failed;
    fs::remove_all(path_, failed);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

ResultStore opened(const std::string& path) {
  Expected<ResultStore> store = ResultStore::open(path);
  if (!store) FAIL(store.error().to_string());
  return *std::move(store);
}

}  // namespace

TEST_CASE("content hash: the published FNV-1a vectors, through the length that ends a field") {
  // FNV-1a 128 of "" is the offset basis; eight zero bytes of length follow, so only inequality is checkable
  // here against the basis, and equality against a second computation.
  const std::string empty = ContentHash().hex();
  CHECK(empty == "6c62272e07bb014262b821756295c58d");  // the published offset basis
  CHECK(ContentHash().add("").hex() != empty);
  CHECK(ContentHash().add("ab").add("c").hex() != ContentHash().add("a").add("bc").hex());
  CHECK(ContentHash().add("ab").hex() == ContentHash().add("ab").hex());
}

TEST_CASE("result store: keeps texts over closing and opening") {
  const TemporaryFolder folder;
  const std::string path = folder.file("deep/cache/results.sqlite");
  {
    ResultStore store = opened(path);
    CHECK_FALSE(store.find("k").has_value());
    REQUIRE(store.put("k", "what", "one"));
    REQUIRE(store.put("k", "what", "two"));
  }
  CHECK(opened(path).find("k") == "two");
}

TEST_CASE("result store: a damaged file is put aside and replaced") {
  const TemporaryFolder folder;
  const std::string path = folder.file("results.sqlite");
  std::ofstream(path)
      << "this is no database, whatever its name says; long enough to hold a header of 100 bytes "
         "that SQLite would want to read here";
  ResultStore store = opened(path);
  CHECK_FALSE(store.find("k").has_value());
  REQUIRE(store.put("k", "what", "text"));
  CHECK(store.find("k") == "text");
  CHECK(fs::exists(path + ".damaged"));
}

TEST_CASE("result store: a file cut in the middle is put aside and replaced") {
  const TemporaryFolder folder;
  const std::string path = folder.file("results.sqlite");
  {
    ResultStore store = opened(path);
    for (int i = 0; i < 50; ++i) REQUIRE(store.put(std::to_string(i), "what", std::string(4000, 'x')));
  }
  fs::resize_file(path, fs::file_size(path) / 3);
  fs::remove(path + "-wal");
  ResultStore store = opened(path);
  REQUIRE(store.put("k", "what", "text"));
  CHECK(store.find("k") == "text");
}

TEST_CASE("result store: a process killed while it writes leaves whole results") {
  const TemporaryFolder folder;
  const std::string path = folder.file("results.sqlite");
  const std::string whole(20000, 'w');
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t child = fork();
  if (child == 0) {
    Expected<ResultStore> store = ResultStore::open(path);
    for (int i = 0; store; ++i) {
      if (!store->put("k" + std::to_string(i % 10), "what", whole)) break;
      if (i == 20 && write(ready[1], "x", 1) != 1) break;
    }
    _exit(1);
  }
  char byte = 0;
  REQUIRE(read(ready[0], &byte, 1) == 1);  // it is in the middle of its endless writing now
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
  const ResultStore store = opened(path);
  for (int i = 0; i < 10; ++i) CHECK(store.find("k" + std::to_string(i)) == whole);
}

TEST_CASE("result store: a place that cannot be written is an error") {
  const TemporaryFolder folder;
  std::ofstream(folder.file("file")) << "x";
  CHECK_FALSE(ResultStore::open(folder.file("file") + "/results.sqlite"));
}

TEST_CASE("caching runner: same fingerprint runs once, another one again") {
  const TemporaryFolder folder;
  ResultStore store = opened(folder.file("results.sqlite"));
  FakeRunner inner;
  CachingRunner runner(inner, &store);
  const Job job{.scenario = "s", .settings = {"chunk=3"}};
  const auto first = runner.run(job, {});
  const auto second = runner.run(job, {});
  REQUIRE(first);
  REQUIRE(second);
  CHECK(inner.runs == 1);
  CHECK_FALSE(first->from_cache);
  CHECK(second->from_cache);
  CHECK(second->time_us == first->time_us);
  CHECK(second->settings == first->settings);
  REQUIRE(second->kernels.size() == 1);
  CHECK(second->kernels[0].rank0_us == 0.5);
  CHECK(second->figures.empty());

  REQUIRE(runner.run({.scenario = "micro"}, {}));
  const auto stored = runner.run({.scenario = "micro"}, {});
  REQUIRE(stored->from_cache);
  REQUIRE(stored->figures.size() == 2);
  CHECK(stored->figures[0].name == "gb_per_s");
  CHECK(stored->figures[1].value == 250);
  CHECK(stored->figures[1].unit == "clk");
  inner.runs = 1;

  REQUIRE(runner.run({.scenario = "s", .settings = {"chunk=4"}}, {}));
  CHECK(inner.runs == 2);
  inner.version = "2";
  REQUIRE(runner.run(job, {}));
  CHECK(inner.runs == 3);
}

TEST_CASE("caching runner: failures are not kept and half-written results are computed again") {
  const TemporaryFolder folder;
  ResultStore store = opened(folder.file("results.sqlite"));
  FakeRunner inner;
  CachingRunner runner(inner, &store);
  CHECK_FALSE(runner.run({.scenario = "broken"}, {}));
  CHECK_FALSE(runner.run({.scenario = "broken"}, {}));
  CHECK(inner.runs == 2);

  const Job job{.scenario = "s"};
  REQUIRE(store.put(*runner.fingerprint(job), "what", "{\"time_us\": 3, \"scen"));
  const auto outcome = runner.run(job, {});
  REQUIRE(outcome);
  CHECK(outcome->time_us == 1);
  CHECK(inner.runs == 3);
}
