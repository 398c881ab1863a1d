#include "ptx_frontend/check/names.hpp"

#include <algorithm>
#include <span>
#include <string>

namespace ptxwire::ptx {
namespace {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_label_like(SymbolKind kind) {
  return kind == SymbolKind::label || kind == SymbolKind::call_prototype ||
         kind == SymbolKind::branch_targets || kind == SymbolKind::call_targets;
}

/// Calls `use(stem, number)` for each way to read a name as <stem><number>, shortest number last: %rd12 is
/// (%rd, 12) and (%rd1, 2).
template <typename Use>
void for_each_stem(std::string_view name, Use use) {
  size_t begin = name.size();
  while (begin > 1 && is_digit(name[begin - 1])) --begin;
  for (; begin < name.size(); ++begin) {
    uint64_t number = 0;
    for (size_t i = begin; i < name.size() && number <= UINT32_MAX; ++i) {
      number = number * 10 + static_cast<uint64_t>(name[i] - '0');
    }
    if (number <= UINT32_MAX) use(name.substr(0, begin), static_cast<uint32_t>(number));
  }
}

/// The symbols of `scope` in a list sorted by scope.
std::span<const uint32_t> of_scope(const Function& function, std::span<const uint32_t> symbols,
                                   uint32_t scope) {
  const auto scope_of = [&](uint32_t symbol) { return function.symbols[symbol].scope; };
  const auto found = std::ranges::equal_range(symbols, scope, {}, scope_of);
  return {found.begin(), found.end()};
}

/// What must be unique.
struct Declaration {
  std::string_view name;
  uint32_t scope = 0;
  bool parametrised = false;
  bool operator==(const Declaration&) const = default;
};
struct DeclarationHash {
  size_t operator()(const Declaration& d) const {
    return std::hash<std::string_view>{}(d.name) + 2 * size_t{d.scope} * 0x9E3779B97F4A7C15U + d.parametrised;
  }
};

void report_duplicate(Diagnostics& diagnostics, const Symbol& symbol, const Symbol& earlier) {
  diagnostics.add({Severity::error,
                   "duplicate-definition",
                   symbol.range,
                   "'" + std::string(symbol.name) + "' is already defined in this block",
                   {},
                   {{earlier.range, "first defined here"}}});
}

}  // namespace

ModuleNames::ModuleNames(const Module& module, Diagnostics& diagnostics) : module_(module) {
  for (uint32_t i = 0; i < module.symbols.size(); ++i) {
    const Symbol& symbol = module.symbols[i];
    const auto [place, inserted] = names_.try_emplace(symbol.name, i);
    if (inserted) continue;
    const Symbol& earlier = module.symbols[place->second];
    // An .extern declaration of a variable may be followed by its definition, a declared function by its
    // alias.
    const bool defines = earlier.kind == SymbolKind::variable && symbol.kind == SymbolKind::variable &&
                         earlier.linkage == Linkage::external &&
                         (symbol.linkage == Linkage::visible || symbol.linkage == Linkage::weak);
    const bool aliases = earlier.kind == SymbolKind::function && symbol.kind == SymbolKind::alias &&
                         !module.functions[earlier.function].is_definition;
    const bool completes = defines || aliases;
    if (completes) {
      place->second = i;
    } else {
      report_duplicate(diagnostics, symbol, earlier);
    }
  }
}

NameMatch ModuleNames::find(std::string_view name, uint32_t position) const {
  const auto found = names_.find(name);
  if (found == names_.end() || module_.symbols[found->second].range.begin >= position) return {};
  return {found->second | kModuleSymbolBit, 0};
}

std::vector<std::string_view> ModuleNames::list() const {
  std::vector<std::string_view> names;
  for (const Symbol& symbol : module_.symbols) names.push_back(symbol.name);
  return names;
}

FunctionNames::FunctionNames(const Function& function, const ModuleNames& module, Diagnostics& diagnostics)
    : function_(function), module_(module), last_inside_(function.scopes.size()) {
  for (auto s = static_cast<uint32_t>(last_inside_.size()); s-- > 0;) {
    last_inside_[s] = std::max(last_inside_[s], s);
    if (s == 0) break;
    uint32_t& around = last_inside_[function.scopes[s].parent];
    around = std::max(around, last_inside_[s]);
  }
  for (uint32_t i = 0; i < function.symbols.size(); ++i) {
    const Symbol& symbol = function.symbols[i];
    if (symbol.name.empty()) continue;  // parameters of declarations need no name
    Index& index = is_label_like(symbol.kind) ? labels_ : symbol.parametrised ? ranges_ : names_;
    index[symbol.name].push_back(i);
  }
  for (Index* index : {&labels_, &ranges_, &names_}) {
    for (auto& [name, symbols] : *index)
      std::ranges::stable_sort(symbols, {}, [&](uint32_t symbol) { return function.symbols[symbol].scope; });
  }
  report_duplicates(diagnostics);
}

void FunctionNames::report_duplicates(Diagnostics& diagnostics) const {
  // Labels and variables share one name space; a range of registers is a name of its own.
  std::unordered_map<Declaration, const Symbol*, DeclarationHash> seen;
  for (const Symbol& symbol : function_.symbols) {
    if (symbol.name.empty()) continue;
    const auto [earlier, inserted] =
        seen.try_emplace({symbol.name, symbol.scope, symbol.parametrised}, &symbol);
    if (!inserted) report_duplicate(diagnostics, symbol, *earlier->second);
  }
  if (ranges_.empty()) return;
  for (const auto& [name, symbols] : names_) {
    for_each_stem(name, [&](std::string_view stem, uint32_t number) {
      const auto found = ranges_.find(stem);
      if (found == ranges_.end()) return;
      for (uint32_t i : symbols) {
        for (uint32_t r : of_scope(function_, found->second, function_.symbols[i].scope)) {
          const Symbol &plain = function_.symbols[i], &range = function_.symbols[r];
          if (number >= range.count) continue;
          const bool later = plain.range.begin > range.range.begin;
          report_duplicate(diagnostics, later ? plain : range, later ? range : plain);
        }
      }
    });
  }
}

bool FunctionNames::encloses(uint32_t outer, uint32_t inner) const {
  return outer <= inner && inner <= last_inside_[outer];
}

/// Scopes are numbered as they open, so of two that enclose `scope` the inner one has the larger number.
uint32_t FunctionNames::innermost(const std::vector<uint32_t>& symbols, uint32_t scope, uint32_t position,
                                  uint32_t best, uint32_t element) const {
  const auto take = [&](uint32_t i) {
    const Symbol& symbol = function_.symbols[i];
    if (symbol.range.begin >= position || (symbol.parametrised && element >= symbol.count)) return;
    if (!encloses(symbol.scope, scope)) return;
    if (best == kNoSymbol || symbol.scope > function_.symbols[best].scope) best = i;
  };
  constexpr size_t kFew = 16;
  if (symbols.size() <= kFew) {
    for (uint32_t i : symbols) take(i);
    return best;
  }
  // A name that many blocks declare: look into the enclosing blocks, from the inside.
  for (uint32_t around = scope;; around = function_.scopes[around].parent) {
    std::ranges::for_each(of_scope(function_, symbols, around), take);
    if (around == 0 || (best != kNoSymbol && function_.symbols[best].scope >= around)) return best;
  }
}

NameMatch FunctionNames::find(std::string_view name, uint32_t scope, uint32_t position) const {
  NameMatch match;
  if (is_digit(name.back())) {
    for_each_stem(name, [&](std::string_view stem, uint32_t number) {
      const auto found = ranges_.find(stem);
      if (found == ranges_.end()) return;
      const uint32_t symbol = innermost(found->second, scope, position, match.symbol, number);
      if (symbol != match.symbol) match = {symbol, number};
    });
  }
  if (const auto found = names_.find(name); found != names_.end()) {
    const uint32_t symbol = innermost(found->second, scope, position, match.symbol, 0);
    if (symbol != match.symbol) match = {symbol, 0};
  }
  return match.found() ? match : module_.find(name, position);
}

NameMatch FunctionNames::find_label(std::string_view name, uint32_t scope) const {
  const auto found = labels_.find(name);
  if (found == labels_.end()) return {};
  const uint32_t symbol = innermost(found->second, scope, UINT32_MAX, kNoSymbol, 0);
  return {symbol, 0};
}

std::string FunctionNames::range_hint(std::string_view name) const {
  std::string hint;
  for_each_stem(name, [&](std::string_view stem, uint32_t) {
    const auto found = ranges_.find(stem);
    if (found == ranges_.end()) return;
    const uint32_t count = function_.symbols[found->second.front()].count;
    hint = "'" + std::string(stem) + "' is declared with " + std::to_string(count) + " registers, " +
           std::string(stem) + "0 to " + std::string(stem) + std::to_string(count - 1);
  });
  return hint;
}

std::vector<std::string_view> FunctionNames::list() const {
  std::vector<std::string_view> names = module_.list();
  for (const Symbol& symbol : function_.symbols) {
    if (!is_label_like(symbol.kind) && !symbol.parametrised) names.push_back(symbol.name);
  }
  return names;
}

std::vector<std::string_view> FunctionNames::list_labels() const {
  std::vector<std::string_view> names;
  for (const Symbol& symbol : function_.symbols) {
    if (is_label_like(symbol.kind)) names.push_back(symbol.name);
  }
  return names;
}

}  // namespace ptxwire::ptx
