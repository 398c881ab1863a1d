// The passes of link(), in order; each fills its part of the image. Internal to link/.
#pragma once

#include <optional>
#include <string>

#include "ptx_frontend/link/linked_image.hpp"

namespace ptxwire::ptx {

/// An Error at `range` of `module`.
Error link_error(const Module& module, SourceRange range, std::string message, std::string hint = {});

/// Chooses one definition per name, lists functions and variables, fills `targets` and `local_targets`.
std::optional<Error> resolve_symbols(LinkedImage& image);

/// Initial bytes and fixups of variable `index`, declared as `symbol` in `module`.
std::optional<Error> fill_initial_data(LinkedImage& image, uint32_t module, const Symbol& symbol,
                                       uint32_t index);

/// Callees, shared variables and stored function addresses per function; refuses uses of undefined symbols.
std::optional<Error> gather_references(LinkedImage& image);

/// Offsets of shared variables and the shared memory each function needs.
void lay_out_shared_memory(LinkedImage& image);

}  // namespace ptxwire::ptx
