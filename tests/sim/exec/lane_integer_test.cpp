// Integer arithmetic against the ISA's definitions, evaluated with 128-bit integers or bit by bit.
#include <catch2/catch.hpp>

#include "tests/sim/exec/lane_bench.hpp"

namespace ptxwire::sim::lane_test {
namespace {

using Wide = __int128;
using ptx::HalfSelect;
using ptx::Modifiers;

struct IntegerType {
  Type type;
  unsigned bits;
  bool is_signed;
};
constexpr IntegerType kTypes[] = {{Type::u16, 16, false}, {Type::s16, 16, true},  {Type::u32, 32, false},
                                  {Type::s32, 32, true},  {Type::u64, 64, false}, {Type::s64, 64, true}};

/// The mathematical value of a bit pattern.
Wide value_of(const IntegerType& type, uint64_t bits) {
  const uint64_t mask = type.bits == 64 ? ~uint64_t{0} : (uint64_t{1} << type.bits) - 1;
  const Wide value = static_cast<Wide>(bits & mask);
  const bool negative = type.is_signed && (bits >> (type.bits - 1) & 1) != 0;
  return negative ? value - (static_cast<Wide>(1) << type.bits) : value;
}
Wide lowest(const IntegerType& type) {
  return type.is_signed ? -(static_cast<Wide>(1) << (type.bits - 1)) : 0;
}
Wide highest(const IntegerType& type) {
  return (static_cast<Wide>(1) << (type.is_signed ? type.bits - 1 : type.bits)) - 1;
}
uint64_t wrap(Wide value, unsigned bits) {
  return static_cast<uint64_t>(value) & (bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1);
}
Wide clamp(Wide value, const IntegerType& type) {
  return value < lowest(type) ? lowest(type) : value > highest(type) ? highest(type) : value;
}

void check_binary(const std::string& name, const Op& op, const IntegerType& t,
                  const std::function<Wide(Wide, Wide)>& f) {
  const auto corners = integer_corners(t.bits);
  check(name, op, {t.bits, {t.bits, t.bits}}, combine({corners, corners}),
        [&](const Operands& x) { return wrap(f(value_of(t, x[0]), value_of(t, x[1])), t.bits); });
}

}  // namespace

TEST_CASE("integer: add, sub, mul.lo and mul.hi are the low or high bits of the exact result",
          "[exec][lane]") {
  for (const IntegerType& t : kTypes) {
    CAPTURE(static_cast<int>(t.type));
    check_binary("add", make_op(Opcode::add, t.type), t, [](Wide a, Wide b) { return a + b; });
    check_binary("sub", make_op(Opcode::sub, t.type), t, [](Wide a, Wide b) { return a - b; });
    check_binary(
        "mul.lo", make_op(Opcode::mul, t.type, [](Modifiers& m) { m.half = HalfSelect::lo; }), t,
        [](Wide a, Wide b) {
          return static_cast<Wide>(static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b));
        });
  }
  for (const IntegerType& t : kTypes) {
    const Op op = make_op(Opcode::mul, t.type, [](Modifiers& m) { m.half = HalfSelect::hi; });
    if (t.type == Type::u64) {  // the product needs all 128 bits
      const auto corners = integer_corners(64);
      check("mul.hi.u64", op, {64, {64, 64}}, combine({corners, corners}), [](const Operands& x) {
        return static_cast<uint64_t>(static_cast<unsigned __int128>(x[0]) * x[1] >> 64);
      });
    } else {
      check_binary("mul.hi", op, t, [&](Wide a, Wide b) { return a * b >> t.bits; });
    }
  }
}

TEST_CASE("integer: the 32-bit add.sat and sub.sat clamp to the range of s32", "[exec][lane]") {
  const IntegerType& t = kTypes[3];
  const auto saturate = [](Modifiers& m) { m.sat = true; };
  check_binary("add.sat", make_op(Opcode::add, t.type, saturate), t,
               [&](Wide a, Wide b) { return clamp(a + b, t); });
  check_binary("sub.sat", make_op(Opcode::sub, t.type, saturate), t,
               [&](Wide a, Wide b) { return clamp(a - b, t); });
}

TEST_CASE("integer: mul.wide and mad.wide double the width", "[exec][lane]") {
  for (const IntegerType& t : kTypes) {
    if (t.bits == 64) continue;
    const auto wide = [](Modifiers& m) { m.half = HalfSelect::wide; };
    const IntegerType twice{Type::none, 2 * t.bits, t.is_signed};
    const auto corners = integer_corners(t.bits);
    check("mul.wide", make_op(Opcode::mul, t.type, wide), {2 * t.bits, {t.bits, t.bits}},
          combine({corners, corners}),
          [&](const Operands& x) { return wrap(value_of(t, x[0]) * value_of(t, x[1]), 2 * t.bits); });
    check("mad.wide", make_op(Opcode::mad, t.type, wide), {2 * t.bits, {t.bits, t.bits, 2 * t.bits}},
          combine({corners, corners, integer_corners(2 * t.bits)}), [&](const Operands& x) {
            return wrap(value_of(t, x[0]) * value_of(t, x[1]) + value_of(twice, x[2]), 2 * t.bits);
          });
  }
}

