// Module-level rules: target, variables, parameters, launch bounds, prototypes.
#include <algorithm>

#include "ptx_frontend/check/checker.hpp"
#include "ptx_frontend/check/hint.hpp"

namespace ptxwire::ptx {
namespace {

constexpr uint64_t kMaxParameterBytes = 32764;  // ptxas 13.0 for sm_70 and newer
constexpr uint32_t kMaxThreadsPerCta = 1024;

/// First PTX version that knows a target (ISA, table of release notes).
uint32_t version_of_target(uint32_t sm, bool arch_specific) {
  struct Row {
    uint32_t sm, plain, specific;
  };
  static constexpr Row kRows[] = {{20, 20, 0},   {30, 30, 0},   {32, 40, 0},   {35, 31, 0},   {37, 41, 0},
                                  {50, 40, 0},   {52, 41, 0},   {53, 42, 0},   {60, 50, 0},   {61, 50, 0},
                                  {62, 50, 0},   {70, 60, 0},   {72, 61, 0},   {75, 63, 0},   {80, 70, 0},
                                  {86, 71, 0},   {87, 74, 0},   {88, 90, 0},   {89, 78, 0},   {90, 78, 80},
                                  {100, 86, 86}, {103, 88, 88}, {110, 90, 90}, {120, 87, 87}, {121, 88, 88}};
  for (const Row& row : kRows) {
    if (row.sm == sm) return arch_specific ? row.specific : row.plain;
  }
  return 0;
}

uint64_t aligned(uint64_t value, uint64_t align) { return (value + align - 1) / align * align; }

}  // namespace

void Checker::check_target() {
  const uint32_t version = module_.version_major * 10 + module_.version_minor;
  const uint32_t first = version_of_target(module_.target_sm, module_.target_arch_specific);
  if (version >= first || module_.target.empty()) return;
  const auto begin = static_cast<uint32_t>(module_.target.data() - module_.text->data());
  error("unsupported-target", {begin, begin + static_cast<uint32_t>(module_.target.size())},
        "target " + std::string(module_.target) + " needs PTX ISA " + std::to_string(first / 10) + "." +
            std::to_string(first % 10) + ", this module is PTX " + std::to_string(module_.version_major) +
            "." + std::to_string(module_.version_minor));
}

void Checker::check_variables() {
  const auto check = [&](const Symbol& symbol) {
    if (symbol.kind != SymbolKind::variable) return;
    if (symbol.type == Type::pred) {
      error("bad-variable-type", symbol.range,
            "predicates exist only as registers, '" + std::string(symbol.name) + "' cannot have type .pred");
    }
    const bool may_be_open = symbol.linkage == Linkage::external;
    if (symbol.unsized && !may_be_open) {
      error("incomplete-type", symbol.range,
            "'" + std::string(symbol.name) + "' has no size, only .extern arrays may leave it open");
    }
  };
  for (const Symbol& symbol : module_.symbols) check(symbol);
  for (const Function& function : module_.functions) {
    for (const Symbol& symbol : function.symbols) check(symbol);
  }
}

void Checker::resolve_initialisers(const ModuleNames& names) {
  const auto resolve = [&](Symbol& variable) {
    for (InitialiserItem& item : variable.initialiser) {
      if (item.name.empty()) continue;
      const auto begin = static_cast<uint32_t>(item.name.data() - module_.text->data());
      const SourceRange range{begin, begin + static_cast<uint32_t>(item.name.size())};
      const NameMatch match = names.find(item.name, range.begin);
      if (!match.found()) {
        if (incomplete_) continue;
        error("undefined-name", range, "name '" + std::string(item.name) + "' is not declared",
              did_you_mean(item.name, names.list()));
        continue;
      }
      item.symbol = match.symbol & ~kModuleSymbolBit;
      const Symbol& target = module_.symbols[item.symbol];
      const bool function = target.kind != SymbolKind::variable;
      if (&target == &variable || (function && item.generic) ||
          (!function && target.space != Space::global && target.space != Space::constant)) {
        error("bad-initialiser", range,
              "'" + std::string(item.name) +
                  "' cannot be an initial value, expected a function or another .global or .const variable");
      }
    }
  };
  for (Symbol& symbol : module_.symbols) resolve(symbol);
  for (Function& function : module_.functions) {
    for (Symbol& symbol : function.symbols) resolve(symbol);
  }
}

void Checker::check_launch_bounds(const Function& function) {
  const LaunchDirectives& d = function.directives;
  const auto check_threads = [&](const uint32_t* counts, std::string_view directive) {
    if (counts[0] == 0) return;
    const uint64_t threads = uint64_t{counts[0]} * counts[1] * counts[2];
    if (threads > kMaxThreadsPerCta) {
      error("too-many-threads", function.name_range,
            std::string(directive) + " of '" + std::string(function.name) + "' allows " +
                std::to_string(threads) + " threads, a CTA has at most " + std::to_string(kMaxThreadsPerCta));
    }
  };
  check_threads(d.maxntid, ".maxntid");
  check_threads(d.reqntid, ".reqntid");
  const std::string name = "'" + std::string(function.name) + "'";
  const auto conflict = [&](const std::string& message) {
    error("conflicting-directives", function.name_range, name + message);
  };
  const bool bounds = d.maxntid[0] != 0 || d.reqntid[0] != 0 || d.reqnctapercluster[0] != 0;
  if (!function.is_entry && bounds) conflict(" is a function, launch bounds are for kernels (.entry)");
  if (function.is_entry && d.no_return) conflict(" is a kernel, .noreturn is for functions");
  if ((d.explicit_cluster || d.blocks_are_clusters || d.maxclusterrank != 0 || d.reqnctapercluster[0] != 0) &&
      module_.target_sm != 0 && module_.target_sm < 90)
    error("unsupported-by-target", function.name_range,
          name + " has cluster directives, which need sm_90 or newer");
  if (d.maxntid[0] != 0 && d.reqntid[0] != 0)
    conflict(" has both .maxntid and .reqntid, expected one of them");
  if (d.maxclusterrank != 0 && d.reqnctapercluster[0] != 0)
    conflict(" has both .maxclusterrank and .reqnctapercluster, expected one of them");
  if (d.blocks_are_clusters && (d.reqntid[0] == 0 || d.reqnctapercluster[0] == 0))
    conflict(" has .blocksareclusters, which needs .reqntid and .reqnctapercluster");
}

void Checker::check_parameters(const Function& function) {
  uint64_t bytes = 0;
  for (uint32_t index : function.parameters) {
    const Symbol& parameter = function.symbols[index];
    if (function.is_entry && parameter.kind != SymbolKind::parameter) {
      error("bad-parameter", parameter.range,
            "kernel parameter '" + std::string(parameter.name) + "' must be in .param space");
      continue;
    }
    if (parameter.type == Type::pred || parameter.vector > 1) {
      error("bad-parameter", parameter.range,
            "parameter '" + std::string(parameter.name) + "' cannot be a predicate or a vector");
    }
    const uint64_t natural = std::max(1U, type_bytes(parameter.type) * parameter.vector);
    bytes = aligned(bytes, parameter.align != 0 ? parameter.align : natural) + parameter.bytes();
  }
  if (function.is_entry && bytes > kMaxParameterBytes) {
    error("too-many-parameters", function.name_range,
          "kernel '" + std::string(function.name) + "' has " + std::to_string(bytes) +
              " bytes of parameters, at most " + std::to_string(kMaxParameterBytes) + " are possible");
  }
}

/// An alias gives a declared function the body of another one that is defined.
void Checker::check_aliases() {
  for (const Symbol& alias : module_.symbols) {
    if (alias.kind != SymbolKind::alias || incomplete_) continue;
    const auto is_function = [&](std::string_view name, bool defined) {
      return std::any_of(module_.functions.begin(), module_.functions.end(), [&](const Function& function) {
        return function.name == name && !function.is_entry && function.is_definition == defined;
      });
    };
    if (!is_function(alias.name, false)) {
      error("undefined-name", alias.range,
            "'" + std::string(alias.name) +
                "' is not a declared function, .alias needs a declaration of it before");
    }
    if (!is_function(alias.targets.at(0), true)) {
      error("undefined-name", alias.range,
            "'" + std::string(alias.targets[0]) +
                "' is not a function defined in this module, .alias needs one");
    }
  }
}

void Checker::check_function_header(const Function& function) {
  check_launch_bounds(function);
  check_parameters(function);
  if (function.returns.size() > 1 && function.symbols[function.returns[0]].kind == SymbolKind::parameter) {
    error("bad-parameter", function.name_range,
          "'" + std::string(function.name) +
              "' has several results, results in .param space are limited to one");
  }
}

/// Declarations of one function must agree with each other and with its definition.
void Checker::check_prototypes() {
  std::unordered_map<std::string_view, const Function*> first;
  for (const Function& function : module_.functions) {
    const auto [place, inserted] = first.try_emplace(function.name, &function);
    if (inserted) continue;
    const Function& earlier = *place->second;
    const auto differ = [&](const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) {
      return !std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](uint32_t i, uint32_t j) {
        const Symbol &a_symbol = earlier.symbols[i], &b_symbol = function.symbols[j];
        return a_symbol.type == b_symbol.type && a_symbol.bytes() == b_symbol.bytes();
      });
    };
    if (earlier.is_entry != function.is_entry || differ(earlier.parameters, function.parameters) ||
        differ(earlier.returns, function.returns)) {
      diagnostics_.add({Severity::error,
                        "conflicting-prototypes",
                        function.name_range,
                        "'" + std::string(function.name) +
                            "' differs from its earlier declaration in parameters or results",
                        {},
                        {{earlier.name_range, "first declared here"}}});
    }
  }
}

}  // namespace ptxwire::ptx
