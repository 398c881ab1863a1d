// Any bytes: the search for PTX in binaries ends with texts or an error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ptx_frontend/container/ptx_images.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto images = ptxwire::ptx::find_ptx({reinterpret_cast<const char*>(data), size});
  if (!images && images.error().message.empty()) __builtin_trap();
  return 0;
}