TEST_CASE("integer: mad.lo, mad.hi and mad.hi.sat", "[exec][lane]") {
  for (const IntegerType& t : kTypes) {
    const auto corners = integer_corners(t.bits);
    const auto cases = combine({corners, corners, corners});
    check("mad.lo", make_op(Opcode::mad, t.type, [](Modifiers& m) { m.half = HalfSelect::lo; }),
          {t.bits, {t.bits, t.bits, t.bits}}, cases, [&](const Operands& x) {
            return wrap(static_cast<Wide>(static_cast<unsigned __int128>(x[0]) * x[1] + x[2]), t.bits);
          });
    check("mad.hi", make_op(Opcode::mad, t.type, [](Modifiers& m) { m.half = HalfSelect::hi; }),
          {t.bits, {t.bits, t.bits, t.bits}}, cases, [&](const Operands& x) {
            const Wide product =
                t.is_signed ? value_of(t, x[0]) * value_of(t, x[1]) >> t.bits
                            : static_cast<Wide>(static_cast<unsigned __int128>(x[0]) * x[1] >> t.bits);
            return wrap(product + static_cast<Wide>(x[2]), t.bits);
          });
  }
  const IntegerType& s32 = kTypes[3];
  const auto corners = integer_corners(32);
  const auto high_saturated = [](Modifiers& m) {
    m.half = HalfSelect::hi;
    m.sat = true;
  };
  check("mad.hi.sat.s32", make_op(Opcode::mad, Type::s32, high_saturated), {32, {32, 32, 32}},
        combine({corners, corners, corners}), [&](const Operands& x) {
          return wrap(clamp((value_of(s32, x[0]) * value_of(s32, x[1]) >> 32) + value_of(s32, x[2]), s32),
                      32);
        });
}

TEST_CASE("integer: mul24 and mad24 see 24 bits of their factors", "[exec][lane]") {
  for (const bool is_signed : {false, true}) {
    const IntegerType factor{Type::none, 24, is_signed};
    const IntegerType s32 = kTypes[3];
    const Type type = is_signed ? Type::s32 : Type::u32;
    const auto corners = integer_corners(32);
    for (const HalfSelect half : {HalfSelect::lo, HalfSelect::hi}) {
      const auto product = [&](const Operands& x) {
        return value_of(factor, x[0]) * value_of(factor, x[1]) >> (half == HalfSelect::hi ? 16 : 0);
      };
      check("mul24", make_op(Opcode::mul24, type, [&](Modifiers& m) { m.half = half; }), {32, {32, 32}},
            combine({corners, corners}), [&](const Operands& x) { return wrap(product(x), 32); });
      check("mad24", make_op(Opcode::mad24, type, [&](Modifiers& m) { m.half = half; }), {32, {32, 32, 32}},
            combine({corners, corners, corners}),
            [&](const Operands& x) { return wrap(product(x) + static_cast<Wide>(x[2]), 32); });
      if (half == HalfSelect::hi && is_signed) {
        const auto saturated = [&](Modifiers& m) {
          m.half = half;
          m.sat = true;
        };
        check("mad24.hi.sat", make_op(Opcode::mad24, type, saturated), {32, {32, 32, 32}},
              combine({corners, corners, corners}), [&](const Operands& x) {
                const Wide high = value_of(s32, wrap(product(x), 32));
                return wrap(clamp(high + value_of(s32, x[2]), s32), 32);
              });
      }
    }
  }
}

TEST_CASE("integer: sad, div, rem, abs, neg, min, max", "[exec][lane]") {
  for (const IntegerType& t : kTypes) {
    const auto corners = integer_corners(t.bits);
    check("sad", make_op(Opcode::sad, t.type), {t.bits, {t.bits, t.bits, t.bits}},
          combine({corners, corners, corners}), [&](const Operands& x) {
            const Wide difference = value_of(t, x[0]) - value_of(t, x[1]);
            return wrap(static_cast<Wide>(x[2]) + (difference < 0 ? -difference : difference), t.bits);
          });
    // Division by zero is unspecified: all ones. MIN / -1 wraps to MIN.
    check_binary("div", make_op(Opcode::div, t.type), t, [](Wide a, Wide b) { return b == 0 ? -1 : a / b; });
    check_binary("rem", make_op(Opcode::rem, t.type), t, [](Wide a, Wide b) { return b == 0 ? -1 : a % b; });
    check_binary("min", make_op(Opcode::min, t.type), t, [](Wide a, Wide b) { return a < b ? a : b; });
    check_binary("max", make_op(Opcode::max, t.type), t, [](Wide a, Wide b) { return a < b ? b : a; });
    if (!t.is_signed) continue;
    check("abs", make_op(Opcode::abs, t.type), {t.bits, {t.bits}}, combine({corners}),
          [&](const Operands& x) {
            const Wide a = value_of(t, x[0]);
            return wrap(a < 0 ? -a : a, t.bits);
          });
    check("neg", make_op(Opcode::neg, t.type), {t.bits, {t.bits}}, combine({corners}),
          [&](const Operands& x) { return wrap(-value_of(t, x[0]), t.bits); });
  }
}

