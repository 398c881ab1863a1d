// Where parameters lie: launch parameters in the parameter block of an entry, the parameters of a .func in
// its frame.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx_frontend/program.hpp"
#include "ptx_frontend/syntax/ast.hpp"

namespace ptxwire::ptx {

constexpr uint64_t align_up(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

/// Alignment of a variable or parameter: as written, else that of its type (a vector: of the whole vector).
/// The `.align` of a pointer parameter speaks of what it points to and does not count.
uint32_t alignment_of(const Symbol& symbol);

/// Parameters one after the other, each at its alignment (PTX ISA, "Kernel Function Parameters" and ".param
/// space": the layout is that of a C struct with these members).
struct ParameterLayout {
  std::vector<ProgramParameter> items;
  uint32_t bytes = 0;  ///< end of the last one
};

/// Layout of the launch parameters of an entry.
ParameterLayout entry_parameters(const Function& function);

/// Layout of return values, then parameters, at the start of the frame of a .func. It depends on the
/// signature only, so that an indirect call knows it from the prototype.
struct CallLayout {
  std::vector<ProgramParameter> returns;
  std::vector<ProgramParameter> parameters;
  uint32_t bytes = 0;
};
CallLayout call_layout(const Function& function);
CallLayout prototype_layout(const Symbol& prototype);

}  // namespace ptxwire::ptx
