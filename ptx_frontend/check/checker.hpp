// The checker of one module. Internal to check/: the entrance is check() of frontend.hpp.
#pragma once

#include <string_view>
#include <unordered_set>
#include <vector>

#include "ptx_frontend/check/names.hpp"
#include "ptx_frontend/check/operand_check.hpp"
#include "ptx_frontend/check/spelling.hpp"
#include "ptx_frontend/syntax/ast.hpp"
#include "ptx_frontend/syntax/diagnostics.hpp"

namespace ptxwire::ptx {

class Checker {
 public:
  Checker(Module& module, Diagnostics& diagnostics)
      : module_(module), diagnostics_(diagnostics), spellings_(module) {}
  void check_module();

 private:
  // ---- declarations (declaration_check.cpp)
  void check_target();
  void check_variables();
  void resolve_initialisers(const ModuleNames& names);
  void check_function_header(const Function& function);
  void check_launch_bounds(const Function& function);
  void check_parameters(const Function& function);
  void check_prototypes();
  void check_aliases();

  // ---- instructions (checker.cpp)
  void check_function(Function& function, const ModuleNames& names);
  void check_instruction(const Function& function, const FunctionNames& names, Instruction& instruction);
  void scale_index(const Function& function, Operand& operand);
  bool resolve_operand(const FunctionNames& names, const Instruction& instruction, Operand& operand);
  bool resolve_name(const FunctionNames& names, uint32_t scope, Operand& operand);
  void note_shared_use(const Operand& operand);
  void check_guard(const Function& function, const FunctionNames& names, Instruction& instruction);
  void check_shared_size(const Function& function);

  // ---- branches and calls (control_check.cpp)
  void check_branch(const Function& function, const FunctionNames& names, Instruction& instruction);
  bool resolve_label(const Function& function, const FunctionNames& names, uint32_t scope, Operand& operand);
  void check_targets(const Function& function, const FunctionNames& names);
  void check_call(const Function& function, const FunctionNames& names, Instruction& instruction);
  [[nodiscard]] std::vector<Note> callee_declaration(const Function& function, const Operand& callee) const;
  void check_call_arguments(const Function& function, const Operand* list,
                            const std::vector<Symbol>& declared, const Operand& callee,
                            std::string_view what);

  [[nodiscard]] bool has_error_inside(const Function& function) const;
  [[nodiscard]] std::vector<Note> declared_at(const Function& function, const Instruction& instruction,
                                              SourceRange range) const;
  void error(std::string_view id, SourceRange range, std::string message, std::string hint = {});

  Module& module_;
  Diagnostics& diagnostics_;
  SpellingResolver spellings_;
  // Where there are syntax errors, names may be missing: what is not found there is not reported.
  std::vector<uint32_t> syntax_errors_;             ///< places
  bool holes_outside_ = false;                      ///< at module level
  bool incomplete_ = false;                         ///< in what is being checked
  std::unordered_set<std::string_view> undefined_;  ///< names reported in this function
  uint32_t hints_left_ = 100;                 ///< spellings still looked for: each is compared with all names
  std::unordered_set<uint32_t> shared_used_;  ///< module .shared variables this function names
};

}  // namespace ptxwire::ptx
