// A shared variable has one offset in the whole program, since the code of a .func that names it is lowered
// once. Two variables may share bytes only if no entry reaches both.
#include <algorithm>

#include "ptx_frontend/link/linker.hpp"
#include "ptx_frontend/link/parameter_layout.hpp"

namespace ptxwire::ptx {
namespace {

/// Functions that may run when `root` is called, itself included. An indirect call may reach every function
/// whose address is taken.
std::vector<uint32_t> reachable_from(const LinkedImage& image, uint32_t root,
                                     std::vector<uint32_t>& seen_by) {
  std::vector<uint32_t> order = {root};
  seen_by[root] = root;
  const auto reach = [&](uint32_t f) {
    if (seen_by[f] == root) return;
    seen_by[f] = root;
    order.push_back(f);
  };
  for (size_t next = 0; next < order.size(); ++next) {
    const LinkedFunction& function = image.functions[order[next]];
    for (const uint32_t callee : function.callees) reach(callee);
    if (function.calls_indirectly)
      for (const uint32_t callee : image.address_taken) reach(callee);
  }
  return order;
}

struct Reach {
  std::vector<uint32_t> variables;  ///< sorted
  uint32_t dynamic_align = 0;
};

Reach shared_memory_reached(const LinkedImage& image, uint32_t root, std::vector<uint32_t>& seen_by) {
  Reach reach;
  for (const uint32_t f : reachable_from(image, root, seen_by)) {
    const LinkedFunction& function = image.functions[f];
    reach.variables.insert(reach.variables.end(), function.shared_variables.begin(),
                           function.shared_variables.end());
    reach.dynamic_align = std::max(reach.dynamic_align, function.dynamic_shared_align);
  }
  std::sort(reach.variables.begin(), reach.variables.end());
  reach.variables.erase(std::unique(reach.variables.begin(), reach.variables.end()), reach.variables.end());
  return reach;
}

}  // namespace

void lay_out_shared_memory(LinkedImage& image) {
  const auto functions = static_cast<uint32_t>(image.functions.size());
  std::vector<uint32_t> seen_by(functions, UINT32_MAX);
  std::vector<Reach> reach;
  reach.reserve(functions);
  for (uint32_t f = 0; f < functions; ++f) reach.push_back(shared_memory_reached(image, f, seen_by));

  std::vector<std::vector<uint32_t>> users(image.shared_variables.size());
  for (uint32_t f = 0; f < functions; ++f)
    for (const uint32_t v : reach[f].variables) users[v].push_back(f);

  // Variables with many users first: they find the same low offset in all of them; then large alignments,
  // which leaves the fewest gaps; then source order.
  std::vector<uint32_t> order(image.shared_variables.size());
  for (uint32_t v = 0; v < order.size(); ++v) order[v] = v;
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    if (users[a].size() != users[b].size()) return users[a].size() > users[b].size();
    return image.shared_variables[a].align > image.shared_variables[b].align;
  });

  image.shared_use.assign(functions, SharedUse{});
  for (const uint32_t v : order) {
    SharedVariable& variable = image.shared_variables[v];
    uint64_t begin = 0;
    for (const uint32_t f : users[v]) begin = std::max(begin, image.shared_use[f].static_bytes);
    variable.offset = align_up(begin, variable.align);
    for (const uint32_t f : users[v]) {
      image.shared_use[f].static_bytes = variable.offset + variable.bytes;
      image.shared_use[f].align = std::max(image.shared_use[f].align, variable.align);
    }
  }
  for (uint32_t f = 0; f < functions; ++f) {
    if (reach[f].dynamic_align == 0) continue;
    SharedUse& use = image.shared_use[f];
    use.dynamic = true;
    use.align = std::max(use.align, reach[f].dynamic_align);
  }
}

}  // namespace ptxwire::ptx
