// Malformed text: one message per fault at the right line, and its rendering.
#include <catch2/catch.hpp>

#include "tests/ptx_frontend/front_end_driver.hpp"

namespace ptxwire::ptx {
namespace {

using namespace test;
using List = std::vector<std::string>;

TEST_CASE("syntax: input that is no PTX gives one error", "[contract]") {
  CHECK(parse_text("").places() == List{"1: empty-input"});
  CHECK(parse_text("  // nothing\n").places() == List{"2: empty-input"});
  CHECK(parse_text(std::string("\x7f"
                               "ELF\0\1\2",
                               7))
            .places() == List{"1: binary-input"});
  CHECK(parse_text(std::string(".version 9.0\n\0\0", 15)).places() == List{"2: binary-input"});
  CHECK(parse_text(".version 9.0\n// caf\xc3\xa9\n").places() == List{"2: non-ascii"});
  CHECK(parse_text(".target sm_90a\n").places() == List{"1: missing-version"});
  CHECK(parse_text(".version 9.0\n.entry k() { ret; }\n").places() == List{"2: missing-target"});
  CHECK(parse_text(".version 9\n.target sm_90\n").places() == List{"1: syntax-error"});
  CHECK(parse_text(".version 0.9\n.target sm_90\n").places() == List{"1: unsupported-version"});
  // Newer than what is known here: one warning.
  CHECK(parse_text(".version 9.1\n.target sm_90\n").places(Severity::warning) == List{"1: newer-version"});
  CHECK(parse_text(".version 9.0\n.target sm_91\n").places() == List{"2: unsupported-target"});
  CHECK(parse_text(".version 9.0\n.target sm_90\n.address_size 32\n").places() ==
        List{"3: unsupported-address-size"});
}

TEST_CASE("syntax: truncated text gives one error wherever it is cut", "[contract]") {
  const std::string whole =
      header() +
      ".global .u32 x[2] = {1, 2};\n.visible .entry k(.param .u64 p)\n.maxntid 32\n{\n"
      ".reg .b32 %r<4>;\nL: @%p1 ld.global.v2.u32 {%r1, %r2}, [%r3+4];\n/* note */ { ret; }\n}\n";
  REQUIRE_FALSE(parse_text(whole).diagnostics.has_errors());
  const size_t first = whole.find(".entry");
  for (size_t cut = first + 7; cut + 2 < whole.size(); ++cut) {
    const auto parsed = parse_text(whole.substr(0, cut));
    INFO(whole.substr(0, cut));
    CHECK(parsed.places().size() == 1);
  }
}

TEST_CASE("syntax: errors are independent, and one run reports all", "[contract]") {
  const auto parsed = parse_text(header() +
                                 ".entry k() {\n"           // 4
                                 "add.s32 r1 r2, 5;\n"      // 5
                                 "mov.u32 r1, ;\n"          // 6
                                 "add.s32 r1, r2, 5\n"      // 7: the semicolon is missing
                                 "ld.u32 {r1, ` }, [d];\n"  // 8
                                 "st.u32 [d-4], r1;\n"      // 9
                                 ".regg .b32 x;\n"          // 10
                                 ";\n"                      // 11
                                 "ret;\n"
                                 "}\n"
                                 ".entri z() { ret; }\n"  // 14
                                 ".entry good() { ret; }\n");
  INFO(parsed.rendered());
  CHECK(parsed.places() == List{"5: syntax-error", "6: syntax-error", "7: missing-semicolon",
                                "8: unexpected-character", "9: syntax-error", "10: unknown-directive",
                                "11: syntax-error", "14: unknown-directive"});
  CHECK(parsed.module.functions.back().name == "good");
}

TEST_CASE("syntax: directives that ptxas refuses", "[contract]") {
  CHECK(parse_text(header() + "#define X 1\n").places() == List{"4: preprocessor-directive"});
  CHECK(parse_text(header() + ".entry k() {\n.loc 1 2 3;\n}\n").places() == List{"5: syntax-error"});
  CHECK(parse_text(header() + ".global .b8 s[4] = \"abc\";\n").places() == List{"4: syntax-error"});
  CHECK(parse_text(header() + ".visible .weak .entry k() { ret; }\n").places().front() ==
        "4: unknown-directive");
  CHECK(parse_text(header() + ".entry k() {\n.pragma nounroll;\n}\n").places() == List{"5: syntax-error"});
  CHECK(parse_text(header() + "/* never closed\n").places() == List{"4: unterminated-comment"});
  CHECK(parse_text(header() + ".entry k() {\n.pragma \"nounroll\n}\n").places().front() ==
        "5: unterminated-string");
}

TEST_CASE("syntax: an unknown pragma is a warning", "[contract]") {
  const auto parsed = parse_text(header() + ".entry k() {\n.pragma \"faster please\";\nret; }\n");
  CHECK_FALSE(parsed.diagnostics.has_errors());
  CHECK(parsed.places(Severity::warning) == List{"5: unknown-pragma"});
}

TEST_CASE("syntax: runaway nesting ends in an error", "[contract]") {
  const auto parsed = parse_text(header() + ".entry k() { mov.u32 r, " + std::string(100000, '(') + "1; }\n");
  REQUIRE(parsed.places().size() == 1);
  CHECK(parsed.places()[0] == "4: too-deep");
}

TEST_CASE("syntax: rendering with a caret, a note and a hint", "[golden]") {
  CHECK(
      check_text(header() + ".entry k() {\n\t.reg .b32 %r<4>;\n\tadd.s32\t%r1, %r2, %r7; // sum\n\tret;\n}\n")
          .rendered() ==
      "test.ptx:6:20: error: register '%r7' is not declared\n"
      "\tadd.s32\t%r1, %r2, %r7; // sum\n"
      "\t       \t          ^~~\n"
      "hint: '%r' is declared with 4 registers, %r0 to %r3\n");
  CHECK(check_text(header() + ".entry k() {\n  baz.sync 0;\n  ret;\n}\n").rendered() ==
        "test.ptx:5:3: error: unknown instruction 'baz'\n"
        "  baz.sync 0;\n"
        "  ^~~\n"
        "hint: did you mean 'bar'?\n");
  CHECK(check_text(header() + ".global .u32 x;\n.global .u32 x;\n").rendered() ==
        "test.ptx:5:14: error: 'x' is already defined in this block\n"
        ".global .u32 x;\n"
        "             ^\n"
        "test.ptx:4:14: note: first defined here\n"
        ".global .u32 x;\n"
        "             ^\n");
}

TEST_CASE("syntax: lines and columns count from one", "[contract]") {
  const std::string_view text = "ab\ncd\n";
  CHECK(line_column(text, 0).line == 1);
  CHECK(line_column(text, 1).column == 2);
  CHECK(line_column(text, 3).line == 2);
  CHECK(line_column(text, 3).column == 1);
  CHECK(line_column(text, 100).line == 3);
  const LineTable lines(text);
  for (const uint32_t offset : {0U, 1U, 3U, 4U, 100U}) {
    CHECK(lines.find(offset).line == line_column(text, offset).line);
    CHECK(lines.find(offset).column == line_column(text, offset).column);
  }
}

TEST_CASE("syntax: files that cannot be read are errors with their path", "[contract]") {
  const auto missing = read_text_file("/nonexistent/kernel.ptx");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().path == "/nonexistent/kernel.ptx");
  const auto folder = read_text_file("/");
  REQUIRE_FALSE(folder);
  CHECK(folder.error().message.find("directory") != std::string::npos);
}

}  // namespace
}  // namespace ptxwire::ptx
