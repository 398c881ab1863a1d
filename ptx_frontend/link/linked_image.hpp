// Linked modules: which definition every symbol stands for, and where variables live. Input of lowering.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ptx_frontend/program.hpp"
#include "ptx_frontend/syntax/ast.hpp"
#include "support/error.hpp"

namespace ptxwire::ptx {

/// What a symbol turned out to be. `index` counts LinkedImage::functions, ::variables or ::shared_variables.
struct SymbolTarget {
  enum class Kind : uint8_t {
    unresolved,  ///< declared only; an error where it is used
    function,
    intrinsic,       ///< a function that the loader provides (vprintf, ...)
    variable,        ///< .global or .const
    shared,          ///< static .shared
    dynamic_shared,  ///< .extern .shared without a size: starts where the static part ends
  };
  Kind kind = Kind::unresolved;
  uint32_t index = 0;
};

/// A function definition that is part of the program, and what it needs.
struct LinkedFunction {
  uint32_t module = 0;  ///< index into LinkedImage::modules
  const Function* function = nullptr;
  /// Targets of the variables declared inside the function: (index into Function::symbols, target),
  /// ascending.
  std::vector<std::pair<uint32_t, SymbolTarget>> local_targets;
  std::vector<uint32_t> callees;           ///< functions called by name
  std::vector<uint32_t> shared_variables;  ///< named by this function
  bool calls_indirectly = false;
  uint32_t dynamic_shared_align = 0;  ///< 0: does not name dynamic shared memory
};

struct SharedVariable {
  std::string name;
  uint64_t bytes = 0;
  uint32_t align = 1;
  uint64_t offset = 0;  ///< within the shared memory of every entry that reaches it
};

/// Shared memory that launching an entry takes. Dynamic shared memory starts at `static_bytes` rounded up to
/// `align`.
struct SharedUse {
  uint64_t static_bytes = 0;
  uint32_t align = 1;
  bool dynamic = false;
};

struct LinkedImage {
  std::vector<const Module*> modules;
  std::vector<LinkedFunction> functions;
  std::vector<ProgramVariable> variables;
  std::vector<SharedVariable> shared_variables;
  std::vector<std::vector<SymbolTarget>> targets;  ///< per module, per module symbol
  std::vector<SharedUse> shared_use;    ///< per function; for a .func what its callees need is included
  std::vector<uint32_t> address_taken;  ///< functions whose address is stored or moved

  /// Target of an Operand::symbol as the checker left it, seen from `function`.
  [[nodiscard]] SymbolTarget target_of(const LinkedFunction& function, uint32_t symbol) const;
  /// The symbol itself.
  [[nodiscard]] const Symbol& symbol_of(const LinkedFunction& function, uint32_t symbol) const;
};

/// Resolves symbols over all modules (a strong definition beats weak and common ones), lays out shared memory
/// and collects variables with their initial bytes. An Error names the symbol and the module.
Expected<LinkedImage> link(const std::vector<const Module*>& modules);

/// True for functions that a CUDA loader provides: vprintf, __assertfail, malloc, free.
bool is_loader_intrinsic(std::string_view name);

}  // namespace ptxwire::ptx
