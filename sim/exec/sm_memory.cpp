// Loads, stores, atomics: from lanes to transactions and back.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "sim/exec/atomic_ops.hpp"
#include "sim/exec/sm.hpp"

namespace ptxwire::sim {

using models::AccessKind;
using models::kLineBytes;
using models::kSectorBytes;
using models::Picoseconds;
using ptx::Op;
using ptx::Opcode;
using ptx::Order;
using ptx::Scope;
using ptx::Slot;
using ptx::Type;

namespace {

bool is_run(uint32_t mask) {
  const uint32_t low = mask >> std::countr_zero(mask);
  return (low & (low + 1)) == 0;
}

/// The active lanes are neighbours and so are their bytes, in order.
bool is_contiguous(uint32_t mask, const uint64_t* address, uint32_t lane_bytes) {
  if (!is_run(mask)) return false;
  const auto first = static_cast<uint32_t>(std::countr_zero(mask));
  const auto lanes = static_cast<uint32_t>(std::popcount(mask));
  uint64_t different = 0;
  for (uint32_t lane = 1; lane < lanes; ++lane)
    different |= address[first + lane] ^ (address[first] + uint64_t{lane} * lane_bytes);
  return different == 0;
}

bool acquires(const Op& op) {
  const Order order = op.modifiers.order;
  return order == Order::acquire || order == Order::acq_rel || order == Order::sc;
}

bool releases(const Op& op) {
  const Order order = op.modifiers.order;
  return op.opcode != Opcode::ld &&
         (order == Order::release || order == Order::acq_rel || order == Order::sc);
}

models::L2Priority policy_priority(uint64_t policy) {
  switch (policy >> 56 & 0xF) {
    case 2:
      return models::L2Priority::first;
    case 4:
      return models::L2Priority::last;
    default:
      return models::L2Priority::normal;
  }
}

models::L2Priority modifier_priority(const ptx::Modifiers& modifiers) {
  const ptx::EvictPriority priority = modifiers.l2 != ptx::EvictPriority::none ? modifiers.l2 : modifiers.l1;
  switch (priority) {
    case ptx::EvictPriority::evict_first:
      return models::L2Priority::first;
    case ptx::EvictPriority::evict_last:
      return models::L2Priority::last;
    case ptx::EvictPriority::evict_unchanged:
      return models::L2Priority::unchanged;
    default:
      return modifiers.cache == ptx::CacheOp::cs ? models::L2Priority::first : models::L2Priority::normal;
  }
}

/// Destinations (atom), then sources of an atomic on a vector; null for everything else.
const std::vector<Slot>* vector_atomic_operands(const ptx::Program& program, const Op& op) {
  const bool atomic = op.opcode == Opcode::atom || op.opcode == Opcode::red;
  return atomic && op.modifiers.vector > 1 ? &program.operand_lists[op.operand_list] : nullptr;
}

}  // namespace

// ------------------------------------------------------------------------------------------------ addresses
// and registers

void Sm::addresses(const Fragment& fragment, const Slot& slot, int64_t offset, uint32_t mask,
                   uint64_t* out) const {
  (void)mask;
  if (slot.kind == Slot::Kind::constant || slot.rows >= 2) {
    const uint64_t* base = source64(fragment, slot);
    for (uint32_t lane = 0; lane < 32; ++lane) out[lane] = base[lane] + static_cast<uint64_t>(offset);
  } else if (slot.kind == Slot::Kind::none) {
    std::fill_n(out, 32, static_cast<uint64_t>(offset));
  } else {
    const uint32_t* base = source32(fragment, slot);
    for (uint32_t lane = 0; lane < 32; ++lane)
      out[lane] = static_cast<uint32_t>(base[lane] + static_cast<uint32_t>(offset));
  }
}

void Sm::gather_operands(const Fragment& fragment, const Op& op, uint32_t first_source, uint32_t mask,
                         uint32_t lane_bytes, uint8_t* out) const {
  const uint32_t element = type_bytes(op.modifiers.type);
  const LaneFrame frame = lane_frame(fragment);
  const Slot* sources = &op.src[first_source];
  if (const auto* list = vector_atomic_operands(fragment.warp->cta->program->program(), op))
    sources = list->data() + list->size() - op.modifiers.vector;
  for (uint32_t v = 0; v < op.modifiers.vector; ++v) {
    const Slot& slot = sources[v];
    uint8_t* target = out + size_t{v} * element;
    if (element == 16) {
      const uint32_t* rows = frame.rows + size_t{slot.index} * 32;
      const auto* low = reinterpret_cast<const uint64_t*>(rows);
      const auto* high = reinterpret_cast<const uint64_t*>(rows + 64);
      for (uint32_t lane = 0; lane < 32; ++lane) {
        std::memcpy(target + size_t{lane} * lane_bytes, low + lane, 8);
        std::memcpy(target + size_t{lane} * lane_bytes + 8, high + lane, 8);
      }
    } else if (slot.kind == Slot::Kind::constant || slot.rows >= 2) {
      const uint64_t* source = source64(fragment, slot);
      for (uint32_t lane = 0; lane < 32; ++lane)
        std::memcpy(target + size_t{lane} * lane_bytes, source + lane, element);
    } else {
      const uint32_t* source = source32(fragment, slot);
      if (element == 4) {
        for (uint32_t lane = 0; lane < 32; ++lane)
          std::memcpy(target + size_t{lane} * lane_bytes, source + lane, 4);
      } else {
        for (uint32_t m = mask; m != 0; m &= m - 1) {
          const auto lane = static_cast<size_t>(std::countr_zero(m));
          std::memcpy(target + lane * lane_bytes, source + lane, std::min<uint32_t>(element, 4));
        }
      }
    }
  }
}

namespace {

template <typename Element>
void scatter_rows(uint32_t* row, uint32_t rows, uint32_t mask, uint32_t lane_bytes, const uint8_t* data) {
  if (rows >= 2) {
    auto* wide = reinterpret_cast<uint64_t*>(row);
    for (uint32_t m = mask; m != 0; m &= m - 1) {
      const auto lane = static_cast<size_t>(std::countr_zero(m));
      Element value{};
      std::memcpy(&value, data + lane * lane_bytes, sizeof(Element));
      wide[lane] = static_cast<uint64_t>(static_cast<int64_t>(value));
      if constexpr (std::is_unsigned_v<Element>) wide[lane] = static_cast<uint64_t>(value);
    }
  } else if (mask == ~0U) {
    for (size_t lane = 0; lane < 32; ++lane) {
      Element value{};
      std::memcpy(&value, data + lane * lane_bytes, sizeof(Element));
      row[lane] = static_cast<uint32_t>(value);
    }
  } else {
    for (uint32_t m = mask; m != 0; m &= m - 1) {
      const auto lane = static_cast<size_t>(std::countr_zero(m));
      Element value{};
      std::memcpy(&value, data + lane * lane_bytes, sizeof(Element));
      row[lane] = static_cast<uint32_t>(value);
    }
  }
}

}  // namespace

void Sm::scatter(Warp& warp, uint32_t row_base, const Op& op, uint32_t mask, uint32_t lane_bytes,
                 const uint8_t* data) const {
  const Type type = op.modifiers.type;
  const uint32_t element = type_bytes(type);
  const auto* list = vector_atomic_operands(warp.cta->program->program(), op);
  const Slot* destinations = list != nullptr ? list->data() : op.dst.data();
  for (uint32_t v = 0; v < op.modifiers.vector; ++v) {
    const Slot& slot = destinations[v];
    if (slot.kind != Slot::Kind::reg) continue;
    uint32_t* row = warp.rows.data() + size_t{row_base + slot.index} * 32;
    const uint8_t* source = data + size_t{v} * element;
    const bool is_signed = is_signed_integer(type);
    switch (element) {
      case 1:
        is_signed ? scatter_rows<int8_t>(row, slot.rows, mask, lane_bytes, source)
                  : scatter_rows<uint8_t>(row, slot.rows, mask, lane_bytes, source);
        break;
      case 2:
        is_signed ? scatter_rows<int16_t>(row, slot.rows, mask, lane_bytes, source)
                  : scatter_rows<uint16_t>(row, slot.rows, mask, lane_bytes, source);
        break;
      case 4:
        is_signed ? scatter_rows<int32_t>(row, slot.rows, mask, lane_bytes, source)
                  : scatter_rows<uint32_t>(row, slot.rows, mask, lane_bytes, source);
        break;
      case 8:
        scatter_rows<uint64_t>(row, slot.rows, mask, lane_bytes, source);
        break;
      default:
        scatter_rows<uint64_t>(row, 2, mask, lane_bytes, source);
        scatter_rows<uint64_t>(row + 64, 2, mask, lane_bytes, source + 8);
        break;
    }
  }
}

// ------------------------------------------------------------------------------------------------ entry

bool Sm::release_first(Fragment& fragment, const Op& op, int64_t cycle) {
  if (fragment.phase == 2) return true;
  Cta& cta = *fragment.warp->cta;
  const Scope scope = op.modifiers.scope;
  if (scope == Scope::cta) {
    fragment.cycle += parameters_.fence_cta_clk;
    return true;
  }
  const bool acquire_only = op.opcode == Opcode::fence && op.modifiers.order == Order::acquire;
  fragment.phase = 2;
  const uint32_t fence =
      scope == Scope::gpu || scope == Scope::cluster ? parameters_.fence_gpu_clk : parameters_.fence_sys_clk;
  if (acquire_only || cta.stores.drained()) {
    wait(fragment, Wait::release_fence, cycle);
    schedule(fragment, cycle + fence);
    return false;
  }
  fragment.wait_detail = cta.stores.close();
  cta.release_waiting.push_back(&fragment);
  wait(fragment, Wait::release_fence, cycle);
  return false;
}

void Sm::wake_release_waiters(Cta& cta, int64_t cycle) {
  for (size_t i = 0; i < cta.release_waiting.size();) {
    Fragment& fragment = *cta.release_waiting[i];
    if (!cta.stores.passed(fragment.wait_detail)) {
      ++i;
      continue;
    }
    cta.release_waiting.erase(cta.release_waiting.begin() + static_cast<std::ptrdiff_t>(i));
    const Scope scope = cta.program->program().code[fragment.pc].modifiers.scope;
    resume(fragment, cycle + (scope == Scope::gpu || scope == Scope::cluster ? parameters_.fence_gpu_clk
                                                                             : parameters_.fence_sys_clk));
  }
}

bool Sm::memory_access(Fragment& fragment, const ExecOp& exec, const Op& op, uint32_t mask, int64_t cycle) {
  if (releases(op) && !release_first(fragment, op, cycle)) return false;
  uint64_t address[32];
  addresses(fragment, op.src[0], op.offset, mask, address);
  switch (op.modifiers.space) {
    case ptx::Space::shared:
      return access_near(fragment, exec, op, Window::shared, mask, address, cycle);
    case ptx::Space::constant:
      return access_near(fragment, exec, op, Window::constant, mask, address, cycle);
    case ptx::Space::local:
      if (op.frame_relative)
        for (uint64_t& a : address) a += fragment.frames.back().local_base;
      return access_near(fragment, exec, op, Window::local, mask, address, cycle);
    case ptx::Space::param:
      return access_near(fragment, exec, op, Window::parameter, mask, address, cycle);
    case ptx::Space::global:
      return access_device(fragment, exec, op, mask, address, cycle);
    default:
      break;
  }
  // Generic: lanes may lie in different windows; near ones are done first, device memory last.
  uint32_t device = 0;
  for (uint32_t m = mask; m != 0; m &= m - 1)
    if (address[std::countr_zero(m)] >> kGpuShift != 0) device |= m & (~m + 1);
  uint32_t near = mask & ~device;
  while (near != 0) {
    const Window window = window_of(address[std::countr_zero(near)]);
    uint32_t same = 0;
    uint64_t offset[32] = {};
    for (uint32_t m = near; m != 0; m &= m - 1) {
      const int lane = std::countr_zero(m);
      if (window_of(address[lane]) != window) continue;
      same |= m & (~m + 1);
      offset[lane] = address[lane] & (kWindowBytes - 1);
    }
    near &= ~same;
    if (window == Window::unmapped) {
      const auto lane = static_cast<uint32_t>(std::countr_zero(same));
      stop(fragment,
           fmt::format("access to unmapped address {:#x} ({} bytes)", address[lane],
                       type_bytes(op.modifiers.type) * op.modifiers.vector),
           lane);
      return false;
    }
    const bool last = near == 0 && device == 0;
    if (!access_near(fragment, exec, op, window, same, offset, cycle)) return false;
    if (!last) --fragment.pc;
  }
  return device == 0 || access_device(fragment, exec, op, device, address, cycle);
}

// ------------------------------------------------------------------------------------------------ shared,
// local, parameters, constants

uint8_t* Sm::near_pointer(Fragment& fragment, Window window, uint64_t address, uint32_t lane, uint32_t bytes,
                          Cta** shared_owner) {
  Warp& warp = *fragment.warp;
  Cta& cta = *warp.cta;
  switch (window) {
    case Window::shared: {
      const uint64_t rank = address >> kSharedRankShift;
      const uint64_t offset = address & ((1U << kSharedRankShift) - 1);
      if (rank > cta.cluster.size()) return nullptr;
      Cta& owner = rank == 0 ? cta : *cta.cluster[rank - 1];
      if (shared_owner != nullptr) *shared_owner = &owner;
      return offset + bytes <= owner.shared.size() ? owner.shared.data() + offset : nullptr;
    }
    case Window::local:
      return address + bytes <= warp.local_bytes
                 ? warp.local.data() + size_t{lane} * warp.local_bytes + address
                 : nullptr;
    case Window::parameter: {
      std::vector<uint8_t>& parameters = cta.launch->parameters;
      return address + bytes <= parameters.size() ? parameters.data() + address : nullptr;
    }
    case Window::constant: {
      const std::vector<uint8_t>& bank = cta.program->constant_bank();
      return address + bytes <= bank.size() ? const_cast<uint8_t*>(bank.data()) + address : nullptr;
    }
    default:
      return nullptr;
  }
}

// Passes over the 32 four-byte banks that the access needs; lanes reading the same word share one.
uint32_t Sm::bank_wavefronts(const uint64_t* address, uint32_t mask, uint32_t lane_bytes) const {
  const int first = std::countr_zero(mask);
  bool sequential = is_run(mask);
  bool uniform = true;
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    sequential =
        sequential && address[lane] == address[first] + static_cast<uint64_t>(lane - first) * lane_bytes;
    uniform = uniform && address[lane] == address[first];
  }
  if (uniform) return 1;
  const auto lanes = static_cast<uint32_t>(std::popcount(mask));
  if (sequential) return std::max(1U, (lanes * lane_bytes + 127) / 128);
  uint32_t passes = 0;
  const uint32_t group =
      32 / std::max(1U, lane_bytes / 4);  // 8 B accesses go by half warps, 16 B by quarters
  for (uint32_t begin = 0; begin < 32; begin += group) {
    std::array<std::array<uint64_t, 32>, 32> words;
    std::array<uint8_t, 32> count{};
    uint32_t worst = 0;
    for (uint32_t lane = begin; lane < begin + group; ++lane) {
      if ((mask >> lane & 1U) == 0) continue;
      for (uint64_t word = address[lane] / 4; word <= (address[lane] + lane_bytes - 1) / 4; ++word) {
        const size_t bank = word % 32;
        const auto end = words[bank].begin() + count[bank];
        if (std::find(words[bank].begin(), end, word) == end) words[bank][count[bank]++] = word;
        worst = std::max<uint32_t>(worst, count[bank]);
      }
    }
    passes += worst;
  }
  return std::max(1U, passes);
}

