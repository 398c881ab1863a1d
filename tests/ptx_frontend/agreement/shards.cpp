#include "tests/ptx_frontend/agreement/shards.hpp"

#include <algorithm>
#include <cctype>
#include <set>
#include <unordered_map>

namespace ptxwire::ptx::agreement {
namespace {

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$'; }

struct Statement {
  std::string_view text;
  std::string_view name;  ///< what it declares; empty for directives
  bool is_function = false;
  bool is_definition = false;
};

/// Position behind the statement of module level that begins at `at`: behind its ';' or its body.
size_t end_of_statement(std::string_view text, size_t at) {
  if (text.substr(at).starts_with(".file") || text.substr(at).starts_with(".loc"))
    return std::min(text.find('\n', at), text.size());
  unsigned depth = 0;
  bool initialiser = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '/' && text.substr(at, 2) == "//") at = std::min(text.find('\n', at), text.size() - 1);
    if (c == '"') at = std::min(text.find('"', at + 1), text.size() - 1);
    if (c == '=' && depth == 0) initialiser = true;
    if (c == '{') ++depth;
    if (c == '}' && --depth == 0 && !initialiser) return at + 1;
    if (c == ';' && depth == 0) return at + 1;
  }
  return text.size();
}

/// The name before the first of "(", "[", "=" and ";" that ends one; of a function behind the list of its
/// results.
std::string_view declared_name(std::string_view text, bool is_function) {
  size_t begin = 0;
  if (is_function) {
    begin = text.find(text.find(".entry") < text.find(".func") ? ".entry" : ".func");
    begin = text.find_first_of(" \t\n(", begin);
    const size_t first = text.find_first_not_of(" \t\n", begin);
    if (first != std::string_view::npos && text[first] == '(') begin = text.find(')', first) + 1;
  }
  size_t end = std::min(text.find_first_of(is_function ? "({;" : "[=;{", begin), text.size());
  while (end > begin && !is_name(text[end - 1])) --end;
  size_t from = end;
  while (from > begin && is_name(text[from - 1])) --from;
  return text.substr(from, end - from);
}

std::vector<Statement> statements(std::string_view text, std::string& header) {
  std::vector<Statement> list;
  size_t at = 0;
  while (true) {
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])) != 0) ++at;
    if (at >= text.size()) return list;
    if (text.substr(at, 2) == "//") {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    const std::string_view rest = text.substr(at);
    if (rest.starts_with(".version") || rest.starts_with(".target") || rest.starts_with(".address_size")) {
      const size_t end = std::min(text.find('\n', at), text.size());
      header += std::string(text.substr(at, end - at)) + '\n';
      at = end;
      continue;
    }
    const size_t end = end_of_statement(text, at);
    Statement statement{text.substr(at, end - at), {}, false, false};
    const std::string_view head = statement.text.substr(0, statement.text.find_first_of("({=;"));
    statement.is_function =
        head.find(".func") != std::string_view::npos || head.find(".entry") != std::string_view::npos;
    statement.is_definition = statement.text.ends_with('}');
    if (!rest.starts_with(".file") && !rest.starts_with(".section") && !rest.starts_with(".pragma"))
      statement.name = declared_name(statement.text, statement.is_function);
    list.push_back(statement);
    at = end;
  }
}

}  // namespace

std::vector<std::string> shards(std::string_view module, size_t longest) {
  std::string header;
  const std::vector<Statement> all = statements(module, header);
  std::unordered_map<std::string_view, std::vector<size_t>> by_name;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!all[i].name.empty()) by_name[all[i].name].push_back(i);
  }
  std::vector<std::string> modules;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!all[i].is_function || !all[i].is_definition) continue;
    std::set<size_t> wanted;
    std::vector<size_t> open = by_name[all[i].name];
    size_t bytes = 0;
    while (!open.empty() && bytes <= longest) {
      const size_t next = open.back();
      open.pop_back();
      if (!wanted.insert(next).second) continue;
      const std::string_view text = all[next].text;
      bytes += text.size();
      for (size_t at = 0; at < text.size();) {
        size_t end = at;
        while (end < text.size() && is_name(text[end])) ++end;
        if (const auto found = by_name.find(text.substr(at, end - at)); found != by_name.end())
          open.insert(open.end(), found->second.begin(), found->second.end());
        at = end + 1;
      }
    }
    if (bytes > longest) continue;
    // Lines of debug information name files and sections that are not taken along.
    std::string text = header;
    for (size_t index : wanted) text += std::string(all[index].text) + '\n';
    if (text.find("\t.loc") == std::string::npos) modules.push_back(std::move(text));
  }
  return modules;
}

}  // namespace ptxwire::ptx::agreement
