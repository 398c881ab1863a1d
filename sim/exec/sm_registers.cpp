// Registers of a warp as the lanes of one fragment see them: sources, addresses, and the way from registers
// to bytes and back.
#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "sim/exec/sm.hpp"

namespace ptxwire::sim {

using ptx::Op;
using ptx::Opcode;
using ptx::Slot;
using ptx::Type;

uint64_t Sm::uniform_source(const Fragment& fragment, const Slot& slot, uint32_t mask) {
  const int lane = std::countr_zero(mask);
  if (slot.kind == Slot::Kind::constant || slot.rows >= 2) return source64(fragment, slot)[lane];
  return source32(fragment, slot)[lane];
}

// The fragment begins to wait, perhaps for long, and goes on at `pc`. Another fragment of its warp may need
// what it does not, and what is on its way to a register has to find it.
void Sm::stow_registers(const Fragment& fragment, uint32_t pc) {
  if (!device_.group().spares_registers) return;
  Warp& warp = *fragment.warp;
  if (warp.fragments.size() != 1 || fragment.frames.size() != 1 || !warp.rows.spare()) return;
  const std::vector<ptx::LiveRows>& all = warp.cta->program->program().live_rows;
  const auto found = std::lower_bound(all.begin(), all.end(), pc,
                                      [](const ptx::LiveRows& live, uint32_t at) { return live.pc < at; });
  if (found == all.end() || found->pc != pc) return;
  const auto idle = [&](size_t row) {
    return warp.row_pending[row] == 0 && warp.row_ready[row] <= fragment.cycle;
  };
  for (size_t row = 0; row < warp.row_ready.size(); ++row)
    if (!idle(row)) return;
  warp.rows.stow(found->rows);
  const size_t rows = warp.row_ready.size();
  warp.row_ready = std::pmr::vector<int64_t>(warp.row_ready.get_allocator());
  warp.row_pending = std::pmr::vector<uint32_t>(warp.row_pending.get_allocator());
  warp.stowed_rows = static_cast<uint32_t>(rows);
  const bool zero = std::all_of(warp.local.begin(), warp.local.end(), [](uint8_t byte) { return byte == 0; });
  warp.stowed_local = zero ? static_cast<uint32_t>(warp.local.size()) : 0;
  if (zero) warp.local = std::pmr::vector<uint8_t>(warp.local.get_allocator());
}

void Sm::restore_registers(Warp& warp) {
  warp.rows.restore();
  warp.row_ready.assign(warp.stowed_rows, 0);
  warp.row_pending.assign(warp.stowed_rows, 0);
  if (warp.stowed_local != 0) warp.local.assign(warp.stowed_local, 0);
}

void Sm::write_lane(const Fragment& fragment, const Slot& slot, uint32_t lane, uint64_t value) {
  const LaneFrame frame = lane_frame(fragment);
  if (slot.kind == Slot::Kind::predicate) {
    uint32_t& predicate = frame.predicates[slot.index];
    predicate = (predicate & ~(1U << lane)) | static_cast<uint32_t>(value & 1) << lane;
  } else if (slot.kind == Slot::Kind::reg) {
    uint32_t* row = frame.rows + size_t{slot.index} * 32;
    if (slot.rows >= 2) {
      reinterpret_cast<uint64_t*>(row)[lane] = value;
    } else {
      row[lane] = static_cast<uint32_t>(value);
    }
  }
}

void Sm::addresses(const Fragment& fragment, const Slot& slot, int64_t offset, uint64_t* out) {
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

namespace {

/// Destinations (atom), then sources of an atomic on a vector; null for everything else.
const std::vector<Slot>* vector_atomic_operands(const ptx::Program& program, const Op& op) {
  const bool atomic = op.opcode == Opcode::atom || op.opcode == Opcode::red;
  return atomic && op.modifiers.vector > 1 ? &program.operand_lists[op.operand_list] : nullptr;
}

bool is_row(const Slot& slot) { return slot.kind == Slot::Kind::reg && slot.rows < 2; }

using Quad [[gnu::vector_size(16)]] = uint32_t;

/// Four words of four lanes: from one lane per vector to one word per vector, or back.
void transpose(Quad (&q)[4]) {
  const Quad low01 = __builtin_shufflevector(q[0], q[1], 0, 4, 1, 5);
  const Quad high01 = __builtin_shufflevector(q[0], q[1], 2, 6, 3, 7);
  const Quad low23 = __builtin_shufflevector(q[2], q[3], 0, 4, 1, 5);
  const Quad high23 = __builtin_shufflevector(q[2], q[3], 2, 6, 3, 7);
  q[0] = __builtin_shufflevector(low01, low23, 0, 1, 4, 5);
  q[1] = __builtin_shufflevector(low01, low23, 2, 3, 6, 7);
  q[2] = __builtin_shufflevector(high01, high23, 0, 1, 4, 5);
  q[3] = __builtin_shufflevector(high01, high23, 2, 3, 6, 7);
}

/// `.v4` of 32-bit elements by a whole warp: 16 bytes per lane from four rows of registers.
void pack_quads(const uint32_t* const (&rows)[4], uint8_t* out) {
  for (size_t lane = 0; lane < 32; lane += 4) {
    Quad q[4];
    for (size_t v = 0; v < 4; ++v) std::memcpy(&q[v], rows[v] + lane, sizeof(Quad));
    transpose(q);
    std::memcpy(out + lane * sizeof(Quad), q, sizeof q);
  }
}

void unpack_quads(const uint8_t* data, uint32_t* const (&rows)[4]) {
  for (size_t lane = 0; lane < 32; lane += 4) {
    Quad q[4];
    std::memcpy(q, data + lane * sizeof(Quad), sizeof q);
    transpose(q);
    for (size_t v = 0; v < 4; ++v) std::memcpy(rows[v] + lane, &q[v], sizeof(Quad));
  }
}

}  // namespace

void Sm::gather_operands(const Fragment& fragment, const Op& op, uint32_t first_source, uint32_t mask,
                         uint32_t lane_bytes, uint8_t* out) {
  const uint32_t element = type_bytes(op.modifiers.type);
  const LaneFrame frame = lane_frame(fragment);
  const Slot* sources = &op.src[first_source];
  if (const auto* list = vector_atomic_operands(fragment.warp->cta->program->program(), op))
    sources = list->data() + list->size() - op.modifiers.vector;
  if (op.modifiers.vector == 4 && element == 4 && lane_bytes == 16 &&
      std::all_of(sources, sources + 4, is_row)) {
    const uint32_t* rows[4];
    for (uint32_t v = 0; v < 4; ++v) rows[v] = source32(fragment, sources[v]);
    return pack_quads(rows, out);
  }
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
                 const uint8_t* data) {
  const Type type = op.modifiers.type;
  const uint32_t element = type_bytes(type);
  const auto* list = vector_atomic_operands(warp.cta->program->program(), op);
  const Slot* destinations = list != nullptr ? list->data() : op.dst.data();
  if (op.modifiers.vector == 4 && element == 4 && lane_bytes == 16 && mask == ~0U &&
      std::all_of(destinations, destinations + 4, is_row)) {
    uint32_t* rows[4];
    for (uint32_t v = 0; v < 4; ++v)
      rows[v] = warp.rows.data() + size_t{row_base + destinations[v].index} * 32;
    return unpack_quads(data, rows);
  }
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

}  // namespace ptxwire::sim
