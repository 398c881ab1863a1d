// setp and set against the definitions of the comparison operators.
#include <catch2/catch.hpp>

#include "tests/sim/exec/exact_number.hpp"
#include "tests/sim/exec/lane_bench.hpp"

namespace ptxwire::sim::lane_test {
namespace {

using ptx::BoolOp;
using ptx::Compare;
using ptx::Modifiers;

/// less, equal, greater or unordered.
enum class Relation { less, equal, greater, unordered };

bool holds(Compare compare, Relation r) {
  const bool less = r == Relation::less, equal = r == Relation::equal, greater = r == Relation::greater;
  const bool unordered = r == Relation::unordered;
  switch (compare) {
    case Compare::eq:
      return equal;
    case Compare::ne:
      return less || greater;
    case Compare::lt:
    case Compare::lo:
      return less;
    case Compare::le:
    case Compare::ls:
      return less || equal;
    case Compare::gt:
    case Compare::hi:
      return greater;
    case Compare::ge:
    case Compare::hs:
      return greater || equal;
    case Compare::equ:
      return equal || unordered;
    case Compare::neu:
      return less || greater || unordered;
    case Compare::ltu:
      return less || unordered;
    case Compare::leu:
      return less || equal || unordered;
    case Compare::gtu:
      return greater || unordered;
    case Compare::geu:
      return greater || equal || unordered;
    case Compare::num:
      return !unordered;
    case Compare::nan:
      return unordered;
    case Compare::none:
      break;
  }
  return false;
}

Relation relate_integers(Type type, Compare compare, uint64_t a, uint64_t b) {
  const bool below =
      compare == Compare::lo || compare == Compare::ls || compare == Compare::hi || compare == Compare::hs;
  const unsigned bits = 8 * ptx::type_bytes(type);
  if (ptx::is_signed_integer(type) && !below) {
    const uint64_t top =
        uint64_t{1} << (bits - 1);  // flipping the sign bit maps signed order to unsigned order
    a ^= top;
    b ^= top;
  }
  return a < b ? Relation::less : a > b ? Relation::greater : Relation::equal;
}

Relation relate_floats(const BinaryFormat& f, uint64_t a, uint64_t b) {
  if (f.is_nan(a) || f.is_nan(b)) return Relation::unordered;
  const auto key = [&](uint64_t p) {
    const auto magnitude = static_cast<int64_t>(p & (f.sign_bit() - 1));
    return f.is_negative(p) ? -magnitude : magnitude;
  };
  return key(a) < key(b) ? Relation::less : key(a) > key(b) ? Relation::greater : Relation::equal;
}

uint64_t flush(const BinaryFormat& f, uint64_t x) { return (x & f.infinity()) == 0 ? x & f.sign_bit() : x; }

const Compare kIntegerCompares[] = {Compare::eq, Compare::ne, Compare::lt, Compare::le, Compare::gt,
                                    Compare::ge, Compare::lo, Compare::ls, Compare::hi, Compare::hs};
const Compare kFloatCompares[] = {Compare::eq,  Compare::ne,  Compare::lt,  Compare::le,  Compare::gt,
                                  Compare::ge,  Compare::equ, Compare::neu, Compare::ltu, Compare::leu,
                                  Compare::gtu, Compare::geu, Compare::num, Compare::nan};

struct FloatType {
  Type type;
  BinaryFormat format;
  uint64_t one;
};
const FloatType kFloats[] = {{Type::f32, kFloat, 0x3f800000u},
                             {Type::f64, kDouble, 0},
                             {Type::f16, kHalf, 0x3c00},
                             {Type::bf16, kBrainFloat, 0x3f80}};

}  // namespace

TEST_CASE("compare: setp on integers, signed, unsigned and untyped", "[exec][lane]") {
  for (const Type type :
       {Type::u16, Type::s16, Type::b16, Type::u32, Type::s32, Type::b32, Type::u64, Type::s64, Type::b64}) {
    const unsigned bits = 8 * ptx::type_bytes(type);
    const auto corners = integer_corners(bits);
    for (const Compare compare : kIntegerCompares) {
      check("setp", make_op(Opcode::setp, type, [&](Modifiers& m) { m.compare = compare; }),
            {1, {bits, bits}}, combine({corners, corners}, 500), [&](const Operands& x) {
              return uint64_t{holds(compare, relate_integers(type, compare, x[0], x[1]))};
            });
    }
  }
}

TEST_CASE("compare: setp on floats, ordered and unordered, with and without ftz", "[exec][lane]") {
  for (const FloatType& type : kFloats) {
    const auto bits = static_cast<unsigned>(type.format.bits());
    const auto corners = float_corners(type.format);
    for (const bool ftz : {false, true}) {
      if (ftz && type.type != Type::f32 && type.type != Type::f16) continue;
      for (const Compare compare : kFloatCompares) {
        const auto modifiers = [&](Modifiers& m) {
          m.compare = compare;
          m.ftz = ftz;
        };
        check("setp", make_op(Opcode::setp, type.type, modifiers), {1, {bits, bits}},
              combine({corners, corners}, 500), [&](const Operands& x) {
                const uint64_t a = ftz ? flush(type.format, x[0]) : x[0],
                               b = ftz ? flush(type.format, x[1]) : x[1];
                return uint64_t{holds(compare, relate_floats(type.format, a, b))};
              });
      }
    }
  }
}

TEST_CASE("compare: the second predicate is the complement, both combined with a third", "[exec][lane]") {
  for (const LaneVariant variant : variants()) {
    for (const BoolOp bool_op : {BoolOp::none, BoolOp::and_op, BoolOp::or_op, BoolOp::xor_op}) {
      for (const bool negated : {false, true}) {
        Warp warp;
        warp.set32(4, [](int lane) { return static_cast<uint32_t>(lane); });
        warp.set32(5, [](int) { return 16; });
        const uint32_t third = 0x3c5a0ff0, old_p = 0xaaaaaaaa, old_q = 0x33333333, active = 0x0ffffff0;
        warp.predicates = {old_p, old_q, third};
        Op op = make_op(Opcode::setp, Type::s32, [&](Modifiers& m) {
          m.compare = Compare::lt;
          m.bool_op = bool_op;
        });
        op.dst = {predicate(0), predicate(1)};
        op.src = {reg(4), reg(5)};
        if (bool_op != BoolOp::none) op.src[2] = predicate(2, negated);
        select_lane_op(op, variant)(op, warp.frame(), active);
        const uint32_t t = 0x0000ffff, c = negated ? ~third : third;  // lanes 0..15 are below 16
        const auto combined = [&](uint32_t value) {
          switch (bool_op) {
            case BoolOp::and_op:
              return value & c;
            case BoolOp::or_op:
              return value | c;
            case BoolOp::xor_op:
              return value ^ c;
            default:
              return value;
          }
        };
        CHECK(warp.predicates[0] == ((combined(t) & active) | (old_p & ~active)));
        CHECK(warp.predicates[1] == ((combined(~t) & active) | (old_q & ~active)));
      }
    }
  }
}

TEST_CASE("compare: packed halves give one predicate each", "[exec][lane]") {
  for (const LaneVariant variant : variants()) {
    for (const auto& [type, one] : {std::pair{Type::f16x2, 0x3c00u}, std::pair{Type::bf16x2, 0x3f80u}}) {
      Warp warp;
      warp.set32(4, [&](int lane) { return (lane % 2 == 0 ? one : 0) | (lane % 3 == 0 ? one << 16 : 0); });
      warp.set32(5, [&](int) { return one | one << 16; });
      Op op = make_op(Opcode::setp, type, [](Modifiers& m) {
        m.compare = Compare::eq;
        m.bool_op = BoolOp::or_op;
      });
      op.dst = {predicate(0), predicate(1)};
      op.src = {reg(4), reg(5), predicate(2)};
      warp.predicates[2] = 0x00000002;
      select_lane_op(op, variant)(op, warp.frame(), 0xffffffffu);
      uint32_t low = 2, high = 2;
      for (int lane = 0; lane < 32; ++lane) {
        low |= static_cast<uint32_t>(lane % 2 == 0) << lane;
        high |= static_cast<uint32_t>(lane % 3 == 0) << lane;
      }
      CHECK(warp.predicates[0] == low);
      CHECK(warp.predicates[1] == high);
    }
  }
}

TEST_CASE("compare: set writes all ones or 1.0 in the destination type", "[exec][lane]") {
  const std::tuple<Type, unsigned, uint64_t> destinations[] = {
      {Type::u32, 32, 0xffffffffu}, {Type::s32, 32, 0xffffffffu}, {Type::f32, 32, 0x3f800000u},
      {Type::u16, 16, 0xffff},      {Type::s16, 16, 0xffff},      {Type::f16, 16, 0x3c00},
      {Type::bf16, 16, 0x3f80}};
  for (const auto& [type, bits, value] : destinations) {
    for (const FloatType& source : kFloats) {
      const auto source_bits = static_cast<unsigned>(source.format.bits());
      const auto corners = float_corners(source.format);
      const auto modifiers = [&](Modifiers& m) {
        m.source_type = source.type;
        m.compare = Compare::ltu;
      };
      check("set", make_op(Opcode::set, type, modifiers), {bits, {source_bits, source_bits}},
            combine({corners, corners}, 200), [&, expected = value](const Operands& x) {
              return holds(Compare::ltu, relate_floats(source.format, x[0], x[1])) ? expected : 0;
            });
    }
    const auto modifiers = [&](Modifiers& m) {
      m.source_type = Type::s64;
      m.compare = Compare::ge;
      m.bool_op = BoolOp::xor_op;
    };
    const auto corners = integer_corners(64);
    check("set.xor", make_op(Opcode::set, type, modifiers), {bits, {64, 64, 1}},
          combine({corners, corners, {0, 1}}, 200), [&, expected = value](const Operands& x) {
            const bool t = holds(Compare::ge, relate_integers(Type::s64, Compare::ge, x[0], x[1]));
            return t != (x[2] != 0) ? expected : 0;
          });
  }
  const auto corners = float_corners(kHalf);
  for (const auto& [type, value] :
       {std::pair{Type::f16x2, uint64_t{0x3c00}}, std::pair{Type::u32, uint64_t{0xffff}}}) {
    const auto modifiers = [&](Modifiers& m) {
      m.source_type = Type::f16x2;
      m.compare = Compare::gt;
    };
    check("set.f16x2", make_op(Opcode::set, type, modifiers), {32, {32, 32}},
          combine({corners, corners}, 4000), [&, expected = value](const Operands& x) {
            const bool low = holds(Compare::gt, relate_floats(kHalf, x[0] & 0xffff, x[1] & 0xffff));
            const bool high = holds(Compare::gt, relate_floats(kHalf, x[0] >> 16, x[1] >> 16));
            return (low ? expected : 0) | (high ? expected << 16 : 0);
          });
  }
  CHECK(select_lane_op(make_op(Opcode::setp, Type::s32)) == nullptr);  // no comparison named
}

}  // namespace ptxwire::sim::lane_test
