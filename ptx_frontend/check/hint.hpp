// The hint of a message about an unknown name.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ptxwire::ptx {

/// "did you mean 'x'?" with the nearest of the known names, or empty. `prefix` stands before the name: '.'
std::string did_you_mean(std::string_view wanted, std::span<const std::string_view> known,
                         std::string_view prefix = {});

}  // namespace ptxwire::ptx
