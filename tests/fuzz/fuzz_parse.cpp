// Any bytes: parsing, checking and lowering end with diagnostics or an error, never with a crash, and every
// diagnostic can be rendered.
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
  if (!diagnostics.has_errors()) check(module, diagnostics);
  for (const Diagnostic& diagnostic : diagnostics.list()) {
    if (render(diagnostic, module.path, *text, false).empty()) __builtin_trap();
  }
  if (diagnostics.has_errors()) return 0;
  const auto program = link_and_lower({&module});
  if (!program && program.error().message.empty()) __builtin_trap();
  return 0;
}
