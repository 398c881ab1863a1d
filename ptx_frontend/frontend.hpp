// The front end in four calls: parse, check, link, lower; and one call that does all of them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ptx_frontend/program.hpp"
#include "ptx_frontend/syntax/ast.hpp"
#include "ptx_frontend/syntax/diagnostics.hpp"
#include "support/error.hpp"

namespace ptxwire::ptx {

/// Text -> tree, with recovery: one run reports all independent errors. `path` is only for messages.
Module parse(std::shared_ptr<const std::string> text, std::string path, Diagnostics& diagnostics);

/// Resolves names, matches every instruction against the instruction table, checks operand types; fills
/// Instruction::opcode/modifiers/executable and Operand::symbol in place. Call it only on a module that
/// parsed.
void check(Module& module, Diagnostics& diagnostics);

/// Links checked modules (weak/visible/extern, loader intrinsics such as vprintf stay open) and lowers them.
/// Errors name the symbol and the module.
Expected<Program> link_and_lower(const std::vector<const Module*>& modules);

/// A change of cache hints: weak loads and stores of global memory that have all `words` get `hints` in place
/// of their own. The first rule that fits an instruction counts.
struct HintRule {
  std::vector<std::string> words;  ///< "ld", "v4"
  std::vector<std::string> hints;  ///< "L1::no_allocate"; none: it loses them
};

/// Rules as text: "ld.v4: L1::no_allocate L2::256B; st.v4: L1::evict_first; ld.nc:". Errors: no ':', an
/// instruction other than ld and st, a word that is no cache hint.
Expected<std::vector<HintRule>> parse_hint_rules(std::string_view text);

/// Reads, parses, checks, links and lowers files. The first error of a file is returned as an Error with its
/// place (the message says how many more there are, hint: ptxwire lint). `hints` changes cache hints of loads
/// and stores first; rules that fit no instruction at all are an error.
Expected<Program> load_program(const std::vector<std::string>& paths,
                               const std::vector<HintRule>& hints = {});

/// Reads a whole file; an Error names the path and the reason. Refuses directories and files over 1 GiB.
Expected<std::shared_ptr<const std::string>> read_text_file(const std::string& path);

}  // namespace ptxwire::ptx
