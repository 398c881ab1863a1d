#include <array>
#include <string_view>
#include <unordered_map>

#include "ptx_frontend/link/linker.hpp"
#include "ptx_frontend/link/parameter_layout.hpp"

namespace ptxwire::ptx {
namespace {

using Kind = SymbolTarget::Kind;

enum class Strength : uint8_t { none, common, weak, strong };

struct Definition {
  uint32_t module = 0;
  uint32_t symbol = 0;
  Strength strength = Strength::none;
};

bool is_variable(const Symbol& symbol) {
  return symbol.kind == SymbolKind::variable &&
         (symbol.space == Space::global || symbol.space == Space::constant || symbol.space == Space::shared);
}

/// `.extern .shared x[]`: the dynamic part, never defined anywhere.
bool is_dynamic_shared(const Symbol& symbol) {
  return symbol.kind == SymbolKind::variable && symbol.space == Space::shared &&
         (symbol.linkage == Linkage::external || symbol.unsized);
}

bool is_definition(const Module& module, const Symbol& symbol) {
  if (symbol.linkage == Linkage::external) return false;
  if (symbol.kind == SymbolKind::function)
    return symbol.function != kNoSymbol && module.functions[symbol.function].is_definition;
  return is_variable(symbol) && !is_dynamic_shared(symbol);
}

Strength strength_of(const Symbol& symbol) {
  switch (symbol.linkage) {
    case Linkage::visible:
      return Strength::strong;
    case Linkage::weak:
      return Strength::weak;
    case Linkage::common:
      return Strength::common;
    default:
      return Strength::none;  // known to its own module only
  }
}

class Resolver {
 public:
  explicit Resolver(LinkedImage& image) : image_(image) {}

  std::optional<Error> run() {
    for (uint32_t m = 0; m < image_.modules.size(); ++m)
      if (auto error = offer_definitions(m)) return error;
    for (uint32_t m = 0; m < image_.modules.size(); ++m) list_definitions(m);
    for (uint32_t m = 0; m < image_.modules.size(); ++m) resolve_declarations(m);
    for (uint32_t m = 0; m < image_.modules.size(); ++m)
      for (uint32_t s = 0; s < image_.modules[m]->symbols.size(); ++s) follow_alias(m, s);
    list_function_variables();
    return fill_variables();
  }

 private:
  [[nodiscard]] const Module& module(uint32_t m) const { return *image_.modules[m]; }

  std::optional<Error> offer_definitions(uint32_t m) {
    image_.targets.emplace_back(module(m).symbols.size());
    for (uint32_t s = 0; s < module(m).symbols.size(); ++s) {
      const Symbol& symbol = module(m).symbols[s];
      const Definition offered{m, s, strength_of(symbol)};
      if (!is_definition(module(m), symbol) || offered.strength == Strength::none) continue;
      const auto [place, fresh] = exported_.try_emplace(symbol.name, offered);
      if (fresh) continue;
      Definition& chosen = place->second;
      const Symbol& other = module(chosen.module).symbols[chosen.symbol];
      if (other.kind != symbol.kind || (symbol.kind == SymbolKind::variable && other.space != symbol.space))
        return clash(m, symbol, chosen, "was declared as something else");
      if (offered.strength == Strength::strong && chosen.strength == Strength::strong)
        return clash(m, symbol, chosen, "is defined twice");
      const bool larger_common = offered.strength == Strength::common &&
                                 chosen.strength == Strength::common && symbol.bytes() > other.bytes();
      if (offered.strength > chosen.strength || larger_common) chosen = offered;
    }
    return std::nullopt;
  }

  [[nodiscard]] Error clash(uint32_t m, const Symbol& symbol, const Definition& first,
                            const char* what) const {
    return link_error(
        module(m), symbol.range,
        "symbol '" + std::string(symbol.name) + "' " + what + ", first in " + module(first.module).path,
        "make one of them .weak, or drop a module");
  }

  void list_definitions(uint32_t m) {
    for (uint32_t s = 0; s < module(m).symbols.size(); ++s) {
      const Symbol& symbol = module(m).symbols[s];
      if (!is_definition(module(m), symbol)) continue;
      if (strength_of(symbol) != Strength::none) {
        const Definition& chosen = exported_.at(symbol.name);
        if (chosen.module != m || chosen.symbol != s) continue;
      }
      if (symbol.kind == SymbolKind::function) {
        image_.targets[m][s] = {Kind::function, static_cast<uint32_t>(image_.functions.size())};
        LinkedFunction function;
        function.module = m;
        function.function = &module(m).functions[symbol.function];
        image_.functions.push_back(std::move(function));
      } else {
        image_.targets[m][s] = add_variable(m, symbol);
      }
    }
  }

