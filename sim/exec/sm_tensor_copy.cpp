// Bulk tensor copies: boxes of a tensor between global and shared memory, and their prefetch into L2.
// Commands and bytes go through the bulk engine (sm_bulk.cpp); here is how a box becomes transactions, and
// what lies outside of the tensor. Not executed: im2col, interleaved layouts.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "sim/exec/atomic_ops.hpp"
#include "sim/exec/l2_policy.hpp"
#include "sim/exec/shared_place.hpp"
#include "sim/exec/sm.hpp"

namespace ptxwire::sim {

using models::AccessKind;
using models::kLineBytes;
using ptx::AtomicOp;
using ptx::Op;
using ptx::Opcode;
using ptx::Slot;
using ptx::Space;
using Piece = TensorBox::Piece;

namespace {

constexpr uint32_t kSharedAlign = 128, kChunkBytes = 16;
constexpr uint32_t kMostPieces = WarpTransaction::kDataBytes / kLineBytes;  ///< of a transaction

/// The pieces of a transaction travel in its second buffer, those of one part under the bits of its mask.
static_assert(sizeof(Piece) * kMostPieces <= WarpTransaction::kSecondBytes);
Piece* pieces_of(WarpTransaction& transaction) { return reinterpret_cast<Piece*>(transaction.second()); }
const Piece* pieces_of(const WarpTransaction& transaction) {
  return reinterpret_cast<const Piece*>(transaction.second());
}

/// How a reduction sees the elements; none where it does not take them (PTX ISA,
/// cp.reduce.async.bulk.tensor).
ptx::Type reduced_type(AtomicOp operation, TensorType type) {
  const bool bits =
      operation == AtomicOp::and_op || operation == AtomicOp::or_op || operation == AtomicOp::xor_op;
  const bool counts = operation == AtomicOp::inc || operation == AtomicOp::dec;
  const bool adds = operation == AtomicOp::add;
  switch (type) {
    case TensorType::u32:
      return bits ? ptx::Type::b32 : ptx::Type::u32;
    case TensorType::s32:
      return counts ? ptx::Type::none : bits ? ptx::Type::b32 : ptx::Type::s32;
    case TensorType::u64:
      return counts ? ptx::Type::none : bits ? ptx::Type::b64 : ptx::Type::u64;
    case TensorType::s64:
      return counts || adds ? ptx::Type::none : bits ? ptx::Type::b64 : ptx::Type::s64;
    case TensorType::f16:
      return counts || bits ? ptx::Type::none : ptx::Type::f16;
    case TensorType::bf16:
      return counts || bits ? ptx::Type::none : ptx::Type::bf16;
    case TensorType::f32:
    case TensorType::f32_ftz:
      return adds ? ptx::Type::f32 : ptx::Type::none;
    default:
      return ptx::Type::none;
  }
}

/// Calls move(target, source, bytes) for runs of a piece that keep together in swizzled shared memory.
template <typename Move>
void for_each_run(const TensorMapFields& map, uint32_t linear, uint32_t bytes, Move&& move) {
  for (uint32_t done = 0; done < bytes;) {
    const uint32_t at = linear + done;
    const uint32_t run =
        map.swizzle == TensorSwizzle::none ? bytes : std::min(bytes - done, kChunkBytes - at % kChunkBytes);
    move(map.swizzled(at), done, run);
    done += run;
  }
}

/// NaN of the type, or zero, over [from, from + bytes) of a row that starts with a whole element.
void fill_outside(const TensorMapFields& map, uint8_t* shared, uint32_t linear, uint32_t bytes) {
  static constexpr std::array<uint8_t, 8> kOnes = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F};
  const uint32_t element = map.element_bytes();
  for_each_run(map, linear, bytes, [&](uint32_t at, uint32_t /*done*/, uint32_t run) {
    std::memset(shared + at, 0, run);
    for (uint32_t i = 0; map.fill == TensorFill::nan && i < run; i += element)
      std::memcpy(shared + at + i, kOnes.data() + kOnes.size() - element, element);
  });
}

}  // namespace

