// prefetch, prefetchu, discard, applypriority and cp.async.bulk.prefetch: they move or mark lines and nobody
// waits for them.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "sim/exec/l2_policy.hpp"
#include "sim/exec/sm.hpp"

namespace ptxwire::sim {

using models::AccessKind;
using models::kLineBytes;
using models::line_of;
using ptx::Op;
using ptx::Opcode;

namespace {

constexpr uint8_t kWholeLine = 0xf;

AccessKind control_kind(Opcode opcode) {
  switch (opcode) {
    case Opcode::discard:
      return AccessKind::discard;
    case Opcode::applypriority:
      return AccessKind::reprioritise;
    default:
      return AccessKind::prefetch;
  }
}

}  // namespace

// Prefetches of what is no device memory do nothing; the others must name live memory, aligned to a line.
bool Sm::cache_control(Fragment& fragment, const Op& op, uint32_t mask, int64_t cycle) {
  const AccessKind kind = control_kind(op.opcode);
  const bool bulk = op.opcode == Opcode::cp_async_bulk_prefetch;
  if (op.modifiers.space == ptx::Space::local) return true;
  uint64_t address[32];
  addresses(fragment, op.src[0], op.offset, address);
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(m));
    const uint64_t bytes = bulk ? uniform_source(fragment, op.src[1], 1U << lane) : 1;
    const MemorySpace* space =
        address[lane] >> kGpuShift == 0 ? nullptr : device_.space(home_of(address[lane]));
    const bool live = space != nullptr && space->resolve(address[lane], bytes) != nullptr;
    if (kind == AccessKind::prefetch && !bulk) {
      if (!live) mask &= ~(1U << lane);
      continue;
    }
    const uint32_t alignment = bulk ? 16 : kLineBytes;
    if (address[lane] % alignment != 0 || bytes % (bulk ? 16 : 1) != 0) {
      stop(fragment,
           fmt::format("misaligned address {:#x} (must be a multiple of {})", address[lane], alignment),
           lane);
      return false;
    }
    if (!live) {
      stop_unmapped(fragment, mask, address, static_cast<uint32_t>(std::min<uint64_t>(bytes, UINT32_MAX)));
      return false;
    }
  }
  models::L2Hint hint = modifier_hint(op.modifiers);
  while (mask != 0) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(mask));
    if (bulk) {
      if (op.modifiers.cache_hint) hint = policy_hint(uniform_source(fragment, op.src[5], 1U << lane));
      const uint64_t end = address[lane] + uniform_source(fragment, op.src[1], 1U << lane);
      for (uint64_t line = line_of(address[lane]); line < end;) {
        WarpTransaction& transaction = new_cache_control(fragment, op, kind, line);
        for (; line < end && transaction.part_count < models::Transaction::kMaxParts; line += kLineBytes)
          transaction.parts[transaction.part_count++] = {line, 0, 0, kWholeLine};
        transaction.l2_hint = hint;
        submit(transaction, cycle);
      }
      mask &= mask - 1;
      continue;
    }
    // Lanes whose lines have one home travel together.
    WarpTransaction& transaction = new_cache_control(fragment, op, kind, address[lane]);
    transaction.l2_hint = hint;
    const uint32_t home = home_of(address[lane]);
    for (uint32_t m = mask; m != 0; m &= m - 1) {
      const int other = std::countr_zero(m);
      if (home_of(address[other]) != home) continue;
      mask &= ~(1U << other);
      models::TransactionPart& part = transaction.part_of(line_of(address[other]));
      part.sector_mask |=
          kind == AccessKind::prefetch ? models::sectors_touched(address[other] - part.line, 1) : kWholeLine;
    }
    transaction.fills_l1 = op.modifiers.level == ptx::CacheLevel::l1 && !transaction.host_memory;
    transaction.make_room();
    submit(transaction, cycle);
  }
  return true;
}

WarpTransaction& Sm::new_cache_control(Fragment& fragment, const Op& op, AccessKind kind, uint64_t address) {
  WarpTransaction& transaction = *device_.new_transaction();
  transaction.role = WarpTransaction::Role::cache_control;
  transaction.kind = kind;
  transaction.op = &op;
  transaction.cta = fragment.warp->cta;
  transaction.warp = fragment.warp;
  transaction.set_home(home_of(address));
  transaction.l1_changes = l1_.changes();
  return transaction;
}

}  // namespace ptxwire::sim
