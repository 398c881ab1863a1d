// The vocabulary of PTX: fundamental types, state spaces and the values that dot modifiers take.
// Both the checker (which fills Modifiers from text) and the executor (which reads them) use it.
#pragma once

#include <cstdint>

namespace ptxwire::ptx {

enum class Type : uint8_t {
  none,
  pred,
  b8,
  b16,
  b32,
  b64,
  b128,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  f16,
  f16x2,
  bf16,
  bf16x2,
  tf32,
  f32,
  f32x2,
  f64,
  e4m3,
  e5m2,
  e4m3x2,
  e5m2x2,
  u8x4,
  s8x4,
  u16x2,
  s16x2,
};

/// Size in bytes of one element (pred: 0).
constexpr unsigned type_bytes(Type type) {
  switch (type) {
    case Type::none:
    case Type::pred:
      return 0;
    case Type::b8:
    case Type::u8:
    case Type::s8:
    case Type::e4m3:
    case Type::e5m2:
      return 1;
    case Type::b16:
    case Type::u16:
    case Type::s16:
    case Type::f16:
    case Type::bf16:
    case Type::e4m3x2:
    case Type::e5m2x2:
      return 2;
    case Type::b64:
    case Type::u64:
    case Type::s64:
    case Type::f64:
    case Type::f32x2:
      return 8;
    case Type::b128:
      return 16;
    default:
      return 4;
  }
}

constexpr bool is_signed_integer(Type type) {
  return type == Type::s8 || type == Type::s16 || type == Type::s32 || type == Type::s64;
}
constexpr bool is_unsigned_integer(Type type) {
  return type == Type::u8 || type == Type::u16 || type == Type::u32 || type == Type::u64;
}
constexpr bool is_bits(Type type) { return type >= Type::b8 && type <= Type::b128; }
constexpr bool is_float(Type type) { return type >= Type::f16 && type <= Type::f64; }

enum class Space : uint8_t { generic, reg, global, shared, local, param, constant };
/// `.shared::cta` / `.shared::cluster` / `.param::entry` / `.param::func`.
enum class SubSpace : uint8_t { none, cta, cluster, entry, func };

enum class Rounding : uint8_t { none, rn, rz, rm, rp, rna, rni, rzi, rmi, rpi, rs };
enum class Compare : uint8_t {
  none,
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  lo,
  ls,
  hi,
  hs,
  equ,
  neu,
  ltu,
  leu,
  gtu,
  geu,
  num,
  nan
};
enum class BoolOp : uint8_t { none, and_op, or_op, xor_op, popc };
enum class HalfSelect : uint8_t { none, lo, hi, wide };
enum class Order : uint8_t { none, weak, relaxed, acquire, release, acq_rel, sc, volatile_op };
enum class Scope : uint8_t { none, cta, cluster, gpu, sys };
enum class CacheOp : uint8_t { none, ca, cg, cs, cv, lu, wb, wt };
enum class EvictPriority : uint8_t {
  none,
  evict_normal,
  evict_unchanged,
  evict_first,
  evict_last,
  no_allocate
};
enum class AtomicOp : uint8_t { none, add, min, max, inc, dec, and_op, or_op, xor_op, exch, cas };
enum class ShuffleMode : uint8_t { none, up, down, bfly, idx };
enum class VoteMode : uint8_t { none, all, any, uni, ballot };
enum class MatchMode : uint8_t { none, any, all };
enum class PrmtMode : uint8_t { none, f4e, b4e, rc8, ecl, ecr, rc16 };
enum class ShiftMode : uint8_t { none, wrap, clamp };
/// Which kind of barrier action a `bar`/`barrier`/`barrier.cluster` performs.
enum class BarrierAction : uint8_t { none, sync, arrive, red_popc, red_and, red_or, wait };
/// How a bulk or non-bulk asynchronous copy signals completion.
enum class Completion : uint8_t { none, mbarrier, bulk_group };

/// fence.proxy.*: which proxies the fence joins; `mbarrier_init` is fence.mbarrier_init.
enum class Proxy : uint8_t { none, alias, async, tensormap, mbarrier_init };
enum class CacheLevel : uint8_t { none, l1, l2 };
enum class FloatClass : uint8_t { none, finite, infinite, number, notanumber, normal, subnormal };
enum class PolicyForm : uint8_t { none, fractional, range, cvt };  ///< createpolicy

/// All dot modifiers of one instruction, resolved. A field left at its default was not written
/// (the table's defaults are applied by the checker where the ISA states one).
struct Modifiers {
  Type type = Type::none;         ///< the (last, or destination) type
  Type source_type = Type::none;  ///< second type: cvt source, set/slct/... operand type
  Space space =
      Space::generic;  ///< ld/st/atom/...: address space; cvta: the named space; cp.async: destination
  Space source_space = Space::generic;  ///< cp.async*: source space
  SubSpace sub_space = SubSpace::none;
  SubSpace source_sub_space = SubSpace::none;
  Rounding rounding = Rounding::none;
  Compare compare = Compare::none;
  BoolOp bool_op = BoolOp::none;
  HalfSelect half = HalfSelect::none;
  Order order = Order::none;
  Scope scope = Scope::none;
  CacheOp cache = CacheOp::none;
  EvictPriority l1 = EvictPriority::none;
  EvictPriority l2 = EvictPriority::none;
  AtomicOp atomic = AtomicOp::none;
  ShuffleMode shuffle = ShuffleMode::none;
  VoteMode vote = VoteMode::none;
  MatchMode match = MatchMode::none;
  PrmtMode prmt = PrmtMode::none;
  ShiftMode shift = ShiftMode::none;
  BarrierAction barrier = BarrierAction::none;
  Completion completion = Completion::none;
  EvictPriority l2_secondary = EvictPriority::none;  ///< createpolicy: priority of the other accesses
  Proxy proxy = Proxy::none;
  CacheLevel level = CacheLevel::none;        ///< prefetch, prefetchu, discard, applypriority
  FloatClass float_class = FloatClass::none;  ///< testp
  PolicyForm policy = PolicyForm::none;
  uint16_t l2_prefetch_bytes = 0;  ///< 64, 128, 256
  uint8_t vector = 1;              ///< 1, 2, 4, 8
  bool ftz : 1 = false;
  bool sat : 1 = false;        ///< .sat
  bool satfinite : 1 = false;  ///< .satfinite
  bool relu : 1 = false;
  bool approx : 1 = false;
  bool full : 1 = false;  ///< div.full
  bool uniform : 1 = false;
  bool aligned : 1 = false;
  bool sync : 1 = false;
  bool mmio : 1 = false;
  bool non_coherent : 1 = false;  ///< ld.global.nc
  bool cache_hint : 1 = false;    ///< .L2::cache_hint: a 64-bit policy operand follows
  bool carry_in : 1 = false;      ///< addc/subc/madc
  bool carry_out : 1 = false;     ///< .cc
  bool noftz : 1 = false;
  bool to_space : 1 = false;      ///< cvta.to.<space>
  bool left : 1 = false;          ///< shf.l (false: shf.r)
  bool shift_amount : 1 = false;  ///< bfind.shiftamt
  bool parity : 1 = false;        ///< mbarrier.*.parity
  bool expect_tx : 1 = false;     ///< mbarrier.arrive.expect_tx
  bool no_complete : 1 = false;   ///< mbarrier.arrive.noComplete
  bool drop : 1 = false;          ///< mbarrier.arrive_drop
  bool read : 1 = false;          ///< cp.async.bulk.wait_group.read
  bool multicast : 1 = false;     ///< .multicast::cluster
  bool xor_sign : 1 = false;      ///< .xorsign.abs
  bool nan : 1 = false;           ///< min/max .NaN
  bool oob : 1 = false;
  bool no_increment : 1 = false;  ///< cp.async.mbarrier.arrive.noinc
};

}  // namespace ptxwire::ptx