// Reads the map and the coordinates of one lane.
bool Sm::describe_box(Fragment& fragment, const Op& op, uint32_t lane, uint64_t map_address, TensorBox& box) {
  Cta* unused = nullptr;
  const Window window = window_of(map_address);
  const uint8_t* bytes = nullptr;
  if (window == Window::device) {
    const MemorySpace* space = device_.space(home_of(map_address));
    if (space != nullptr) bytes = space->resolve(map_address, kTensorMapBytes);
  } else if (window == Window::parameter || window == Window::constant) {
    bytes = near_pointer(fragment, window, map_address & (kWindowBytes - 1), lane, kTensorMapBytes, &unused);
  }
  if (bytes == nullptr || map_address % kTensorMapAlign != 0) {
    stop(fragment,
         fmt::format(
             "tensor map at {:#x}: not 128 bytes of global, constant or parameter memory aligned to {}",
             map_address, kTensorMapAlign),
         lane);
    return false;
  }
  const auto map = decode_tensor_map(std::span<const uint8_t, kTensorMapBytes>(bytes, kTensorMapBytes));
  const auto& coordinates = fragment.warp->cta->program->program().operand_lists[op.operand_list];
  if (!map) {
    stop(fragment, fmt::format("the bytes at {:#x} are no tensor map", map_address), lane,
         "encode_tensor_map makes one");
    return false;
  }
  if (map->rank != coordinates.size()) {
    stop(fragment, fmt::format("{} coordinates for a tensor map of rank {}", coordinates.size(), map->rank),
         lane);
    return false;
  }
  box.map = *map;
  for (size_t d = 0; d < coordinates.size(); ++d)
    box.at[d] = static_cast<int32_t>(uniform_source(fragment, coordinates[d], 1U << lane));
  return true;
}

bool Sm::tensor_copy(Fragment& fragment, const Op& op, uint32_t mask, int64_t cycle) {
  uint64_t shared[32];
  uint64_t maps[32];
  uint64_t barrier[32] = {};
  addresses(fragment, op.src[0], op.offset, shared);
  addresses(fragment, op.src[1], op.offset2, maps);
  if (op.src[3].present()) addresses(fragment, op.src[3], op.offset3, barrier);
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(m));
    auto box = std::make_shared<TensorBox>();
    if (!describe_box(fragment, op, lane, maps[lane], *box)) return false;
    BulkCopy described;
    described.box = box;
    if (!describe_tensor_copy(fragment, op, lane, shared[lane], barrier[lane], described)) return false;
    if (!start_tensor_copy(fragment, new_bulk_copy(std::move(described)), cycle)) return false;
  }
  ++fragment.pc;
  return true;
}

bool Sm::describe_tensor_copy(Fragment& fragment, const Op& op, uint32_t lane, uint64_t shared,
                              uint64_t barrier, BulkCopy& copy) {
  Cta& cta = *fragment.warp->cta;
  const TensorMapFields& map = copy.box->map;
  copy.cta = &cta;
  copy.warp = fragment.warp;
  copy.lane = lane;
  copy.pc = fragment.pc;
  copy.load = op.modifiers.space != Space::global;
  copy.bytes = static_cast<uint32_t>(map.box_bytes());
  const SharedPlace place = shared_place(cta, shared, copy.bytes);
  const bool there = place.cta != nullptr && (copy.load || place.cta == &cta);
  if (!there || place.offset % kSharedAlign != 0) {
    stop(fragment,
         fmt::format("{} box of {} bytes at shared {:#x}{}", there ? "misaligned" : "out-of-bounds",
                     copy.bytes, shared, there ? " (must be a multiple of 128)" : ""),
         lane);
    return false;
  }
  copy.shared_cta = place.cta;
  copy.shared_offset = place.offset;
  if (op.modifiers.cache_hint) copy.hint = policy_hint(uniform_source(fragment, op.src[5], 1U << lane));
  if (op.opcode == Opcode::cp_reduce_async_bulk_tensor) {
    copy.reduction = &op;
    copy.reduction_type = reduced_type(op.modifiers.atomic, map.type);
    if (copy.reduction_type == ptx::Type::none) {
      stop(fragment, "the reduction does not take elements of the type that the tensor map names", lane);
      return false;
    }
  }
  return !copy.load || take_mbarrier(fragment, op, lane, barrier, copy);
}

