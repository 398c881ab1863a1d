// From the spelling of an instruction ("ld.acquire.sys.global.s32") to the rows of the table that it fits.
// A module has a few hundred spellings and millions of instructions, so each spelling is resolved once.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ptx_frontend/isa/instruction_table.hpp"
#include "ptx_frontend/syntax/ast.hpp"

namespace ptxwire::ptx {

/// A row that takes the spelling, and what the modifiers then mean.
struct Candidate {
  const CompiledForm* form = nullptr;
  Modifiers modifiers;
  std::vector<const OperandSpec*> operands;  ///< without those whose modifier is absent
};

struct SpellingError {
  std::string_view id;
  uint32_t begin = 0, end = 0;  ///< within the spelling
  std::string message, hint;
};

struct ResolvedSpelling {
  std::vector<Candidate> candidates;  ///< in table order; empty if `error` tells why
  SpellingError error;
};

/// Resolves spellings for the version and target of one module.
class SpellingResolver {
 public:
  explicit SpellingResolver(const Module& module) : module_(module) {}
  const ResolvedSpelling& resolve(std::string_view spelling);

  /// What a module lacks for `needs`: "PTX ISA 8.6", "sm_100a", or both; empty if nothing.
  [[nodiscard]] std::string missing(const Requirement& needs) const;

 private:
  [[nodiscard]] bool gone(const Requirement& until) const;
  [[nodiscard]] ResolvedSpelling resolve_new(std::string_view spelling) const;

  const Module& module_;
  std::unordered_map<std::string_view, ResolvedSpelling> known_;
};

}  // namespace ptxwire::ptx
