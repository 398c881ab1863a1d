#include "sim/report/table.hpp"

#include <catch2/catch.hpp>
#include <sstream>

using namespace ptxwire::sim;

TEST_CASE("table: columns are as wide as their widest cell and lines carry no trailing blanks") {
  Table table({{"name"}, {"n", Align::right}, {"note"}});
  table.add({"a", "1", "x"});
  table.add({"long name", "1000"});
  CHECK(table.text(2) ==
        "  name          n  note\n"
        "  a             1  x\n"
        "  long name  1000\n");
}

TEST_CASE("table: figures as people say them") {
  CHECK(signed_percent(2.54) == "+2.5 %");
  CHECK(signed_percent(-13) == "-13.0 %");
  CHECK(share_percent(0.374) == "37 %");
  CHECK(duration(0.85) == "850 ms");
  CHECK(duration(9.96) == "10.0 s");
  CHECK(duration(200) == "3 min 20 s");
  CHECK(duration(59.7) == "1 min 0 s");
  CHECK(duration(7500) == "2 h 5 min");
  CHECK(bytes(3.5 * 1024 * 1024) == "3.5 MiB");
  CHECK(bytes(12) == "12 B");
  CHECK(count(123456789) == "123.5 M");
}

TEST_CASE("table: wrapped text keeps its words and its width") {
  std::string words;
  for (int i = 0; i < 60; ++i) words += "word" + std::to_string(i) + ' ';
  const std::string text = wrapped(words, 4);
  std::istringstream lines(text), expected(words);
  std::string line, word, joined;
  while (std::getline(lines, line)) {
    CHECK(line.size() <= kReportWidth);
    joined += line + ' ';
  }
  std::istringstream actual(joined);
  std::string other;
  while (expected >> word) {
    REQUIRE(actual >> other);
    CHECK(other == word);
  }
  CHECK(wrapped("", 4) == "\n");
  CHECK(wrapped("a " + std::string(97, 'b'), 4) == "a " + std::string(97, 'b') + '\n');
  CHECK(wrapped("a " + std::string(97, 'b'), 4, 2) == "a\n    " + std::string(97, 'b') + '\n');
}