bool Sm::start_tensor_copy(Fragment& fragment, BulkCopy& copy, int64_t cycle) {
  int64_t leave = admit_bulk_copy(copy, cycle);
  int64_t& width_free = tma_width_free_[copy.load ? 0 : 1];
  leave = std::max(leave, width_free);
  WarpTransaction* open = nullptr;
  uint32_t count = 0;
  uint32_t data = 0;
  bool mapped = true;
  const auto send = [&] {
    // A request for every line that a row touches, however little of it.
    ++copy.chunks_left;
    submit(*open, leave);
    leave += static_cast<int64_t>(count * kLineBytes / parameters_.tma_bytes_per_clk);
    open = nullptr;
  };
  copy.box->for_each_piece([&](Piece piece) {
    if (!mapped) return;
    const uint32_t home = home_of(piece.address);
    if (open != nullptr && (count == kMostPieces || open->home() != home)) send();
    const MemorySpace* space = piece.address >> kGpuShift == 0 ? nullptr : device_.space(home);
    if (space == nullptr || space->resolve(piece.address, piece.bytes) == nullptr) {
      mapped = false;
      stop(fragment,
           fmt::format("box of a tensor touches unmapped global address {:#x} ({} bytes)", piece.address,
                       piece.bytes),
           copy.lane,
           space == nullptr ? "no GPU has this address" : space->describe(piece.address, piece.bytes));
      return;
    }
    if (open == nullptr) {
      open = &new_box_transaction(copy, piece.address);
      count = data = 0;
    }
    piece.data = static_cast<uint16_t>(data);
    pieces_of(*open)[count] = piece;
    models::TransactionPart& part = open->part_of(models::line_of(piece.address));
    part.lane_mask = (part.bytes == 0 ? 0 : part.lane_mask) | 1U << count;
    part.bytes = static_cast<uint16_t>(part.bytes + piece.bytes);
    part.sector_mask |= models::sectors_touched(piece.address - part.line, piece.bytes);
    if (!copy.load)
      for_each_run(copy.box->map, copy.shared_offset + piece.offset, piece.bytes,
                   [&](uint32_t at, uint32_t done, uint32_t run) {
                     std::memcpy(open->data() + data + done, copy.shared_cta->shared.data() + at, run);
                   });
    data += piece.bytes;
    ++count;
  });
  if (open != nullptr) mapped ? send() : device_.recycle(open);
  width_free = leave;
  if (!mapped) return false;
  if (copy.chunks_left == 0) bulk_completes(copy, leave);  // all of it is outside
  return true;
}

WarpTransaction& Sm::new_box_transaction(BulkCopy& copy, uint64_t address) {
  WarpTransaction& transaction = *device_.new_transaction();
  transaction.role = WarpTransaction::Role::box;
  transaction.make_room();
  transaction.kind = copy.load                   ? AccessKind::load
                     : copy.reduction != nullptr ? AccessKind::reduction
                                                 : AccessKind::store;
  transaction.op = copy.reduction;
  transaction.element_type = copy.reduction_type;
  transaction.posted = !copy.load;
  transaction.l2_hint = copy.hint;
  if (copy.box->map.promotion != TensorPromotion::none)
    transaction.l2_prefetch_bytes =
        static_cast<uint16_t>(32U << static_cast<unsigned>(copy.box->map.promotion));
  transaction.cta = copy.cta;
  transaction.warp = copy.warp;
  transaction.bulk = &copy;
  transaction.base = address;
  transaction.set_home(home_of(address));
  return transaction;
}