TEST_CASE("integer: pairs of 16-bit values and relu", "[exec][lane]") {
  const auto corners = integer_corners(32);
  const auto on_halves = [](const IntegerType& half, const std::function<Wide(Wide, Wide)>& f) {
    return [half, f](const Operands& x) {
      const uint64_t low = wrap(f(value_of(half, x[0]), value_of(half, x[1])), 16);
      return low | wrap(f(value_of(half, x[0] >> 16), value_of(half, x[1] >> 16)), 16) << 16;
    };
  };
  const IntegerType u16 = kTypes[0], s16 = kTypes[1], s32 = kTypes[3];
  const auto relu = [](Modifiers& m) { m.relu = true; };
  const auto min = [](Wide a, Wide b) { return a < b ? a : b; };
  const auto max = [](Wide a, Wide b) { return a < b ? b : a; };
  const auto max0 = [](Wide a, Wide b) { return std::max<Wide>(0, a < b ? b : a); };
  const auto min0 = [](Wide a, Wide b) { return std::max<Wide>(0, a < b ? a : b); };
  const Widths widths{32, {32, 32}};
  const auto cases = combine({corners, corners});
  check("add.u16x2", make_op(Opcode::add, Type::u16x2), widths, cases,
        on_halves(u16, [](Wide a, Wide b) { return a + b; }));
  check("add.s16x2", make_op(Opcode::add, Type::s16x2), widths, cases,
        on_halves(s16, [](Wide a, Wide b) { return a + b; }));
  check("min.u16x2", make_op(Opcode::min, Type::u16x2), widths, cases, on_halves(u16, min));
  check("max.s16x2", make_op(Opcode::max, Type::s16x2), widths, cases, on_halves(s16, max));
  check("max.relu.s16x2", make_op(Opcode::max, Type::s16x2, relu), widths, cases, on_halves(s16, max0));
  check("min.relu.s16x2", make_op(Opcode::min, Type::s16x2, relu), widths, cases, on_halves(s16, min0));
  check_binary("max.relu.s32", make_op(Opcode::max, Type::s32, relu), s32, max0);
}

TEST_CASE("integer: carries chain through CC.CF, lane by lane", "[exec][lane]") {
  // A 128-bit sum, difference and multiply-add from four, two and three instructions, against 128-bit
  // arithmetic.
  const auto corners = integer_corners(64);
  const std::vector<Operands> cases = combine({corners, corners, {1}, {~uint64_t{0}, 0}}, 320);
  for (const LaneVariant variant : variants()) {
    for (size_t first = 0; first + 32 <= cases.size(); first += 32) {
      Warp warp;
      warp.set64(4, [&](int lane) { return cases[first + static_cast<size_t>(lane)][0]; });
      warp.set64(6, [&](int lane) { return cases[first + static_cast<size_t>(lane)][1]; });
      warp.set64(8, [&](int lane) { return cases[first + static_cast<size_t>(lane)][2]; });
      warp.set64(10, [&](int lane) { return cases[first + static_cast<size_t>(lane)][3]; });
      warp.set64(22, [](int) { return 0; });
      const auto step = [&](Opcode opcode, Type type, int d, int a, int b, bool in, bool out) {
        Op op = make_op(opcode, type, [&](Modifiers& m) {
          m.carry_in = in;
          m.carry_out = out;
        });
        const unsigned bits = type == Type::u64 ? 64 : 32;
        op.dst[0] = reg(d, bits);
        op.src[0] = reg(a, bits);
        op.src[1] = reg(b, bits);
        select_lane_op(op, variant)(op, warp.frame(), 0xffffffffu);
      };
      step(Opcode::add, Type::u64, 12, 4, 8, false, true);
      step(Opcode::add, Type::u64, 14, 6, 10, true, true);
      step(Opcode::sub, Type::u64, 16, 4, 8, false, true);
      step(Opcode::sub, Type::u64, 18, 6, 10, true, true);
      step(Opcode::add, Type::u64, 20, 22, 22, true, false);  // 0 + 0 + flag: no borrow
      bool right = true;
      for (int lane = 0; lane < 32; ++lane) {
        const Operands& x = cases[first + static_cast<size_t>(lane)];
        const unsigned __int128 a = static_cast<unsigned __int128>(x[1]) << 64 | x[0];
        const unsigned __int128 b = static_cast<unsigned __int128>(x[3]) << 64 | x[2];
        const unsigned __int128 sum = a + b, difference = a - b;
        right = right && warp.get64(12, lane) == static_cast<uint64_t>(sum);
        right = right && warp.get64(14, lane) == static_cast<uint64_t>(sum >> 64);
        right = right && warp.get64(16, lane) == static_cast<uint64_t>(difference);
        right = right && warp.get64(18, lane) == static_cast<uint64_t>(difference >> 64);
        right = right && warp.get64(20, lane) == (a >= b ? 1U : 0U);
      }
      CHECK(right);
    }
  }
}

