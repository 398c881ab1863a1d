// The per-thread frame of one function: its interface, .local variables and the .param variables of its call
// sites.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx_frontend/link/parameter_layout.hpp"
#include "ptx_frontend/syntax/ast.hpp"

namespace ptxwire::ptx {

/// Frames stack: the base of a callee's frame is the end of its caller's, so `bytes()` is a multiple of 16,
/// the largest access. Variables of a stricter alignment have it within the frame only.
///
///   offset 0   return values, parameters (.func only; see call_layout)
///              .local variables
///              .param variables of call sites; sibling { } blocks use the same bytes
class FrameLayout {
 public:
  explicit FrameLayout(const Function& function);

  /// Frame offset of a symbol of the function, or kNoOffset if it does not live in the frame.
  [[nodiscard]] uint32_t offset_of(uint32_t symbol) const { return offsets_[symbol]; }
  [[nodiscard]] const CallLayout& interface() const { return interface_; }
  /// Room for a value that lowering itself needs to pass.
  uint32_t add_temporary(uint32_t bytes, uint32_t align);
  [[nodiscard]] uint32_t bytes() const { return static_cast<uint32_t>(align_up(bytes_, 16)); }

  static constexpr uint32_t kNoOffset = UINT32_MAX;

 private:
  void place_interface(const Function& function);
  void place_call_parameters(const Function& function);

  std::vector<uint32_t> offsets_;
  CallLayout interface_;
  uint64_t bytes_ = 0;
};

}  // namespace ptxwire::ptx
