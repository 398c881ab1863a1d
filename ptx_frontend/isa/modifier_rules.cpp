#include "ptx_frontend/isa/modifier_rules.hpp"

#include <algorithm>

namespace ptxwire::ptx {
namespace {

constexpr auto kNeeds = ModifierRelation::requires_one_of;
constexpr auto kExcludes = ModifierRelation::excludes;

// Cache hints and prefetch sizes are for global (or generic) addresses.
constexpr std::string_view kNotGlobal = "const local param param::* shared shared::*";

constexpr ModifierRule kRules[] = {
    {"tex tex.*", "v2", kNeeds, "f16x2"},
    {"tex tex.*", "f16x2", kNeeds, "v2"},
    {"min max", "xorsign", kNeeds, "abs"},
    {"min max", "abs", kNeeds, "xorsign", 3},
    {"ld st", "L1::* L2::64B L2::128B L2::256B L2::cache_hint L2::evict_*", kExcludes, kNotGlobal},
    {"ld st", "L1::* L2::evict_*", kExcludes, "ca cg cs lu cv wb wt"},
    {"ld st", "volatile", kExcludes, "const local param param::*"},
    {"ld", "nc", kExcludes, "weak"},
    {"atom red", "L2::cache_hint", kExcludes, "shared shared::*"},
    // An order needs its scope and a scope its order.
    {"mbarrier.* multimem.red", "relaxed release acquire", kNeeds, "cta cluster gpu sys"},
    {"mbarrier.* multimem.red", "cta cluster gpu sys", kNeeds, "relaxed release acquire"},
    {"atom red", "v2 v4 v8", kExcludes, "shared shared::*"},
};

}  // namespace

std::span<const ModifierRule> modifier_rules() { return kRules; }

bool in_word_list(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const size_t end = std::min(list.find(' '), list.size());
    const std::string_view item = list.substr(0, end);
    if (item == word) return true;
    if (item.ends_with('*') && word.starts_with(item.substr(0, item.size() - 1))) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

}  // namespace ptxwire::ptx