bool Sm::access_near(Fragment& fragment, const ExecOp& exec, const Op& op, Window window, uint32_t mask,
                     const uint64_t* address, int64_t cycle) {
  Warp& warp = *fragment.warp;
  const uint32_t element = type_bytes(op.modifiers.type);
  const uint32_t lane_bytes = element * op.modifiers.vector;
  const bool load = exec.kind == ExecKind::load;
  if ((window == Window::parameter || window == Window::constant) && !load) {
    stop(fragment, "store to read-only memory", static_cast<uint32_t>(std::countr_zero(mask)));
    return false;
  }
  alignas(16) uint8_t data[512];
  alignas(16) uint8_t second[512];
  if (!load) gather_operands(fragment, op, 1, mask, lane_bytes, data);
  if (op.modifiers.atomic == ptx::AtomicOp::cas) gather_operands(fragment, op, 2, mask, lane_bytes, second);
  bool other_cta = false;
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(m));
    Cta* owner = nullptr;
    uint8_t* memory = near_pointer(fragment, window, address[lane], lane, lane_bytes, &owner);
    if (memory == nullptr || address[lane] % lane_bytes != 0) {
      static constexpr std::array<const char*, 6> kNames = {"unmapped",  "shared",   "local",
                                                            "parameter", "constant", "device"};
      stop(fragment,
           fmt::format("{} access to {} memory at {:#x} ({} bytes)",
                       memory == nullptr ? "out-of-bounds" : "misaligned",
                       kNames[static_cast<size_t>(window)], address[lane], lane_bytes),
           lane);
      return false;
    }
    if (owner != nullptr && owner != warp.cta) other_cta = true;
    uint8_t* mine = data + size_t{lane} * lane_bytes;
    if (load) {
      std::memcpy(mine, memory, lane_bytes);
      if (exec.in_poll_loop && window == Window::shared) {
        if (owner == warp.cta) {
          note_poll(fragment, address[lane] & ((1U << kSharedRankShift) - 1), lane_bytes, memory, true,
                    cycle);
        } else {
          fragment.poll.remote = true;
        }
      }
    } else if (exec.kind == ExecKind::store) {
      std::memcpy(memory, mine, lane_bytes);
    } else {
      apply_atomic_bytes(op.modifiers.atomic, op.modifiers.type, lane_bytes, memory, mine,
                         second + size_t{lane} * lane_bytes, false);
    }
    if (!load && window == Window::shared && !owner->shared_parked.empty()) {
      const auto offset = static_cast<uint32_t>(address[lane] & ((1U << kSharedRankShift) - 1));
      notify_shared_write(*owner, offset, lane_bytes, cycle);
    }
  }
  int64_t ready = cycle + exec.latency;
  if (window == Window::shared) {
    const uint32_t wavefronts = bank_wavefronts(address, mask, lane_bytes);
    const auto width = std::max<uint32_t>(static_cast<uint32_t>(parameters_.lsu_interval_clk), wavefronts);
    const int64_t start = lsu_.claim(cycle, width);
    const bool atomic = exec.kind == ExecKind::atomic || exec.kind == ExecKind::reduction;
    ready = start + wavefronts - 1 +
            (other_cta ? parameters_.dsm_latency_clk
             : atomic  ? parameters_.shared_atomic_latency_clk
                       : parameters_.shared_latency_clk);
  } else if (window == Window::local && op.latency == ptx::LatencyClass::memory) {
    const int64_t start =
        lsu_.claim(cycle, std::max(2U, static_cast<uint32_t>(std::popcount(mask)) * lane_bytes / 128));
    ready = start + parameters_.l1_hit_latency_clk;
  }
  if (exec.kind != ExecKind::store && exec.kind != ExecKind::reduction) {
    scatter(warp, fragment.frames.back().row_base, op, mask, lane_bytes, data);
    set_results(fragment, exec, ready);
  }
  fragment.phase = 0;
  ++fragment.pc;
  return true;
}

