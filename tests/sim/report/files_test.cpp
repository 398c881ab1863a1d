#include "sim/report/files.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

using namespace ptxwire::sim;

namespace {

namespace fs = std::filesystem;

struct Folder {
  fs::path path;
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "ptxwire-files-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    path = pattern;
  }
  ~Folder() {
    std::error_code failed;
    fs::remove_all(path, failed);
  }
  [[nodiscard]] size_t files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(path), fs::directory_iterator()));
  }
};

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

TEST_CASE("files: written whole, nothing else is left") {
  const Folder folder;
  const std::string path = (folder.path / "out.json").string();
  REQUIRE(write_file(path, "first"));
  REQUIRE(write_file(path, "second"));
  CHECK(content(path) == "second");
  CHECK(folder.files() == 1);
}

TEST_CASE("files: checking leaves an existing file as it was") {
  const Folder folder;
  const std::string path = (folder.path / "out.json").string();
  REQUIRE(check_writable(path));
  CHECK(folder.files() == 0);
  REQUIRE(write_file(path, "old"));
  REQUIRE(check_writable(path));
  CHECK(content(path) == "old");
  CHECK(folder.files() == 1);
}

TEST_CASE("files: places that cannot be written are found before the run") {
  const Folder folder;
  CHECK_FALSE(check_writable((folder.path / "missing" / "out.json").string()));
  CHECK_FALSE(check_writable(folder.path.string()));
  CHECK_FALSE(check_writable(""));
  REQUIRE(write_file((folder.path / "file").string(), "x"));
  CHECK_FALSE(check_writable((folder.path / "file" / "out.json").string()));
}

TEST_CASE("files: a device is written directly") {
  CHECK(check_writable("/dev/null"));
  CHECK(write_file("/dev/null", "x"));
  CHECK_FALSE(fs::exists("/dev/null.tmp"));
}
