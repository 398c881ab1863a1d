// f16 and bf16 arithmetic against exact numbers; unary operations on every bit pattern.
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/sim/exec/exact_number.hpp"
#include "tests/sim/exec/lane_bench.hpp"

namespace ptxwire::sim::lane_test {
namespace {

using ptx::Modifiers;

constexpr uint64_t kNan16 = 0x7fff;

struct HalfType {
  Type scalar, packed;
  BinaryFormat format;
  uint64_t one;
};
const HalfType kHalves[] = {{Type::f16, Type::f16x2, kHalf, 0x3c00},
                            {Type::bf16, Type::bf16x2, kBrainFloat, 0x3f80}};

uint64_t flush(const BinaryFormat& f, uint64_t x) { return (x & f.infinity()) == 0 ? x & f.sign_bit() : x; }

/// Corner pairs, then operands whose exponents are close (rounding, cancellation) or far below (subnormal
/// products).
std::vector<Operands> half_cases(const HalfType& type, size_t sources) {
  std::vector<uint64_t> corners = float_corners(type.format);
  if (sources == 3) {
    std::vector<uint64_t> fewer;
    for (size_t i = 0; i < corners.size(); i += 3) fewer.push_back(corners[i]);
    corners = fewer;
  }
  auto cases = combine(std::vector<std::vector<uint64_t>>(sources, corners), 4000);
  std::mt19937_64 generator(3);
  const uint64_t exponents = (uint64_t{1} << type.format.exponent_bits) - 1;
  for (int i = 0; i < 6000; ++i) {
    Operands operands{};
    const uint64_t base = generator() % exponents;
    for (uint64_t& operand : operands) {
      const uint64_t exponent = (base + generator() % 14) % exponents;
      operand = (generator() & (type.format.sign_bit() | ((uint64_t{1} << type.format.mantissa_bits) - 1))) |
                exponent << type.format.mantissa_bits;
    }
    cases.push_back(operands);
  }
  return cases;
}

using Scalar = std::function<uint64_t(const Operands&)>;

/// Checks the scalar form, then the packed one with the same function on both halves (the second half takes
/// the next case's operands).
void check_half(const std::string& name, Opcode opcode, const HalfType& type, size_t sources,
                const std::function<void(Modifiers&)>& modifiers, const std::vector<Operands>& cases,
                const Scalar& scalar) {
  check(name, make_op(opcode, type.scalar, modifiers), {16, std::vector<unsigned>(sources, 16)}, cases,
        scalar);
  std::vector<Operands> packed;
  for (size_t i = 0; i < cases.size(); ++i) {
    Operands both{};
    for (size_t s = 0; s < sources; ++s)
      both[s] = (cases[i][s] & 0xffff) | (cases[(i + 17) % cases.size()][s] & 0xffff) << 16;
    packed.push_back(both);
  }
  check(name + " packed", make_op(opcode, type.packed, modifiers), {32, std::vector<unsigned>(sources, 32)},
        packed, [&](const Operands& x) {
          Operands low{}, high{};
          for (size_t s = 0; s < sources; ++s) {
            low[s] = x[s] & 0xffff;
            high[s] = x[s] >> 16;
          }
          return scalar(low) | scalar(high) << 16;
        });
}

std::vector<Operands> every_pattern() {
  std::vector<Operands> cases;
  for (uint64_t pattern = 0; pattern < 0x10000; ++pattern) cases.push_back({pattern});
  return cases;
}

}  // namespace

TEST_CASE("half: add, sub, mul and fma round once, to nearest even", "[exec][lane]") {
  for (const HalfType& type : kHalves) {
    const IeeeArithmetic f{type.format, Rounding::rn, kNan16};
    const auto two = half_cases(type, 2), three = half_cases(type, 3);
    const bool is_f16 = type.scalar == Type::f16;
    for (const bool ftz : {false, true}) {
      for (const bool sat : {false, true}) {
        if (!is_f16 && (ftz || sat)) continue;
        const auto modifiers = [&](Modifiers& m) {
          m.ftz = ftz;
          m.sat = sat;
        };
        const auto in = [&](uint64_t x) { return ftz ? flush(type.format, x) : x; };
        const auto out = [&](uint64_t x) {
          if (sat && (type.format.is_nan(x) || type.format.is_negative(x))) x = 0;
          if (sat && x > type.one) x = type.one;
          return in(x);
        };
        check_half("add", Opcode::add, type, 2, modifiers, two,
                   [&](const Operands& x) { return out(f.add(in(x[0]), in(x[1]))); });
        check_half("sub", Opcode::sub, type, 2, modifiers, two,
                   [&](const Operands& x) { return out(f.add(in(x[0]), in(x[1]) ^ 0x8000)); });
        check_half("mul", Opcode::mul, type, 2, modifiers, two,
                   [&](const Operands& x) { return out(f.mul(in(x[0]), in(x[1]))); });
        check_half("fma", Opcode::fma, type, 3, modifiers, three,
                   [&](const Operands& x) { return out(f.fma(in(x[0]), in(x[1]), in(x[2]))); });
      }
    }
    check_half(
        "fma.relu", Opcode::fma, type, 3, [](Modifiers& m) { m.relu = true; }, three,
        [&](const Operands& x) -> uint64_t {
          const uint64_t result = f.fma(x[0], x[1], x[2]);
          return type.format.is_nan(result) ? kNan16 : type.format.is_negative(result) ? 0 : result;
        });
  }
}

TEST_CASE("half: abs and neg of every pattern", "[exec][lane]") {
  for (const HalfType& type : kHalves) {
    for (const bool ftz : {false, true}) {
      if (ftz && type.scalar == Type::bf16) continue;
      const auto modifiers = [&](Modifiers& m) { m.ftz = ftz; };
      const auto in = [&](uint64_t x) { return ftz ? flush(type.format, x) : x; };
      check_half("abs", Opcode::abs, type, 1, modifiers, every_pattern(),
                 [&](const Operands& x) { return type.format.is_nan(x[0]) ? kNan16 : in(x[0]) & 0x7fff; });
      check_half("neg", Opcode::neg, type, 1, modifiers, every_pattern(),
                 [&](const Operands& x) { return type.format.is_nan(x[0]) ? kNan16 : in(x[0]) ^ 0x8000; });
    }
  }
}

TEST_CASE("half: min and max with signed zeros, NaN and xorsign.abs", "[exec][lane]") {
  for (const HalfType& type : kHalves) {
    const auto cases = half_cases(type, 2);
    for (const bool is_min : {false, true}) {
      for (const bool nan : {false, true}) {
        for (const bool xor_sign : {false, true}) {
          const auto modifiers = [&](Modifiers& m) {
            m.nan = nan;
            m.xor_sign = xor_sign;
          };
          check_half(is_min ? "min" : "max", is_min ? Opcode::min : Opcode::max, type, 2, modifiers, cases,
                     [&](const Operands& x) -> uint64_t {
                       const uint64_t sign = (x[0] ^ x[1]) & 0x8000;
                       const uint64_t keep = xor_sign ? 0x7fff : 0xffff;
                       const uint64_t a = x[0] & keep, b = x[1] & keep;
                       const bool a_nan = type.format.is_nan(a), b_nan = type.format.is_nan(b);
                       if ((a_nan && b_nan) || (nan && (a_nan || b_nan))) return kNan16;
                       const auto key = [](uint64_t p) {
                         const auto magnitude = static_cast<int64_t>(p & 0x7fff);
                         return (p & 0x8000) != 0 ? -magnitude - 1 : magnitude;
                       };
                       const bool take_a =
                           b_nan || (!a_nan && (is_min ? key(a) <= key(b) : key(a) >= key(b)));
                       return xor_sign ? ((take_a ? a : b) & 0x7fff) | sign : take_a ? a : b;
                     });
        }
      }
    }
  }
}

TEST_CASE("half: ex2 and tanh of every pattern stay within the errors of the ISA", "[exec][lane]") {
  struct Form {
    Opcode opcode;
    Type type;
    bool ftz, relative;
    double limit;
  };
  const Form forms[] = {{Opcode::ex2, Type::f16, false, true, std::exp2(-9.9)},
                        {Opcode::ex2, Type::bf16, true, true, std::exp2(-7)},
                        {Opcode::tanh, Type::f16, false, false, std::exp2(-10.987)},
                        {Opcode::tanh, Type::bf16, false, false, std::exp2(-8)}};
  for (const Form& form : forms) {
    const BinaryFormat& f = form.type == Type::f16 ? kHalf : kBrainFloat;
    const auto real = [&](uint64_t pattern) {
      const Dyadic value = f.value(pattern);
      return std::ldexp(value.mantissa.convert_to<double>(), value.exponent);
    };
    for (const LaneVariant variant : variants()) {
      double worst = 0;
      bool corners_right = true;
      for (uint32_t first = 0; first < 0x10000; first += 32) {
        Warp warp;
        warp.set32(4, [&](int lane) { return first + static_cast<uint32_t>(lane); });
        Op op = make_op(form.opcode, form.type, [&](Modifiers& m) {
          m.approx = true;
          m.ftz = form.ftz;
        });
        op.dst[0] = reg(0);
        op.src[0] = reg(4);
        select_lane_op(op, variant)(op, warp.frame(), 0xffffffffu);
        for (int lane = 0; lane < 32; ++lane) {
          const uint64_t x = first + static_cast<uint32_t>(lane), y = warp.get32(0, lane);
          if (f.is_nan(x)) {
            corners_right = corners_right && y == kNan16;
            continue;
          }
          if (f.is_infinite(x)) {
            const uint64_t one = form.type == Type::f16 ? 0x3c00 : 0x3f80;
            const uint64_t expected = form.opcode == Opcode::tanh ? one | (x & 0x8000)
                                      : (x & 0x8000) != 0         ? 0
                                                                  : f.infinity();
            corners_right = corners_right && y == expected;
            continue;
          }
          const double input = real(form.ftz ? flush(f, x) : x);
          const double exact = form.opcode == Opcode::ex2 ? std::exp2(input) : std::tanh(input);
          if (exact > real(f.largest())) {
            corners_right = corners_right && (y == f.infinity() || y == f.largest());
          } else if (exact >= real(uint64_t{1} << f.mantissa_bits) || !form.relative) {  // normal results
            const double error = std::abs(real(y) - exact);
            worst = std::max(worst, form.relative ? error / exact : error);
          }
        }
      }
      CAPTURE(static_cast<int>(form.opcode), static_cast<int>(form.type));
      CHECK(worst <= form.limit);
      CHECK(corners_right);
    }
  }
}

}  // namespace ptxwire::sim::lane_test
