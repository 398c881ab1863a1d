// Name lookup: functions with nested blocks, and the module around them.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "ptx_frontend/syntax/ast.hpp"
#include "ptx_frontend/syntax/diagnostics.hpp"

namespace ptxwire::ptx {

/// What a name stands for. `symbol` is as in Operand::symbol.
struct NameMatch {
  uint32_t symbol = kNoSymbol;
  uint32_t element = 0;
  [[nodiscard]] bool found() const { return symbol != kNoSymbol; }
};

class ModuleNames {
 public:
  ModuleNames(const Module& module, Diagnostics& diagnostics);
  /// A symbol declared before `position`.
  [[nodiscard]] NameMatch find(std::string_view name, uint32_t position) const;
  /// All names, for a hint.
  [[nodiscard]] std::vector<std::string_view> list() const;

 private:
  const Module& module_;
  std::unordered_map<std::string_view, uint32_t> names_;
};

/// Names of one function. Registers and variables are visible from their declaration to the end of their
/// block and of the blocks in it; labels are visible in all of their block. Inner names hide outer ones.
class FunctionNames {
 public:
  FunctionNames(const Function& function, const ModuleNames& module, Diagnostics& diagnostics);

  /// A register, variable, parameter or function for a use at `position` in `scope`.
  [[nodiscard]] NameMatch find(std::string_view name, uint32_t scope, uint32_t position) const;
  /// A label (or a table or prototype that is declared with a label).
  [[nodiscard]] NameMatch find_label(std::string_view name, uint32_t scope) const;
  /// True if some block that is not around `scope` has this label.
  [[nodiscard]] bool label_elsewhere(std::string_view name) const { return labels_.contains(name); }
  /// "%r is declared with 4 registers, %r0 to %r3" for %r7, if there is such a range; else empty.
  [[nodiscard]] std::string range_hint(std::string_view name) const;
  /// All names that are not labels, the module's included, and all labels: for hints.
  [[nodiscard]] std::vector<std::string_view> list() const;
  [[nodiscard]] std::vector<std::string_view> list_labels() const;

 private:
  using Index = std::unordered_map<std::string_view, std::vector<uint32_t>>;
  [[nodiscard]] bool encloses(uint32_t outer, uint32_t inner) const;
  [[nodiscard]] uint32_t innermost(const std::vector<uint32_t>& symbols, uint32_t scope, uint32_t position,
                                   uint32_t best, uint32_t element) const;
  void report_duplicates(Diagnostics& diagnostics) const;

  const Function& function_;
  const ModuleNames& module_;
  /// Of each scope the last one that lies in it: scopes are numbered as they open.
  std::vector<uint32_t> last_inside_;
  // Symbols of a name, sorted by scope.
  Index names_;   ///< plain registers, variables, parameters
  Index ranges_;  ///< parametrised registers by stem: %r of %r<10>
  Index labels_;
};

}  // namespace ptxwire::ptx
