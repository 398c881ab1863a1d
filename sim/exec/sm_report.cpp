// What a stopped run says: where a fault happened, who waits for what.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "sim/exec/mbarrier_word.hpp"
#include "sim/exec/sm.hpp"

namespace ptxwire::sim {

std::string Sm::where(const Fragment& fragment, uint32_t lane) const {
  const Warp& warp = *fragment.warp;
  const Cta& cta = *warp.cta;
  const ptx::Program& program = cta.program->program();
  const uint32_t thread = warp.index * 32 + lane;
  const auto& block = cta.launch->block;
  return fmt::format("kernel '{}', GPU {}, CTA ({}, {}, {}), thread ({}, {}, {})",
                     program.functions[cta.function].name, device_.id().value, cta.id[0], cta.id[1],
                     cta.id[2], thread % block[0], thread / block[0] % block[1],
                     thread / block[0] / block[1]);
}

void Sm::stop(const Fragment& fragment, std::string what, uint32_t lane, std::string hint) {
  const ptx::Program& program = fragment.warp->cta->program->program();
  const ptx::ProgramFunction& function =
      program.functions[fragment.frames.empty() ? fragment.warp->cta->function
                                                : fragment.frames.back().function];
  const uint32_t pc = std::min<uint32_t>(fragment.pc, static_cast<uint32_t>(program.code.size()) - 1);
  device_.fault(
      Error{.message = fmt::format("{} at '{}', {}", what, program.texts[pc], where(fragment, lane)),
            .path = function.path,
            .line = program.code[pc].line,
            .column = 0,
            .hint = std::move(hint)});
}

// What exactly the fragment waits for, and how far that has come.
std::string Sm::wait_detail(const Fragment& fragment) {
  const Cta& cta = *fragment.warp->cta;
  std::string detail;
  if (!fragment.waiting) return detail;
  if (fragment.parked) {
    std::vector<uint64_t> addresses;
    for (const PollRead& read : fragment.poll.reads)
      if (std::find(addresses.begin(), addresses.end(), read.address) == addresses.end())
        addresses.push_back(read.address);
    constexpr size_t kShown = 4;
    for (size_t i = 0; i < std::min(addresses.size(), kShown); ++i)
      detail += fmt::format("{} {:#x}", i == 0 ? " at" : ",", addresses[i]);
    if (addresses.size() > kShown) detail += fmt::format(" and {} more", addresses.size() - kShown);
    return detail;
  }
  switch (fragment.reason) {
    case Wait::barrier:
    case Wait::named_barrier: {
      const NamedBarrier& barrier = cta.barriers[fragment.wait_detail & 15];
      return fmt::format(" {} ({} of {} threads there)", fragment.wait_detail, barrier.arrived,
                         barrier.expected != 0 ? barrier.expected : cta.threads_alive);
    }
    case Wait::cluster_barrier: {
      uint32_t alive = 0;
      for (const Cta* member : cta.cluster) alive += member->threads_alive;
      return fmt::format(" ({} of {} threads there)", cta.cluster[0]->cluster_arrived, alive);
    }
    case Wait::mbarrier: {
      uint64_t bits = 0;
      if (fragment.wait_detail + sizeof(bits) > cta.shared.size()) return detail;
      std::memcpy(&bits, cta.shared.data() + fragment.wait_detail, sizeof(bits));
      const MbarrierWord word(bits);
      return fmt::format(" at shared {:#x} ({} arrivals and {} bytes missing)", fragment.wait_detail,
                         word.pending(), word.transactions());
    }
    case Wait::reconverge:
      return fragment.sync_mask == 0 ? "" : fmt::format(" (lanes {:#x})", fragment.sync_mask);
    default:
      return detail;
  }
}

void Sm::waiting_report(std::vector<std::string>& lines, size_t limit) const {
  static constexpr std::array<const char*, static_cast<size_t>(Wait::count)> kNames = {
      "is issuing",
      "waits for a load",
      "waits for a remote load",
      "polls memory",
      "polls remote memory",
      "polls shared memory",
      "waits for room for stores",
      "waits for acknowledgements",
      "waits at barrier 0",
      "waits at a named barrier",
      "waits at the cluster barrier",
      "waits for an mbarrier",
      "waits for bulk copies",
      "sleeps",
      "waits for an atomic",
      "waits for lanes of its warp",
      "waits for the tensor cores"};
  for (const std::unique_ptr<Cta>& cta : ctas_) {
    for (const std::unique_ptr<Warp>& warp : cta->warps) {
      for (const Fragment* fragment : warp->fragments) {
        if (lines.size() >= limit) return;
        const ptx::Program& program = cta->program->program();
        const ptx::Op& op = program.code[fragment->pc];
        lines.push_back(
            fmt::format("GPU {} kernel '{}' CTA {} warp {} lanes {:#x} {}{} ({}:{} '{}')", device_.id().value,
                        program.functions[cta->function].name, cta->linear, warp->index, fragment->mask,
                        kNames[static_cast<size_t>(fragment->waiting ? fragment->reason : Wait::issuing)],
                        wait_detail(*fragment), program.functions[fragment->frames.back().function].path,
                        op.line, program.texts[fragment->pc]));
      }
    }
  }
}

}  // namespace ptxwire::sim