TEST_CASE("integer: the ISA's 64 x 64 bit product from mad.cc and madc", "[exec][lane]") {
  for (const LaneVariant variant : variants()) {
    Warp warp;
    std::mt19937_64 generator(7);
    std::array<uint64_t, 32> a, b;
    for (auto& value : a) value = generator() | 0xffff0000ffff0000u;
    for (auto& value : b) value = generator();
    warp.set32(4, [&](int lane) { return static_cast<uint32_t>(a[static_cast<size_t>(lane)]); });
    warp.set32(5, [&](int lane) { return static_cast<uint32_t>(a[static_cast<size_t>(lane)] >> 32); });
    warp.set32(6, [&](int lane) { return static_cast<uint32_t>(b[static_cast<size_t>(lane)]); });
    warp.set32(7, [&](int lane) { return static_cast<uint32_t>(b[static_cast<size_t>(lane)] >> 32); });
    warp.set32(8, [](int) { return 0; });
    const auto step = [&](Opcode opcode, HalfSelect half, int d, int x, int y, int z, bool in, bool out) {
      Op op = make_op(opcode, Type::u32, [&](Modifiers& m) {
        m.half = half;
        m.carry_in = in;
        m.carry_out = out;
      });
      op.dst[0] = reg(d);
      op.src[0] = reg(x);
      op.src[1] = reg(y);
      if (z >= 0) op.src[2] = reg(z);
      select_lane_op(op, variant)(op, warp.frame(), 0xffffffffu);
    };
    constexpr int r0 = 0, r1 = 1, r2 = 2, r3 = 3, r4 = 4, r5 = 5, r6 = 6, r7 = 7, zero = 8;
    step(Opcode::mul, HalfSelect::lo, r0, r4, r6, -1, false, false);
    step(Opcode::mul, HalfSelect::hi, r1, r4, r6, -1, false, false);
    step(Opcode::mad, HalfSelect::lo, r1, r5, r6, r1, false, true);
    step(Opcode::mad, HalfSelect::hi, r2, r5, r6, zero, true, false);
    step(Opcode::mad, HalfSelect::lo, r1, r4, r7, r1, false, true);
    step(Opcode::mad, HalfSelect::hi, r2, r4, r7, r2, true, true);
    step(Opcode::add, HalfSelect::none, r3, zero, zero, -1, true, false);
    step(Opcode::mad, HalfSelect::lo, r2, r5, r7, r2, false, true);
    step(Opcode::mad, HalfSelect::hi, r3, r5, r7, r3, true, false);
    for (int lane = 0; lane < 32; ++lane) {
      const auto i = static_cast<size_t>(lane);
      const unsigned __int128 product = static_cast<unsigned __int128>(a[i]) * b[i];
      CHECK(warp.get32(r0, lane) == static_cast<uint32_t>(product));
      CHECK(warp.get32(r1, lane) == static_cast<uint32_t>(product >> 32));
      CHECK(warp.get32(r2, lane) == static_cast<uint32_t>(product >> 64));
      CHECK(warp.get32(r3, lane) == static_cast<uint32_t>(product >> 96));
    }
  }
}

TEST_CASE("integer: a carry of an inactive lane is kept", "[exec][lane]") {
  Warp warp;
  warp.carry = 0x0f0f0f0f;
  warp.set32(4, [](int) { return 0xffffffffu; });
  warp.set32(5, [](int lane) { return lane % 2 == 0 ? 1u : 0u; });  // even lanes carry out
  Op op = make_op(Opcode::add, Type::u32, [](Modifiers& m) { m.carry_out = true; });
  op.dst[0] = sink();
  op.src[0] = reg(4);
  op.src[1] = reg(5);
  select_lane_op(op)(op, warp.frame(), 0x0000ffff);
  CHECK(warp.carry == 0x0f0f5555u);
}

}  // namespace ptxwire::sim::lane_test
