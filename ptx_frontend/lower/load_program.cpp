#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "ptx_frontend/check/hint_rewrite.hpp"
#include "ptx_frontend/container/ptx_file.hpp"
#include "ptx_frontend/frontend.hpp"

namespace ptxwire::ptx {
namespace {

/// The first error in `diagnostics` as an Error that says how many more there are.
Error first_error(const Diagnostics& diagnostics, const Module& module) {
  const auto& list = diagnostics.list();
  const auto is_error = [](const Diagnostic& d) { return d.severity == Severity::error; };
  const auto first = std::find_if(list.begin(), list.end(), is_error);
  const auto more = std::count_if(list.begin(), list.end(), is_error) - 1;
  const LineColumn place = line_column(*module.text, first->range.begin);
  Error error;
  error.message = first->message;
  if (more > 0) error.message += fmt::format(" (and {} more error{})", more, more == 1 ? "" : "s");
  error.path = module.path;
  error.line = place.line;
  error.column = place.column;
  error.hint = first->hint;
  if (error.hint.empty() || more > 0)
    error.hint = fmt::format("`ptxwire lint {}` lists all of them", module.path);
  return error;
}

}  // namespace

Expected<Program> load_program(const std::vector<std::string>& paths, const std::vector<HintRule>& hints) {
  std::vector<Module> modules;
  size_t changed = 0;
  std::vector<PtxText> texts;
  for (const std::string& path : paths) {
    Expected<std::vector<PtxText>> read = read_ptx(path);
    if (!read) return read.error();
    std::move(read->begin(), read->end(), std::back_inserter(texts));
  }
  modules.reserve(texts.size());
  for (const auto& [path, original] : texts) {
    std::shared_ptr<const std::string> text = original;
    if (!hints.empty()) {
      RewrittenText rewritten = rewrite_hints(*text, path, hints);
      changed += rewritten.changed;
      text = std::make_shared<const std::string>(std::move(rewritten.text));
    }
    Diagnostics diagnostics;
    modules.push_back(parse(text, path, diagnostics));
    if (!diagnostics.has_errors()) check(modules.back(), diagnostics);
    if (diagnostics.has_errors()) return first_error(diagnostics, modules.back());
  }
  if (!hints.empty() && changed == 0)
    return Error{.message = "the cache hints fit no weak load or store of global memory",
                 .path = paths.empty() ? "" : paths[0]};
  std::vector<const Module*> pointers;
  for (const Module& module : modules) pointers.push_back(&module);
  return link_and_lower(pointers);
}

}  // namespace ptxwire::ptx
