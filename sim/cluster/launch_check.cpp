#include "sim/cluster/launch_check.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/exec/device.hpp"
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

/// TPC t lies in GPC t mod gpcs (Device::place_one).
uint32_t sms_of_gpc(const models::SmParameters& sm, uint32_t gpc) {
  uint32_t sms = 0;
  for (uint32_t tpc = gpc; 2 * tpc < sm.count; tpc += sm.gpcs) sms += std::min(2U, sm.count - 2 * tpc);
  return sms;
}

}  // namespace

uint32_t launch_registers(const ptx::ProgramFunction& entry) {
  return entry.registers_per_thread == 0 ? 32 : entry.registers_per_thread;
}

uint32_t dynamic_shared_offset(const ptx::ProgramFunction& entry) {
  const uint32_t align = std::max(entry.shared_align, 16U);
  return (entry.static_shared_bytes + align - 1) / align * align;
}

uint64_t launch_shared_bytes(const ptx::ProgramFunction& entry, uint64_t dynamic_bytes) {
  return dynamic_bytes == 0 ? entry.static_shared_bytes : dynamic_shared_offset(entry) + dynamic_bytes;
}

uint64_t resident_ctas(const models::SmParameters& sm, uint32_t per_sm, uint32_t cluster) {
  if (cluster <= 1) return uint64_t{per_sm} * sm.count;
  uint64_t ctas = 0;
  for (uint32_t gpc = 0; gpc < sm.gpcs; ++gpc) {
    const uint32_t sms = sms_of_gpc(sm, gpc);
    if (sms >= cluster) ctas += uint64_t{sms} * per_sm / cluster * cluster;
  }
  return ctas;
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
  const uint32_t per_sm = Device::occupancy(sm, static_cast<uint32_t>(threads), launch_registers(entry),
                                            static_cast<uint32_t>(shared));
  if (per_sm == 0)
    return refuse(fmt::format("a CTA does not fit into an SM: {} threads with {} registers each", threads,
                              launch_registers(entry)));
  const uint64_t resident = resident_ctas(sm, per_sm, config.cluster);
  if (resident == 0)
    return refuse(fmt::format("a cluster of {} CTAs does not fit into a GPC", config.cluster));
  if (config.cooperative && config.grid.count() > resident)
    return refuse(fmt::format("a cooperative grid of {} CTAs cannot be resident at once, {} SMs hold {}",
                              config.grid.count(), sm.count, resident),
                  "use fewer CTAs, fewer threads per CTA or less shared memory");
  return index;
}

}  // namespace ptxwire::sim