// ------------------------------------------------------------------------------------------------ device
// memory

bool Sm::has_room(Room room, uint64_t amount) const {
  switch (room) {
    case kLoadRoom:
      return outstanding_lines_ == 0 || outstanding_lines_ + amount <= parameters_.outstanding_load_lines;
    case kLocalStoreRoom:
      return local_store_bytes_ == 0 || local_store_bytes_ + amount <= parameters_.local_store_window_bytes;
    case kRemoteStoreRoom:
      return remote_store_bytes_ == 0 ||
             remote_store_bytes_ + amount <= parameters_.remote_store_window_bytes;
  }
  return true;
}

bool Sm::room_for(Fragment& fragment, Room room, uint64_t amount, int64_t cycle) {
  if (has_room(room, amount) && (window_waiters_[room].empty() || fragment.wait_result)) {
    fragment.wait_result = false;
    return true;
  }
  if (fragment.phase == 0) fragment.phase = 3;
  fragment.wait_detail = amount;
  window_waiters_[room].push_back(&fragment);
  wait(fragment, room == kLoadRoom ? Wait::local_load : Wait::store_window, cycle);
  return false;
}

// First come, first served: those at the front go on as far as there is room.
void Sm::wake_window_waiters(int64_t cycle) {
  for (const Room room : {kLoadRoom, kLocalStoreRoom, kRemoteStoreRoom}) {
    uint64_t promised = 0;
    std::deque<Fragment*>& waiters = window_waiters_[room];
    while (!waiters.empty() && has_room(room, promised + waiters.front()->wait_detail)) {
      Fragment& fragment = *waiters.front();
      waiters.pop_front();
      promised += fragment.wait_detail;
      fragment.wait_result = true;  // its turn: those behind it do not block it
      resume(fragment, cycle);
    }
  }
}

