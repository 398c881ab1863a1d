#include "support/data_path.hpp"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

using ptxwire::find_data_file;

namespace {

/// Sets PTXWIRE_DATA for one scope and puts the former value back.
class DataVariable {
 public:
  explicit DataVariable(const std::string& value) {
    if (const char* before = std::getenv("PTXWIRE_DATA")) before_ = before;
    setenv("PTXWIRE_DATA", value.c_str(), 1);
  }
  ~DataVariable() {
    if (before_) {
      setenv("PTXWIRE_DATA", before_->c_str(), 1);
    } else {
      unsetenv("PTXWIRE_DATA");
    }
  }
  DataVariable(const DataVariable&) = delete;
  DataVariable& operator=(const DataVariable&) = delete;

 private:
  std::optional<std::string> before_;
};

}  // namespace

TEST_CASE("data path: a build tree finds the files of its source tree", "[contract]") {
  const DataVariable unset("");
  const auto found = find_data_file("support/data_path.hpp");
  REQUIRE(found.has_value());
  CHECK(std::filesystem::equivalent(*found,
                                    std::filesystem::path(PTXWIRE_SOURCE_DIR) / "support/data_path.hpp"));
}

TEST_CASE("data path: PTXWIRE_DATA is searched alone", "[contract]") {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("ptxwire_data_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder / "kernels");
  std::ofstream(folder / "kernels" / "a.ptx") << "x";
  {
    const DataVariable chosen(folder.string());
    const auto found = find_data_file("kernels/a.ptx");
    REQUIRE(found.has_value());
    CHECK(*found == (folder / "kernels" / "a.ptx").string());
    const auto elsewhere = find_data_file("support/data_path.hpp");
    REQUIRE_FALSE(elsewhere.has_value());
    CHECK(elsewhere.error().message.find(folder.string()) != std::string::npos);
  }
  std::filesystem::remove_all(folder);
}

TEST_CASE("data path: what is no relative path is refused", "[contract]") {
  CHECK_FALSE(find_data_file("").has_value());
  CHECK_FALSE(find_data_file("/etc/passwd").has_value());
  CHECK(find_data_file("no/such/file").error().message.find("no/such/file") != std::string::npos);
}
