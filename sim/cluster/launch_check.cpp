#include "sim/cluster/launch_check.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/gpu/sm_partition.hpp"
#include "support/nearest.hpp"

namespace ptxwire::sim {
namespace {

Error unknown_kernel(const ptx::Program& program, const std::string& name) {
  const ptx::ProgramFunction* nearest = nullptr;
  for (const ptx::ProgramFunction& function : program.functions)
    if (function.is_entry &&
        (nearest == nullptr || edit_distance(function.name, name) < edit_distance(nearest->name, name)))
      nearest = &function;
  return Error{.message = fmt::format("kernel '{}' is not in the program", name),
               .path = program.functions.empty() ? "" : program.functions[0].path,
               .hint = nearest == nullptr ? "it has no entry at all"
                                          : fmt::format("did you mean '{}'?", nearest->name)};
}

constexpr uint32_t kBarriersPerCta = 16;
constexpr uint32_t kMaxRegisters = 255;

/// Hardware barriers that a function takes: up to the highest number it names, all if a number is computed.
uint32_t barriers_of(const ptx::Program& program, const ptx::ProgramFunction& function) {
  uint32_t barriers = 0;
  for (uint32_t pc = function.entry_pc; pc < function.end_pc; ++pc) {
    const ptx::Op& op = program.code[pc];
    if (op.opcode != ptx::Opcode::bar) continue;
    uint64_t number = 0;
    if (op.src[0].kind == ptx::Slot::Kind::constant) {
      number = program.constants[op.src[0].index].value;
    } else if (op.src[0].present()) {
      return kBarriersPerCta;
    }
    barriers = std::max(barriers, static_cast<uint32_t>(std::min<uint64_t>(number + 1, kBarriersPerCta)));
  }
  return barriers;
}

bool calls_functions(const ptx::Program& program, const ptx::ProgramFunction& function) {
  return std::any_of(program.code.begin() + function.entry_pc, program.code.begin() + function.end_pc,
                     [&](const ptx::Op& op) {
                       return op.opcode == ptx::Opcode::call && program.calls[op.target].intrinsic.empty();
                     });
}

}  // namespace

uint32_t dynamic_shared_offset(const ptx::ProgramFunction& entry) {
  const uint32_t align = std::max(entry.shared_align, 16U);
  return (entry.static_shared_bytes + align - 1) / align * align;
}

uint64_t launch_shared_bytes(const ptx::ProgramFunction& entry, uint64_t dynamic_bytes) {
  return dynamic_bytes == 0 ? entry.static_shared_bytes : dynamic_shared_offset(entry) + dynamic_bytes;
}

models::CtaFootprint launch_footprint(const ptx::Program& program, const ptx::ProgramFunction& entry,
                                      const LaunchConfig& config) {
  constexpr uint32_t kUnknownRegisters = 32;
  models::CtaFootprint cta;
  cta.threads = static_cast<uint32_t>(config.block.count());
  cta.registers_per_thread = config.registers_per_thread != 0  ? config.registers_per_thread
                             : entry.registers_per_thread != 0 ? entry.registers_per_thread
                                                               : kUnknownRegisters;
  cta.shared_bytes = static_cast<uint32_t>(launch_shared_bytes(entry, config.dynamic_shared_bytes));
  cta.barriers = barriers_of(program, entry);
  if (calls_functions(program, entry))  // which of them it reaches is not followed
    for (const ptx::ProgramFunction& function : program.functions)
      if (!function.is_entry) cta.barriers = std::max(cta.barriers, barriers_of(program, function));
  return cta;
}

Expected<uint32_t> check_launch(const ptx::Program& program, const LaunchConfig& config,
                                const models::SmParameters& sm) {
  const uint32_t index = program.find_entry(config.kernel);
  if (index == UINT32_MAX) return unknown_kernel(program, config.kernel);
  const ptx::ProgramFunction& entry = program.functions[index];
  const auto refuse = [&](std::string why, std::string hint = {}) {
    return Error{.message = fmt::format("launch of '{}': {}", entry.name, why),
                 .path = entry.path,
                 .hint = std::move(hint)};
  };
  // Limits of compute capability 9.0 (CUDA C++ Programming Guide, table of technical specifications).
  const Dim3& grid = config.grid;
  const Dim3& block = config.block;
  if (std::min({grid.x, grid.y, grid.z, block.x, block.y, block.z}) == 0)
    return refuse("grid and CTA need at least one element in every dimension");
  if (grid.x > INT32_MAX || grid.y > 65535 || grid.z > 65535)
    return refuse(fmt::format("a grid of {}x{}x{} CTAs, at most 2147483647x65535x65535 are possible", grid.x,
                              grid.y, grid.z));
  if (grid.count() > UINT32_MAX)
    return refuse(fmt::format("a grid of {} CTAs, at most {} are simulated", grid.count(), UINT32_MAX));
  const uint64_t threads = config.block.count();
  if (threads > 1024) return refuse(fmt::format("a CTA of {} threads, at most 1024 are possible", threads));
  if (block.z > 64)
    return refuse(fmt::format("a CTA of {} threads along z, at most 64 are possible", block.z));
  const uint32_t* most = entry.directives.maxntid;
  if (most[0] != 0) {
    const uint64_t limit = uint64_t{most[0]} * std::max(most[1], 1U) * std::max(most[2], 1U);
    if (threads > limit)
      return refuse(fmt::format("a CTA of {} threads, .maxntid allows {}", threads, limit));
  }
  const uint32_t* required = entry.directives.reqntid;
  if (required[0] != 0 && (required[0] != config.block.x || std::max(required[1], 1U) != config.block.y ||
                           std::max(required[2], 1U) != config.block.z))
    return refuse(fmt::format("a CTA of {}x{}x{}, .reqntid asks for {}x{}x{}", config.block.x, config.block.y,
                              config.block.z, required[0], std::max(required[1], 1U),
                              std::max(required[2], 1U)));
  if (!config.parameters.empty() || entry.parameter_bytes != 0) {
    if (config.parameters.size() != entry.parameter_bytes)
      return refuse(fmt::format("{} bytes of parameters given, the kernel takes {}", config.parameters.size(),
                                entry.parameter_bytes));
  }
  if (config.cluster == 0 || config.cluster > 16 || config.grid.x % config.cluster != 0)
    return refuse(fmt::format("clusters of {} CTAs do not divide a grid of {} along x (1 to 16 are possible)",
                              config.cluster, config.grid.x));
  const uint64_t shared = launch_shared_bytes(entry, config.dynamic_shared_bytes);
  if (shared > sm.max_shared_per_cta_bytes)
    return refuse(fmt::format("{} bytes of shared memory ({} static, {} dynamic), a CTA has at most {}",
                              shared, entry.static_shared_bytes, config.dynamic_shared_bytes,
                              sm.max_shared_per_cta_bytes));
  if (config.registers_per_thread > kMaxRegisters)
    return refuse(fmt::format("{} registers per thread, at most {} are possible", config.registers_per_thread,
                              kMaxRegisters));
  const models::CtaFootprint cta = launch_footprint(program, entry, config);
  const models::SmPartition empty(sm);
  if (!empty.room(0).fits(cta))
    return refuse(fmt::format("a CTA does not fit into an SM: {} threads with {} registers each", threads,
                              cta.registers_per_thread));
  if (config.cluster > 1 && empty.choose(cta, config.cluster).empty())
    return refuse(fmt::format("a cluster of {} CTAs does not fit into a GPC", config.cluster));
  if (config.cooperative && !empty.fits_whole(cta, config.cluster, config.grid.count()))
    return refuse(fmt::format("a cooperative grid of {} CTAs cannot be resident at once, {} SMs hold {}",
                              config.grid.count(), sm.count, empty.capacity(cta, config.cluster)),
                  "use fewer CTAs, fewer threads per CTA or less shared memory");
  return index;
}

}  // namespace ptxwire::sim