bool Sm::access_device(Fragment& fragment, const ExecOp& exec, const Op& op, uint32_t mask,
                       const uint64_t* address, int64_t cycle) {
  Warp& warp = *fragment.warp;
  const uint32_t lane_bytes = type_bytes(op.modifiers.type) * op.modifiers.vector;
  const uint32_t first_home = home_of(address[std::countr_zero(mask)]);
  bool one_home = true;
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    one_home = one_home && home_of(address[lane]) == first_home;
    if (address[lane] % lane_bytes != 0) {
      stop(fragment,
           fmt::format("misaligned access to global memory at {:#x} ({} bytes)", address[lane], lane_bytes),
           static_cast<uint32_t>(lane));
      return false;
    }
  }
  const bool contiguous = is_contiguous(mask, address, lane_bytes);
  const bool load = exec.kind == ExecKind::load;
  const bool store = exec.kind == ExecKind::store || exec.kind == ExecKind::reduction;
  const Order order = op.modifiers.order;
  const bool cached = load && (order == Order::none || order == Order::weak) &&
                      op.modifiers.cache != ptx::CacheOp::cg && op.modifiers.cache != ptx::CacheOp::cv &&
                      first_home < kHostBias;
  if (cached && one_home) {
    alignas(16) uint8_t data[512];
    bool hit = true;
    if (contiguous) {
      const auto lane = static_cast<size_t>(std::countr_zero(mask));
      hit = l1_.read(address[lane], static_cast<uint32_t>(std::popcount(mask)) * lane_bytes,
                     data + lane * lane_bytes);
    }
    for (uint32_t m = mask; m != 0 && hit && !contiguous; m &= m - 1) {
      const auto lane = static_cast<size_t>(std::countr_zero(m));
      hit = l1_.read(address[lane], lane_bytes, data + lane * lane_bytes);
    }
    if (hit) {
      const int64_t start =
          lsu_.claim(cycle, std::max(2U, static_cast<uint32_t>(std::popcount(mask)) * lane_bytes / 128));
      scatter(warp, fragment.frames.back().row_base, op, mask, lane_bytes, data);
      set_results(fragment, exec, start + parameters_.l1_hit_latency_clk);
      fragment.poll.impure = true;  // what L1 holds does not change by itself
      fragment.phase = 0;
      ++fragment.pc;
      return true;
    }
  }
  const bool remote = !one_home || first_home != device_.id().value;
  const auto lanes = static_cast<uint32_t>(std::popcount(mask));
  if (store) {
    if (!room_for(fragment, remote ? kRemoteStoreRoom : kLocalStoreRoom, uint64_t{lanes} * lane_bytes, cycle))
      return false;
  } else if (!room_for(fragment, kLoadRoom, std::max(1U, lanes * lane_bytes / kLineBytes), cycle)) {
    return false;
  }
  const bool blocking = !store && (acquires(op) || !one_home);
  const int64_t start = lsu_.claim(
      cycle,
      std::max<uint32_t>(static_cast<uint32_t>(parameters_.lsu_interval_clk), lanes * lane_bytes / 128));
  Wait reason = Wait::local_load;
  if (exec.kind == ExecKind::atomic) {
    reason = Wait::atomic;
  } else if (exec.in_poll_loop) {
    reason = remote ? Wait::remote_poll : Wait::local_poll;
  } else if (remote) {
    reason = Wait::remote_load;
  }
  if (!store) {
    set_pending(fragment, exec, mask, reason);
    if (remote || exec.kind == ExecKind::atomic) fragment.poll.remote = true;
  } else {
    fragment.poll.impure = true;
  }
  uint32_t left = mask;
  uint64_t transactions = 0;
  while (left != 0) {
    const uint32_t home = home_of(address[std::countr_zero(left)]);
    uint32_t same = left;
    if (!one_home) {
      same = 0;
      for (uint32_t m = left; m != 0; m &= m - 1)
        if (home_of(address[std::countr_zero(m)]) == home) same |= m & (~m + 1);
    }
    left &= ~same;
    ++transactions;
    access_home(fragment, exec, op, same, address, home, start, blocking);
    if (device_.fault_seen()) return false;
  }
  fragment.phase = 0;
  ++fragment.pc;
  if (!blocking) return true;
  fragment.wait_detail = transactions;
  wait(fragment, reason, cycle);
  return false;
}

