// What a run did to L2 and HBM, for people.
//
//   memory      L2 read 1.1 GiB (12 % missed), written 512 MiB; HBM read 140 MiB, written 96 MiB, 81 % of it
//               in open rows
//
//   L2 lines of GPU 0  at end  at most  took from dispatch  from layer_norm  from nobody  on all GPUs
//   dispatch             62 %     70 %              12,000           81,000            0      744,000
#pragma once

#include <string>

#include "sim/study/memory_account.hpp"

namespace ptxwire::sim {

/// "L2 read ..." in one sentence.
std::string memory_words(const MemoryAccount& account);

/// Who holds L2 and who took whose place: one row per kernel, one column per kernel that lost lines.
std::string l2_text(const RunMemory& memory);

}  // namespace ptxwire::sim
