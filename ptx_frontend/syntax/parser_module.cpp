// Module level: the header, directives, functions; and parse(), the entrance.
#include <algorithm>
#include <charconv>
#include <cstring>

#include "ptx_frontend/frontend.hpp"
#include "ptx_frontend/syntax/parser.hpp"
#include "support/nearest.hpp"

namespace ptxwire::ptx {

Parser::Parser(Module& module, Diagnostics& diagnostics)
    : module_(module), diagnostics_(diagnostics), lexer_(*module.text, diagnostics) {}

// ---------------------------------------------------------------- tokens and errors

bool Parser::accept(char c) {
  if (!token_.is(c)) return false;
  advance();
  return true;
}

bool Parser::accept_word(std::string_view word) {
  if (!at_word(word)) return false;
  advance();
  return true;
}

std::string Parser::found() const {
  if (token_.kind == TokenKind::end) return "the end of the file";
  return "'" + std::string(spelling()) + "'";
}

/// A text that is cut off gives one error: at its end, or at the word that the cut went through.
bool Parser::fail_at(SourceRange range, std::string_view id, std::string message, std::string hint) {
  const bool at_end = range.begin == lexer_.text().size();
  if (at_end || range.end == lexer_.text().size()) {
    if (truncated_ || lexer_.cut_off()) return false;
    truncated_ = true;
    if (at_end || token_.kind == TokenKind::identifier || token_.kind == TokenKind::dot_word) {
      id = "unexpected-end";
      hint = "the file looks truncated";
    }
  }
  if (token_.kind == TokenKind::unknown) {
    id = "unexpected-character";
    message = "unexpected character " + found();
  }
  diagnostics_.add({Severity::error, id, range, std::move(message), std::move(hint), {}});
  return false;
}

bool Parser::fail(std::string_view id, std::string message, std::string hint) {
  return fail_at(token_.range, id, std::move(message), std::move(hint));
}

bool Parser::fail_expected(std::string_view what) {
  return fail("syntax-error", "expected " + std::string(what) + ", found " + found());
}

bool Parser::expect(char c, std::string_view after) {
  if (accept(c)) return true;
  return fail_expected(std::string("'") + c + "' " + std::string(after));
}

/// "unknown directive '.globl' at module level", with the nearest of the known ones.
bool Parser::fail_directive(std::string_view where, std::initializer_list<std::string_view> known) {
  const std::string meant = nearest(spelling(), std::vector<std::string_view>(known));
  const size_t blank = std::min(where.find(' '), where.size());
  return fail("unknown-directive",
              "unknown " + std::string(where.substr(0, blank)) + " '" + std::string(spelling()) + "'" +
                  std::string(where.substr(blank)),
              meant.empty() ? std::string() : "did you mean '" + meant + "'?");
}

/// A ';' that is missing at the end of a line is reported there, and nothing is skipped.
bool Parser::expect_semicolon() {
  if (accept(';')) return true;
  const std::string_view between = lexer_.text().substr(previous_.end, token_.range.begin - previous_.end);
  if (between.find('\n') == std::string_view::npos || token_.kind == TokenKind::end)
    return fail_expected("';'");
  fail_at({previous_.end - 1, previous_.end}, "missing-semicolon",
          "expected ';' at the end of the statement");
  return true;
}

/// Skips to just after the next ';' or to a brace that ends or begins a block. Braces of a vector operand do
/// neither: '}' closes one that was open where the error was, '{' begins one when it does not begin its line.
void Parser::recover() {
  uint32_t last_line = token_.line;
  while (token_.kind != TokenKind::end) {
    if (token_.is('}') && open_braces_-- == 0) break;
    if (token_.is('{') && token_.line != last_line) break;
    if (token_.is('{')) ++open_braces_;
    last_line = token_.line;
    const bool done = token_.is(';');
    advance();
    if (done) break;
  }
  open_braces_ = 0;
}

// ---------------------------------------------------------------- header

bool Parser::parse_version() {
  const std::string_view text = spelling();
  const size_t dot = text.find('.');
  if (token_.kind != TokenKind::floating || dot == std::string_view::npos) {
    return fail_expected("a version number such as 8.5 after .version");
  }
  std::from_chars(text.data(), text.data() + dot, module_.version_major);
  std::from_chars(text.data() + dot + 1, text.data() + text.size(), module_.version_minor);
  if (module_.version_major == 0) {
    fail("unsupported-version", "PTX version " + std::string(text) + " does not exist, the first is 1.0");
  } else if (module_.version_major > 9 || (module_.version_major == 9 && module_.version_minor > 0)) {
    diagnostics_.add({Severity::warning,
                      "newer-version",
                      token_.range,
                      "PTX version " + std::string(text) +
                          " is newer than 9.0, forms that came with it are not known here",
                      {},
                      {}});
  }
  advance();
  return true;
}

bool Parser::parse_target() {
  do {
    if (!at_name()) return fail_expected("a target such as sm_90a after .target");
    const std::string_view name = spelling();
    const size_t prefix = name.starts_with("sm_") ? 3 : name.starts_with("compute_") ? 8 : 0;
    if (prefix != 0) {
      unsigned sm = 0;
      const auto [end, code] = std::from_chars(name.data() + prefix, name.data() + name.size(), sm);
      const std::string_view suffix = name.substr(static_cast<size_t>(end - name.data()));
      static constexpr unsigned kKnown[] = {20, 30, 32, 35, 37, 50, 52, 53,  60,  61,  62,  70,  72,
                                            75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121};
      const bool known = std::find(std::begin(kKnown), std::end(kKnown), sm) != std::end(kKnown);
      if (!known || !(suffix.empty() || (suffix == "a" && sm >= 90) || (suffix == "f" && sm >= 100))) {
        return fail("unsupported-target", "unknown target '" + std::string(name) +
                                              "', expected sm_90a, sm_90 or another released target");
      }
      module_.target = name;
      module_.target_sm = sm;
      module_.target_arch_specific = !suffix.empty();
    } else if (name == "debug") {
      module_.target_debug = true;
    } else if (name != "texmode_unified" && name != "texmode_independent" && name != "texmode_raw" &&
               name != "map_f64_to_f32") {
      return fail("unsupported-target", "unknown target '" + std::string(name) +
                                            "', expected sm_90a, sm_90 or another released target");
    }
    advance();
  } while (accept(','));
  return true;
}

bool Parser::parse_address_size() {
  uint64_t bits = 0;
  const SourceRange range = token_.range;
  if (!parse_integer(bits, "64 after .address_size")) return false;
  if (bits != 64) {
    fail_at(range, "unsupported-address-size",
            "address size " + std::to_string(bits) + " is not supported, expected 64");
  }
  return true;
}

bool Parser::parse_header() {
  advance();
  if (token_.kind == TokenKind::end) {
    diagnostics_.add({Severity::error,
                      "empty-input",
                      token_.range,
                      "no PTX in this file, expected '.version' at its start",
                      {},
                      {}});
    return false;
  }
  if (!accept_word(".version")) {
    return fail("missing-version", "expected '.version' at the start of a PTX file, found " + found(),
                "a PTX file begins with '.version 8.5', '.target sm_90a', '.address_size 64'");
  }
  if (!parse_version()) return false;
  if (!accept_word(".target"))
    return fail("missing-target", "expected '.target' after '.version', found " + found());
  if (!parse_target()) return false;
  while (accept_word(".target")) {
    if (!parse_target()) return false;
  }
  if (accept_word(".address_size")) return parse_address_size();
  return true;
}

// ---------------------------------------------------------------- functions

/// A forward declaration and its definition are two Functions and one Symbol, which points to the definition.
void Parser::register_function(Function&& function) {
  const auto index = static_cast<uint32_t>(module_.functions.size());
  const auto [place, inserted] =
      function_symbols_.try_emplace(function.name, static_cast<uint32_t>(module_.symbols.size()));
  if (!inserted) {
    Symbol& known = module_.symbols[place->second];
    const Function& earlier = module_.functions[known.function];
    const bool both_defined = earlier.is_definition && function.is_definition;
    if (!both_defined) {
      if (function.is_definition) {
        known.function = index;
        known.linkage = function.linkage;
      }
      module_.functions.push_back(std::move(function));
      return;
    }
  }
  Symbol symbol;
  symbol.kind = SymbolKind::function;
  symbol.linkage = function.linkage;
  symbol.name = function.name;
  symbol.range = function.name_range;
  symbol.function = index;
  module_.symbols.push_back(symbol);
  module_.functions.push_back(std::move(function));
}

bool Parser::parse_function(Linkage linkage, bool is_entry) {
  Function function;
  function.is_entry = is_entry;
  function.linkage = linkage;
  function.scopes.emplace_back();
  if (!parse_attribute()) return false;
  std::vector<Symbol> returns, parameters;
  if (!is_entry && token_.is('(') && !parse_parameter_list(returns, false)) return false;
  if (!parse_name(function.name, function.name_range,
                  is_entry ? "a kernel name after .entry" : "a function name after .func")) {
    return false;
  }
  if (token_.is('(') && !parse_parameter_list(parameters, false)) return false;
  for (auto* list : {&returns, &parameters}) {
    auto& indices = list == &returns ? function.returns : function.parameters;
    for (Symbol& symbol : *list) {
      indices.push_back(static_cast<uint32_t>(function.symbols.size()));
      function.symbols.push_back(std::move(symbol));
    }
  }
  if (!parse_attribute() || !parse_launch_directives(function.directives)) return false;
  if (token_.is('{')) {
    function.is_definition = true;
    parse_body(function);
    register_function(std::move(function));
    return true;
  }
  register_function(std::move(function));
  return token_.is(';') ? accept(';') : fail_expected("'{' or ';' after the function header");
}

// ---------------------------------------------------------------- module

bool Parser::parse_module_statement() {
  bool handled = false;
  if (!parse_directive(handled) || handled) return handled;
  if (token_.is('@')) {  // @@dwarf lines of old compilers
    lexer_.skip_line();
    advance();
    return true;
  }
  if (accept_word(".alias")) return parse_alias();
  Linkage linkage = Linkage::none;
  if (accept_word(".visible")) {
    linkage = Linkage::visible;
  } else if (accept_word(".extern")) {
    linkage = Linkage::external;
  } else if (accept_word(".weak")) {
    linkage = Linkage::weak;
  } else if (accept_word(".common")) {
    linkage = Linkage::common;
  }
  if (accept_word(".entry")) return parse_function(linkage, true);
  if (accept_word(".func")) return parse_function(linkage, false);
  static constexpr std::pair<std::string_view, Space> kSpaces[] = {
      {".global", Space::global}, {".const", Space::constant}, {".shared", Space::shared}};
  for (const auto& [word, space] : kSpaces) {
    if (accept_word(word)) return parse_variables(linkage, space, module_.symbols, 0);
  }
  if (at_word(".reg"))
    return fail("misplaced-register", "registers are declared inside a function, not at module level");
  if (at_word(".local") || at_word(".param")) {
    return fail("misplaced-variable", "'" + std::string(spelling()) +
                                          "' variables are declared inside a function, not at module level");
  }
  if (at_word(".version") || at_word(".target") || at_word(".address_size")) {
    return fail("misplaced-directive",
                "'" + std::string(spelling()) + "' may only stand once, at the start of the file");
  }
  if (token_.kind == TokenKind::dot_word) {
    return fail_directive("directive at module level",
                          {".visible", ".extern", ".weak", ".common", ".entry", ".func", ".global", ".const",
                           ".shared", ".alias", ".file", ".section", ".pragma"});
  }
  return fail_expected("a directive, a variable or a function at module level");
}

void Parser::parse_module() {
  if (!parse_header()) return;
  while (token_.kind != TokenKind::end) {
    if (parse_module_statement()) continue;
    recover();
    if (token_.is('{')) {  // the body of a function whose header is wrong
      if (!lexer_.skip_braces()) return;
      advance();
    } else if (token_.is('}')) {
      advance();
    }
  }
}

namespace {

/// One error for input that is no PTX text at all, so that a binary does not give a thousand.
bool is_text(const std::string& text, Diagnostics& diagnostics) {
  const auto refuse = [&](size_t at, std::string_view id, std::string message, std::string hint) {
    const auto offset = static_cast<uint32_t>(at);
    diagnostics.add({Severity::error, id, {offset, offset + 1}, std::move(message), std::move(hint), {}});
    return false;
  };
  if (text.size() >= UINT32_MAX)
    return refuse(0, "too-large", "file is too large, at most 4 GiB are read", "");
  const bool elf = text.starts_with("\177ELF") || text.starts_with(std::string_view("\x50\xed\x55\xba", 4));
  const void* zero = std::memchr(text.data(), 0, text.size());
  if (elf || zero != nullptr) {
    return refuse(elf ? 0 : static_cast<size_t>(static_cast<const char*>(zero) - text.data()), "binary-input",
                  "this is a binary file, not PTX text",
                  elf ? "'ptxwire extract' takes PTX out of binaries" : "");
  }
  const auto bad = std::find_if(text.begin(), text.end(), [](char c) { return (c & 0x80) != 0; });
  if (bad != text.end()) {
    return refuse(static_cast<size_t>(bad - text.begin()), "non-ascii",
                  "non-ASCII byte, PTX is ASCII also in comments", "");
  }
  return true;
}

}  // namespace

Module parse(std::shared_ptr<const std::string> text, std::string path, Diagnostics& diagnostics) {
  Module module;
  module.path = std::move(path);
  module.text = std::move(text);
  if (is_text(*module.text, diagnostics)) Parser(module, diagnostics).parse_module();
  return module;
}

}  // namespace ptxwire::ptx