void Sm::access_home(Fragment& fragment, const ExecOp& exec, const Op& op, uint32_t mask,
                     const uint64_t* address, uint32_t home, int64_t cycle, bool blocking) {
  Warp& warp = *fragment.warp;
  const uint32_t lane_bytes = type_bytes(op.modifiers.type) * op.modifiers.vector;
  const MemorySpace* space = device_.group().space(home);
  WarpTransaction& transaction = *device_.new_transaction();
  transaction.role = WarpTransaction::Role::lanes;
  transaction.lane_bytes = static_cast<uint8_t>(lane_bytes);
  transaction.mask = mask;
  transaction.pc = fragment.pc;
  transaction.op = &op;
  transaction.cta = warp.cta;
  transaction.warp = &warp;
  transaction.fragment = &fragment;
  transaction.row_base = fragment.frames.back().row_base;
  transaction.wakes_fragment = blocking;
  transaction.base = address[std::countr_zero(mask)];
  std::copy_n(address, 32, transaction.address.begin());
  transaction.home_gpu = {home >= kHostBias ? home - kHostBias : home};
  transaction.host_memory = home >= kHostBias;
  transaction.contiguous = false;
  if (space == nullptr || !build_parts(transaction)) {
    for (uint32_t m = mask; m != 0; m &= m - 1) {
      const auto lane = static_cast<uint32_t>(std::countr_zero(m));
      if (space != nullptr && space->resolve(address[lane], lane_bytes) != nullptr) continue;
      stop(fragment,
           fmt::format("access to unmapped global address {:#x} ({} bytes)", address[lane], lane_bytes), lane,
           space == nullptr ? "no GPU has this address" : space->describe(address[lane], lane_bytes));
      break;
    }
    device_.recycle(&transaction);
    return;
  }
  const bool load = exec.kind == ExecKind::load;
  transaction.posted = exec.kind == ExecKind::store || exec.kind == ExecKind::reduction;
  transaction.kind = load                            ? AccessKind::load
                     : exec.kind == ExecKind::store  ? AccessKind::store
                     : exec.kind == ExecKind::atomic ? AccessKind::atomic
                                                     : AccessKind::reduction;
  transaction.l2_prefetch_bytes = op.modifiers.l2_prefetch_bytes;
  transaction.l2_priority = modifier_priority(op.modifiers);
  if (op.modifiers.cache_hint)
    transaction.l2_priority = policy_priority(uniform_source(fragment, load ? op.src[1] : op.src[5], mask));
  const Order order = op.modifiers.order;
  transaction.fills_l1 = load && (order == Order::none || order == Order::weak) &&
                         op.modifiers.l1 != ptx::EvictPriority::no_allocate &&
                         op.modifiers.cache != ptx::CacheOp::cg && op.modifiers.cache != ptx::CacheOp::cv &&
                         !transaction.host_memory;
  transaction.invalidates_l1 = acquires(op) && op.modifiers.scope != Scope::cta;
  transaction.poll = load && exec.in_poll_loop && !transaction.remote() && !transaction.host_memory;
  if (transaction.host_memory) fragment.poll.remote = true;
  if (!load) gather_operands(fragment, op, 1, mask, lane_bytes, transaction.data.data());
  if (op.modifiers.atomic == ptx::AtomicOp::cas)
    gather_operands(fragment, op, 2, mask, lane_bytes, transaction.second.data());
  if (transaction.kind == AccessKind::store) {
    if (transaction.contiguous) {
      const auto lane = static_cast<size_t>(std::countr_zero(mask));
      l1_.write(transaction.base, transaction.data.data() + lane * lane_bytes,
                static_cast<uint32_t>(std::popcount(mask)) * lane_bytes);
    }
    for (uint32_t m = mask; m != 0 && !transaction.contiguous; m &= m - 1) {
      const auto lane = static_cast<size_t>(std::countr_zero(m));
      l1_.write(address[lane], transaction.data.data() + lane * lane_bytes, lane_bytes);
    }
  }
  if (transaction.kind == AccessKind::atomic || transaction.kind == AccessKind::reduction)
    for (uint32_t m = mask; m != 0; m &= m - 1) l1_.drop(address[std::countr_zero(m)], lane_bytes);
  transaction.l1_changes = l1_.changes();
  transaction.tracked_store = transaction.posted;
  transaction.window_bytes = 0;
  if (transaction.posted) {
    transaction.store_epoch = warp.cta->stores.add();
    transaction.window_bytes = static_cast<uint32_t>(std::popcount(mask)) * lane_bytes;
    (transaction.remote() || transaction.host_memory ? remote_store_bytes_ : local_store_bytes_) +=
        transaction.window_bytes;
    uint32_t sectors = 0;
    for (uint32_t p = 0; p < transaction.part_count; ++p)
      sectors += static_cast<uint32_t>(std::popcount(transaction.parts[p].sector_mask));
    store_port_free_ = std::max(store_port_free_, static_cast<double>(cycle)) +
                       sectors * kSectorBytes / parameters_.store_port_bytes_per_clk;
    cycle = static_cast<int64_t>(store_port_free_);
  } else {
    outstanding_lines_ += transaction.part_count;
  }
  submit(transaction, cycle);
}

