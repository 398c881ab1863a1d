// Directives: .file, .loc, .pragma, .section, .alias, .attribute and the launch bounds of functions.
#include <algorithm>

#include "ptx_frontend/syntax/parser.hpp"

namespace ptxwire::ptx {

bool Parser::parse_file() {
  uint64_t number = 0;
  if (!parse_integer(number, "a file number after .file")) return false;
  if (token_.kind != TokenKind::string) return fail_expected("a quoted file name after .file");
  const std::string_view name = spelling();
  module_.files.emplace_back(static_cast<uint32_t>(number),
                             name.substr(1, name.size() >= 2 ? name.size() - 2 : 0));
  advance();
  uint64_t ignored = 0;
  while (accept(',')) {
    if (!parse_integer(ignored, "a time stamp or a size")) return false;
  }
  return true;
}

bool Parser::parse_location_triple(Location& location) {
  uint64_t file = 0, line = 0, column = 0;
  if (!parse_integer(file, "a file number") || !parse_integer(line, "a line number") ||
      !parse_integer(column, "a column number")) {
    return false;
  }
  location.file = static_cast<uint32_t>(file);
  location.line = static_cast<uint32_t>(line);
  location.column = static_cast<uint32_t>(column);
  return true;
}

/// .loc file line column [, function_name label[+n], inlined_at file line column]
bool Parser::parse_location() {
  Location location;
  if (!parse_location_triple(location)) return false;
  while (accept(',')) {
    if (!at_name()) return fail_expected("function_name or inlined_at");
    const bool inlined = spelling() == "inlined_at";
    advance();
    if (inlined) {
      Location outer;
      if (!parse_location_triple(outer)) return false;
      location.inlined_at = static_cast<uint32_t>(module_.locations.size());
      module_.locations.push_back(outer);
    } else {
      if (!at_name()) return fail_expected("a label after function_name");
      advance();
      uint64_t ignored = 0;
      if (accept('+') && !parse_integer(ignored, "an offset")) return false;
    }
  }
  location_ = static_cast<uint32_t>(module_.locations.size());
  module_.locations.push_back(location);
  return true;
}

bool Parser::parse_pragma() {
  do {
    if (token_.kind != TokenKind::string) return fail_expected("a quoted string after .pragma");
    const std::string_view text = spelling();
    if (!text.starts_with("\"nounroll") && !text.starts_with("\"used_bytes_mask") &&
        !text.starts_with("\"enable_smem_spilling") && !text.starts_with("\"frequency")) {
      diagnostics_.add({Severity::warning,
                        "unknown-pragma",
                        token_.range,
                        "unknown pragma " + std::string(text) + " is ignored",
                        {},
                        {}});
    }
    advance();
  } while (accept(','));
  return expect_semicolon();
}

/// DWARF: `.section .debug_info { .b8 1 ... }`; nothing in it is kept.
bool Parser::parse_section() {
  if (token_.kind != TokenKind::dot_word && !at_name()) return fail_expected("a section name after .section");
  advance();
  while (accept(',')) advance();  // optional flags
  if (!token_.is('{')) return fail_expected("'{' after the section name");
  if (!lexer_.skip_braces()) {
    token_ =
        Token{TokenKind::end,
              0,
              token_.line,
              {static_cast<uint32_t>(lexer_.text().size()), static_cast<uint32_t>(lexer_.text().size())}};
    return fail_expected("'}' at the end of the section");
  }
  advance();
  return true;
}

bool Parser::parse_alias() {
  Symbol alias;
  alias.kind = SymbolKind::alias;
  if (!parse_name(alias.name, alias.range, "a function name after .alias")) return false;
  if (!expect(',', "between the alias and its aliasee")) return false;
  SourceRange range;
  std::string_view aliasee;
  if (!parse_name(aliasee, range, "the name of the aliased function")) return false;
  alias.targets.push_back(aliasee);
  module_.symbols.push_back(std::move(alias));
  return expect_semicolon();
}

/// .attribute(.managed), .attribute(.unified(a, b)): read over.
bool Parser::parse_attribute() {
  if (!accept_word(".attribute")) return true;
  if (!expect('(', "after .attribute")) return false;
  for (unsigned depth = 1; depth != 0; advance()) {
    if (token_.is('(')) ++depth;
    if (token_.is(')')) --depth;
    if (token_.kind == TokenKind::end || token_.is('{') || token_.is(';'))
      return fail_expected("')' after the attribute");
  }
  return true;
}

/// Directives that may stand at module level and in a function body alike.
bool Parser::parse_directive(bool& handled) {
  handled = true;
  if (accept_word(".loc")) return parse_location();
  if (accept_word(".file")) return parse_file();
  if (accept_word(".pragma")) return parse_pragma();
  if (accept_word(".section")) return parse_section();
  handled = false;
  return true;
}

bool Parser::parse_counts(uint32_t* counts, unsigned limit) {
  unsigned n = 0;
  do {
    if (n == limit)
      return fail("syntax-error", "at most " + std::to_string(limit) + " numbers are expected here");
    uint64_t value = 0;
    if (!parse_integer(value, "a number")) return false;
    counts[n++] = static_cast<uint32_t>(std::min<uint64_t>(value, UINT32_MAX));
  } while (accept(','));
  for (; n < limit; ++n) counts[n] = 1;
  return true;
}

bool Parser::parse_launch_directives(LaunchDirectives& directives) {
  struct Row {
    std::string_view word;
    uint32_t* counts;
    unsigned limit;
  };
  const Row rows[] = {{".maxntid", directives.maxntid, 3},
                      {".reqntid", directives.reqntid, 3},
                      {".minnctapersm", &directives.minnctapersm, 1},
                      {".maxnctapersm", &directives.maxnctapersm, 1},
                      {".maxnreg", &directives.maxnreg, 1},
                      {".maxclusterrank", &directives.maxclusterrank, 1},
                      {".reqnctapercluster", directives.reqnctapercluster, 3}};
  uint32_t ignored = 0;
  while (token_.kind == TokenKind::dot_word) {
    const std::string_view word = spelling();
    const Row* row =
        std::find_if(std::begin(rows), std::end(rows), [&](const Row& r) { return r.word == word; });
    if (row != std::end(rows)) {
      advance();
      if (!parse_counts(row->counts, row->limit)) return false;
    } else if (word == ".abi_preserve" || word == ".abi_preserve_control") {
      advance();
      if (!parse_counts(&ignored, 1)) return false;
    } else if (word == ".explicitcluster") {
      directives.explicit_cluster = true;
      advance();
    } else if (word == ".blocksareclusters") {
      directives.blocks_are_clusters = true;
      advance();
    } else if (word == ".noreturn") {
      directives.no_return = true;
      advance();
    } else if (word == ".pragma") {
      advance();
      if (!parse_pragma()) return false;
    } else {
      return fail_directive(
          "directive of a function",
          {".maxntid", ".reqntid", ".minnctapersm", ".maxnctapersm", ".maxnreg", ".maxclusterrank",
           ".reqnctapercluster", ".explicitcluster", ".blocksareclusters", ".noreturn", ".pragma"});
    }
  }
  return true;
}

}  // namespace ptxwire::ptx
