// Any bytes: the parser ends, and each of its diagnostics lies in the text and can be rendered. What does not
// parse is checked all the same, as lint does.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "ptx_frontend/frontend.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ptxwire::ptx;
  Diagnostics diagnostics;
  const auto text = std::make_shared<const std::string>(reinterpret_cast<const char*>(data), size);
  Module module = parse(text, "input.ptx", diagnostics);
  if (diagnostics.has_errors()) check(module, diagnostics);
  for (const Diagnostic& diagnostic : diagnostics.list()) {
    if (diagnostic.range.begin > size || render(diagnostic, module.path, *text, true).empty())
      __builtin_trap();
  }
  return 0;
}
