// Real modules cut into small ones that stand alone: one function each, with what it refers to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ptxwire::ptx::agreement {

/// Modules of one function each and the declarations that it names, directly or not; functions with more
/// than `longest` bytes, what they name included, are left out.
std::vector<std::string> shards(std::string_view module, size_t longest);

}  // namespace ptxwire::ptx::agreement
