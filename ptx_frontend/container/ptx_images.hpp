// PTX inside binaries: fatbin files, object files, shared libraries, executables, archives, and cubins that
// keep the PTX they were made from. One file may hold many texts: one per translation unit and architecture.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/error.hpp"

namespace ptxwire::ptx {

struct PtxImage {
  std::string text;
  unsigned sm = 0;              ///< architecture that the container states (90 of sm_90a); 0: none
  std::string target;           ///< ".target" of the text: "sm_90a"
  uint64_t offset = 0;          ///< of the entry in the file
  std::string_view compressed;  ///< "zstd", "lz4", or empty
};

/// Do these bytes begin like a binary that may hold PTX: a fatbin, an ELF file or an archive?
bool may_hold_ptx(std::string_view bytes);

/// All PTX texts in file order; none is no error. Errors: an entry that is cut off or cannot be decompressed.
Expected<std::vector<PtxImage>> find_ptx(std::string_view bytes);

/// The images for `target` ("sm_90a"); if it is empty those for the newest target up to sm_90a, of which
/// sm_90a is the newest. None fits: an error that lists what there is.
Expected<std::vector<PtxImage>> pick_ptx(std::vector<PtxImage> images, std::string_view target);

}  // namespace ptxwire::ptx