void Sm::submit(WarpTransaction& transaction, int64_t cycle) {
  transaction.source_sm = {id_};
  transaction.client = &device_;
  ++transaction.cta->transactions;
  ++transaction.cta->launch->transactions;
  device_.memory().submit(transaction, device_.clock().time(cycle));
}

// Splits the lanes over 128-byte lines; false if an address is not in live memory.
bool Sm::build_parts(WarpTransaction& transaction) const {
  const uint32_t mask = transaction.mask;
  const uint32_t lane_bytes = transaction.lane_bytes;
  const uint32_t home =
      transaction.host_memory ? transaction.home_gpu.value + kHostBias : transaction.home_gpu.value;
  const MemorySpace& space = *device_.group().space(home);
  const auto first = static_cast<uint32_t>(std::countr_zero(mask));
  const auto lanes = static_cast<uint32_t>(std::popcount(mask));
  transaction.part_count = 0;
  const bool contiguous = is_contiguous(mask, transaction.address.data(), lane_bytes);
  if (contiguous) {
    transaction.contiguous = true;
    const uint64_t begin = transaction.base;
    const uint64_t end = begin + uint64_t{lanes} * lane_bytes;
    if (space.resolve(begin, end - begin) == nullptr) return false;
    for (uint64_t line = begin & ~uint64_t{kLineBytes - 1}; line < end; line += kLineBytes) {
      models::TransactionPart& part = transaction.parts[transaction.part_count++];
      const uint64_t from = std::max(begin, line);
      const uint64_t to = std::min(end, line + kLineBytes);
      part.line = line;
      part.bytes = static_cast<uint16_t>(to - from);
      part.sector_mask = static_cast<uint8_t>((2U << ((to - 1 - line) / kSectorBytes)) -
                                              (1U << ((from - line) / kSectorBytes)));
      const auto low = first + static_cast<uint32_t>((from - begin) / lane_bytes);
      const auto high = first + static_cast<uint32_t>((to - begin) / lane_bytes);
      part.lane_mask = static_cast<uint32_t>((1ULL << high) - (1ULL << low));
    }
    return true;
  }
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(m));
    const uint64_t address = transaction.address[lane];
    if (space.resolve(address, lane_bytes) == nullptr) return false;
    const uint64_t line = address & ~uint64_t{kLineBytes - 1};
    uint32_t p = transaction.part_count;
    while (p != 0 && transaction.parts[p - 1].line != line) --p;
    if (p == 0) {
      p = ++transaction.part_count;
      transaction.parts[p - 1] = {line, 0, 0, 0};
    }
    models::TransactionPart& part = transaction.parts[p - 1];
    part.lane_mask |= 1U << lane;
    part.bytes = static_cast<uint16_t>(std::min<uint32_t>(part.bytes + lane_bytes, kLineBytes));
    const uint64_t offset = address - line;
    part.sector_mask |= static_cast<uint8_t>((2U << ((offset + lane_bytes - 1) / kSectorBytes)) -
                                             (1U << (offset / kSectorBytes)));
  }
  return true;
}

