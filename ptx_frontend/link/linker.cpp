#include "ptx_frontend/link/linker.hpp"

#include <algorithm>

#include "ptx_frontend/syntax/diagnostics.hpp"

namespace ptxwire::ptx {

SymbolTarget LinkedImage::target_of(const LinkedFunction& function, uint32_t symbol) const {
  if ((symbol & kModuleSymbolBit) != 0) return targets[function.module][symbol & ~kModuleSymbolBit];
  const auto& locals = function.local_targets;
  const auto found =
      std::lower_bound(locals.begin(), locals.end(), symbol,
                       [](const auto& entry, uint32_t wanted) { return entry.first < wanted; });
  return found != locals.end() && found->first == symbol ? found->second : SymbolTarget{};
}

const Symbol& LinkedImage::symbol_of(const LinkedFunction& function, uint32_t symbol) const {
  if ((symbol & kModuleSymbolBit) != 0) return modules[function.module]->symbols[symbol & ~kModuleSymbolBit];
  return function.function->symbols[symbol];
}

Error link_error(const Module& module, SourceRange range, std::string message, std::string hint) {
  Error error;
  error.message = std::move(message);
  error.hint = std::move(hint);
  error.path = module.path;
  if (module.text) {
    const LineColumn place = line_column(*module.text, range.begin);
    error.line = place.line;
    error.column = place.column;
  }
  return error;
}

Expected<LinkedImage> link(const std::vector<const Module*>& modules) {
  LinkedImage image;
  image.modules = modules;
  if (auto error = resolve_symbols(image)) return *std::move(error);
  if (auto error = gather_references(image)) return *std::move(error);
  lay_out_shared_memory(image);
  return image;
}

}  // namespace ptxwire::ptx
