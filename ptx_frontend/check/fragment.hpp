// How many registers of a thread hold a fragment of a matrix, from the spelling of the instruction.
#pragma once

#include <string_view>

namespace ptxwire::ptx {

struct Fragment {
  unsigned registers = 0;  ///< 0: not known here
  unsigned bytes = 4;      ///< of one register
  unsigned n = 0;          ///< wgmma: columns of D
};

/// Of the `place`-th matrix operand: D, A, B, C of a product, or the only one of a load or store (PTX ISA
/// 9.7.14.5, 9.7.15.5).
Fragment fragment(std::string_view spelling, unsigned place);

}  // namespace ptxwire::ptx