// ------------------------------------------------------------------------------------------------ answers

void Sm::transaction_completed(WarpTransaction& transaction, Picoseconds now) {
  if (transaction.role != WarpTransaction::Role::lanes) {
    chunk_completed(transaction, now);
    return;
  }
  const int64_t cycle = device_.cycle(now);
  Cta& cta = *transaction.cta;
  Warp& warp = *transaction.warp;
  if (transaction.posted) {
    (transaction.remote() || transaction.host_memory ? remote_store_bytes_ : local_store_bytes_) -=
        transaction.window_bytes;
    cta.stores.acknowledge(transaction.store_epoch);
    if (!cta.release_waiting.empty()) wake_release_waiters(cta, cycle);
  } else {
    outstanding_lines_ -= transaction.part_count;
    if (transaction.invalidates_l1) l1_.invalidate();
    if (transaction.fills_l1) {
      const uint8_t* sector = transaction.data.data() + 512;
      alignas(16) uint8_t line[kLineBytes];
      uint32_t sectors = 0;
      for (uint32_t p = 0; p < transaction.part_count; ++p)
        sectors += static_cast<uint32_t>(std::popcount(transaction.parts[p].sector_mask));
      for (uint32_t p = 0; p < transaction.part_count && sectors <= 16; ++p) {
        for (uint32_t s = 0; s < 4; ++s) {
          if ((transaction.parts[p].sector_mask >> s & 1U) == 0) continue;
          std::memcpy(line + s * kSectorBytes, sector, kSectorBytes);
          sector += kSectorBytes;
        }
        l1_.fill(transaction.parts[p].line, transaction.parts[p].sector_mask, line, transaction.l1_changes);
      }
    }
    scatter(warp, transaction.row_base, *transaction.op, transaction.mask, transaction.lane_bytes,
            transaction.data.data());
    bool last = true;
    Fragment& fragment = *transaction.fragment;
    if (transaction.wakes_fragment) last = --fragment.wait_detail == 0;
    const ExecOp& exec = cta.program->op(transaction.pc);
    for (uint32_t i = 0; i < exec.results; ++i) {
      const size_t row = size_t{transaction.row_base} + exec.result_rows[i];
      warp.row_pending[row] &= ~transaction.mask;
      if (warp.row_pending[row] == 0) warp.row_ready[row] = cycle;
    }
    if (transaction.poll && fragment.warp == &warp) {
      const int64_t sampled = device_.cycle(transaction.sampled);
      uint64_t previous = 0;
      for (uint32_t m = transaction.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<size_t>(std::countr_zero(m));
        if (transaction.address[lane] == previous) continue;
        previous = transaction.address[lane];
        note_poll(fragment, transaction.address[lane], transaction.lane_bytes,
                  transaction.data.data() + lane * transaction.lane_bytes, false, sampled);
      }
    }
    if (transaction.wakes_fragment) {
      if (last) resume(fragment, cycle);
    } else {
      for (Fragment* waiter : warp.fragments)
        if (waiter->on_scoreboard) resume(*waiter, cycle);
    }
  }
  wake_window_waiters(cycle);
}

}  // namespace ptxwire::sim
