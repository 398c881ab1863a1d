#include "ptx_frontend/check/hint.hpp"

#include "support/nearest.hpp"

namespace ptxwire::ptx {

std::string did_you_mean(std::string_view wanted, std::span<const std::string_view> known,
                         std::string_view prefix) {
  const std::string best = nearest(wanted, known);
  if (best.empty() || best == wanted) return {};
  return "did you mean '" + std::string(prefix) + best + "'?";
}

}  // namespace ptxwire::ptx
