// What is said about faulty PTX, word for word: places, alternatives, hints, notes, and nothing twice. The
// cases and the texts are in data/golden_diagnostics.txt; PTXWIRE_UPDATE_GOLDEN=1 writes what is said today,
// for reading before it is committed.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "tests/ptx_frontend/front_end_driver.hpp"

namespace ptxwire::ptx {
namespace {

using namespace test;

constexpr const char* kPath = PTXWIRE_SOURCE_DIR "/tests/ptx_frontend/data/golden_diagnostics.txt";

struct Case {
  std::string
      kind;  ///< "statement": in a kernel with all registers; "module": behind a header; "file": as it is
  size_t errors = 1;
  std::string input, expected;
};

/// "=== kind [number of errors]", the input, "---", the expected text.
std::vector<Case> read_cases() {
  std::vector<Case> cases;
  std::ifstream file(kPath);
  bool expected = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("=== ")) {
      Case& next = cases.emplace_back();
      std::istringstream words(line.substr(4));
      words >> next.kind;
      if (!(words >> next.errors)) next.errors = 1;
      expected = false;
    } else if (line == "---") {
      expected = true;
    } else if (!cases.empty()) {
      (expected ? cases.back().expected : cases.back().input) += line + '\n';
    }
  }
  return cases;
}

Checked outcome(const Case& item) {
  std::string text = item.input;
  if (item.kind == "statement") text = module_prefix() + text + module_suffix();
  if (item.kind == "module") text = header() + text;
  Checked result = parse_text(std::move(text));
  check(result.module, result.diagnostics);
  return result;
}

void write_cases(const std::vector<Case>& cases) {
  std::ofstream file(kPath);
  file << "Faulty PTX and what is said about it. See golden_diagnostics_test.cpp.\n";
  for (const Case& item : cases) {
    file << "=== " << item.kind << (item.errors == 1 ? "" : ' ' + std::to_string(item.errors)) << '\n'
         << item.input << "---\n"
         << outcome(item).rendered();
  }
}

TEST_CASE("diagnostics: read like those of a good compiler", "[golden]") {
  const std::vector<Case> cases = read_cases();
  REQUIRE(cases.size() >= 150);
  if (std::getenv("PTXWIRE_UPDATE_GOLDEN") != nullptr) return write_cases(cases);
  for (const Case& item : cases) {
    INFO(item.input);
    const Checked result = outcome(item);
    CHECK(result.places().size() == item.errors);
    CHECK(result.rendered() == item.expected);
  }
}

}  // namespace
}  // namespace ptxwire::ptx
