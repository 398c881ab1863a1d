// What `ptxas -v` says about the kernels it compiled:
//
//   ptxas info    : Compiling entry function 'copy_v4' for 'sm_90a'
//   ptxas info    : Function properties for copy_v4
//       0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
//   ptxas info    : Used 40 registers, used 1 barriers, 16 bytes smem
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/error.hpp"

namespace ptxwire::ptx {

/// One entry, as compiled for one architecture.
struct PtxasEntry {
  std::string name;          ///< as in the PTX, mangled where that is
  std::string architecture;  ///< "sm_90a"
  uint32_t registers = 0;    ///< per thread
  uint32_t barriers = 0;
  uint64_t shared_bytes = 0;  ///< static
  uint32_t line = 0;          ///< of the log, where the entry begins
};

/// All entries, in the order of the log; other lines are passed over, so that a whole build log will do.
/// `path` is for messages. Errors, with the line: an entry without its "Used N registers", a line that breaks
/// off, a log with no entry at all.
Expected<std::vector<PtxasEntry>> parse_ptxas_log(std::string_view text, const std::string& path);

/// The entry of this name for a Hopper GPU: sm_90a before sm_90. Error: there is none, with the nearest name
/// or the architectures that it was compiled for.
Expected<PtxasEntry> find_ptxas_entry(const std::vector<PtxasEntry>& entries, std::string_view name,
                                      const std::string& path);

}  // namespace ptxwire::ptx