// At its home: the pieces of the parts that arrived.
void perform_box(WarpTransaction& transaction, unsigned first, unsigned count, const MemorySpace& space,
                 const std::function<void(uint64_t, uint64_t)>& written) {
  for (unsigned p = first; p < first + count; ++p) {
    for (uint32_t m = transaction.parts[p].lane_mask; m != 0; m &= m - 1) {
      const Piece& piece = pieces_of(transaction)[std::countr_zero(m)];
      uint8_t* memory = space.resolve(piece.address, piece.bytes);
      uint8_t* data = transaction.data() + piece.data;
      if (transaction.kind == AccessKind::load) {
        std::memcpy(data, memory, piece.bytes);
        continue;
      }
      if (transaction.kind == AccessKind::store) {
        std::memcpy(memory, data, piece.bytes);
      } else {
        apply_atomic_bytes(transaction.op->modifiers.atomic, transaction.element_type, piece.bytes, memory,
                           data, nullptr, false);
      }
      written(piece.address, piece.bytes);
    }
  }
}

// Back at the SM: loaded pieces go to every CTA that gets the box.
void Sm::box_arrived(const WarpTransaction& transaction) {
  const BulkCopy& copy = *transaction.bulk;
  if (!copy.load) return;
  for_each_receiver(copy, [&](Cta& cta) {
    for (uint32_t p = 0; p < transaction.part_count; ++p) {
      for (uint32_t m = transaction.parts[p].lane_mask; m != 0; m &= m - 1) {
        const Piece& piece = pieces_of(transaction)[std::countr_zero(m)];
        for_each_run(copy.box->map, copy.shared_offset + piece.offset, piece.bytes,
                     [&](uint32_t at, uint32_t done, uint32_t run) {
                       std::memcpy(cta.shared.data() + at, transaction.data() + piece.data + done, run);
                     });
      }
    }
  });
}

// The bytes of a loaded box that are outside of the tensor; the lines of L1 that a stored one made stale.
void Sm::finish_box(const BulkCopy& copy) {
  const TensorBox& box = *copy.box;
  if (!copy.load) {
    box.for_each_piece([&](const Piece& piece) { l1_.drop(piece.address, piece.bytes); });
    return;
  }
  const uint32_t row_bytes = box.map.row_bytes();
  for_each_receiver(copy, [&](Cta& cta) {
    box.for_each_row([&](uint32_t row, uint64_t /*address*/, uint32_t first, uint32_t bytes) {
      const uint32_t linear = copy.shared_offset + row * row_bytes;
      if (first != 0) fill_outside(box.map, cta.shared.data(), linear, first);
      if (first + bytes != row_bytes)
        fill_outside(box.map, cta.shared.data(), linear + first + bytes, row_bytes - first - bytes);
    });
  });
}

bool Sm::tensor_prefetch(Fragment& fragment, const Op& op, uint32_t mask, int64_t cycle) {
  constexpr uint8_t kWholeLine = 0xF;
  uint64_t maps[32];
  addresses(fragment, op.src[1], op.offset2, maps);
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(m));
    TensorBox box;
    if (!describe_box(fragment, op, lane, maps[lane], box)) return false;
    WarpTransaction* open = nullptr;
    box.for_each_piece([&](const Piece& piece) {
      const uint32_t home = home_of(piece.address);
      const MemorySpace* space = piece.address >> kGpuShift == 0 ? nullptr : device_.space(home);
      if (space == nullptr || space->resolve(piece.address, piece.bytes) == nullptr) return;
      if (open != nullptr && (open->part_count == models::Transaction::kMaxParts || open->home() != home)) {
        submit(*open, cycle);
        open = nullptr;
      }
      if (open == nullptr) {
        open = &new_cache_control(fragment, op, AccessKind::prefetch, piece.address);
        if (op.modifiers.cache_hint)
          open->l2_hint = policy_hint(uniform_source(fragment, op.src[5], 1U << lane));
      }
      open->part_of(models::line_of(piece.address)).sector_mask = kWholeLine;
    });
    if (open != nullptr) submit(*open, cycle);
  }
  return true;
}

}  // namespace ptxwire::sim