  SymbolTarget add_variable(uint32_t m, const Symbol& symbol) {
    if (symbol.space == Space::shared) {
      image_.shared_variables.push_back({std::string(symbol.name), symbol.bytes(), alignment_of(symbol), 0});
      return {Kind::shared, static_cast<uint32_t>(image_.shared_variables.size()) - 1};
    }
    ProgramVariable variable;
    variable.name = std::string(symbol.name);
    variable.space = symbol.space;
    variable.bytes = symbol.bytes();
    variable.align = alignment_of(symbol);
    image_.variables.push_back(std::move(variable));
    sources_.push_back({m, &symbol});
    return {Kind::variable, static_cast<uint32_t>(image_.variables.size()) - 1};
  }

  /// Declarations and definitions that lost against another one.
  void resolve_declarations(uint32_t m) {
    std::unordered_map<std::string_view, uint32_t> own;  // definitions private to the module
    for (uint32_t s = 0; s < module(m).symbols.size(); ++s)
      if (image_.targets[m][s].kind != Kind::unresolved) own.emplace(module(m).symbols[s].name, s);
    for (uint32_t s = 0; s < module(m).symbols.size(); ++s) {
      SymbolTarget& target = image_.targets[m][s];
      const Symbol& symbol = module(m).symbols[s];
      if (target.kind != Kind::unresolved || symbol.kind == SymbolKind::alias) continue;
      if (const auto found = own.find(symbol.name); found != own.end()) {
        target = image_.targets[m][found->second];
      } else if (const auto exported = exported_.find(symbol.name); exported != exported_.end()) {
        target = image_.targets[exported->second.module][exported->second.symbol];
      } else if (is_dynamic_shared(symbol)) {
        target.kind = Kind::dynamic_shared;
      } else if (symbol.kind == SymbolKind::function && is_loader_intrinsic(symbol.name)) {
        target.kind = Kind::intrinsic;
      }
    }
  }

  void follow_alias(uint32_t m, uint32_t s) {
    const Symbol& alias = module(m).symbols[s];
    if (alias.kind != SymbolKind::alias || alias.targets.empty()) return;
    for (uint32_t other = 0; other < module(m).symbols.size(); ++other) {
      const Symbol& symbol = module(m).symbols[other];
      if (symbol.name == alias.targets.front()) image_.targets[m][s] = image_.targets[m][other];
    }
    for (uint32_t other = 0; other < module(m).symbols.size(); ++other)
      if (module(m).symbols[other].name == alias.name) image_.targets[m][other] = image_.targets[m][s];
  }

  void list_function_variables() {
    for (LinkedFunction& function : image_.functions) {
      for (uint32_t s = 0; s < function.function->symbols.size(); ++s) {
        const Symbol& symbol = function.function->symbols[s];
        if (!is_variable(symbol)) continue;
        const SymbolTarget target = is_dynamic_shared(symbol) ? SymbolTarget{Kind::dynamic_shared, 0}
                                                              : add_variable(function.module, symbol);
        function.local_targets.emplace_back(s, target);
      }
    }
  }

  std::optional<Error> fill_variables() {
    for (uint32_t v = 0; v < sources_.size(); ++v)
      if (auto error = fill_initial_data(image_, sources_[v].first, *sources_[v].second, v)) return error;
    return std::nullopt;
  }

  LinkedImage& image_;
  std::unordered_map<std::string_view, Definition> exported_;
  std::vector<std::pair<uint32_t, const Symbol*>> sources_;  // per image variable: its module and declaration
};

}  // namespace

bool is_loader_intrinsic(std::string_view name) {
  constexpr std::array<std::string_view, 4> kNames = {"vprintf", "__assertfail", "malloc", "free"};
  for (const std::string_view known : kNames)
    if (name == known) return true;
  return false;
}

std::optional<Error> resolve_symbols(LinkedImage& image) { return Resolver(image).run(); }

}  // namespace ptxwire::ptx
