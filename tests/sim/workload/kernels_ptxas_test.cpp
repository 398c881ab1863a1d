#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

const std::string kKernels = std::string(PTXWIRE_SOURCE_DIR) + "/kernels";

std::string ptxas() {
  for (const char* candidate : {"ptxas", "/usr/local/cuda/bin/ptxas"})
    if (std::system((std::string(candidate) + " --version >/dev/null 2>&1").c_str()) == 0) return candidate;
  return {};
}

}  // namespace

TEST_CASE("kernels: ptxas takes every committed PTX file, and each states an 8.x version") {
  const std::string assembler = ptxas();
  if (assembler.empty()) WARN("skipped: no ptxas on this machine; only the versions were checked");
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kKernels)) {
    if (entry.path().extension() != ".ptx") continue;
    ++files;
    INFO(entry.path().string());
    std::ifstream file(entry.path());
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    CHECK(text.find(".version 8.") != std::string::npos);
    CHECK(text.find(".target sm_90a") != std::string::npos);
    CHECK(text.find("//") == std::string::npos);  // comments name the compiler build
    if (!assembler.empty())
      CHECK(std::system((assembler + " -arch=sm_90a -o /dev/null '" + entry.path().string() + "'").c_str()) ==
            0);
  }
  CHECK(files >= 6);
}
