// cvt and cvt.pack: every pair of types and rounding mode against exact numbers; small formats on every bit
// pattern.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "tests/sim/exec/exact_number.hpp"
#include "tests/sim/exec/lane_bench.hpp"

namespace ptxwire::sim::lane_test {
namespace {

using boost::multiprecision::cpp_int;
using ptx::Modifiers;

struct IntegerType {
  Type type;
  unsigned bits;
  bool is_signed;
};
const IntegerType kIntegers[] = {{Type::u8, 8, false},   {Type::s8, 8, true},    {Type::u16, 16, false},
                                 {Type::s16, 16, true},  {Type::u32, 32, false}, {Type::s32, 32, true},
                                 {Type::u64, 64, false}, {Type::s64, 64, true}};
struct FloatType {
  Type type;
  BinaryFormat format;
  uint64_t nan, one;
};
const FloatType kFloats[] = {{Type::f16, kHalf, 0x7fff, 0x3c00},
                             {Type::bf16, kBrainFloat, 0x7fff, 0x3f80},
                             {Type::f32, kFloat, 0x7fffffff, 0x3f800000},
                             {Type::f64, kDouble, 0x7fffffffffffffff, 0x3ff0000000000000}};

uint64_t low_bits(unsigned bits) { return bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }
cpp_int integer_value(const IntegerType& type, uint64_t pattern) {
  const cpp_int value = pattern & low_bits(type.bits);
  const bool negative = type.is_signed && (pattern >> (type.bits - 1) & 1) != 0;
  return negative ? cpp_int(value - (cpp_int(1) << type.bits)) : value;
}
uint64_t integer_pattern(const cpp_int& value, unsigned bits) {
  const cpp_int modulus = cpp_int(1) << bits;
  return static_cast<uint64_t>(cpp_int(((value % modulus) + modulus) % modulus));
}
cpp_int clamp(const cpp_int& value, const IntegerType& type) {
  const cpp_int low = type.is_signed ? cpp_int(-(cpp_int(1) << (type.bits - 1))) : cpp_int(0);
  const cpp_int high = (cpp_int(1) << (type.is_signed ? type.bits - 1 : type.bits)) - 1;
  return value < low ? low : value > high ? high : value;
}

/// Rounds an exact number to an integer.
cpp_int to_integer(Rounding rounding, const Dyadic& x) {
  if (x.exponent >= 0) return x.mantissa << x.exponent;
  const cpp_int unit = cpp_int(1) << -x.exponent;
  cpp_int floor = x.mantissa / unit;
  if (x.mantissa < 0 && floor * unit != x.mantissa) floor -= 1;
  const cpp_int rest = x.mantissa - floor * unit;
  bool up = false;
  switch (rounding) {
    case Rounding::rzi:
      up = x.mantissa < 0 && rest != 0;
      break;
    case Rounding::rpi:
      up = rest != 0;
      break;
    case Rounding::rni:
      up = rest * 2 > unit || (rest * 2 == unit && floor % 2 != 0);
      break;
    default:
      break;
  }
  return floor + (up ? 1 : 0);
}

/// Values whose integer parts sit at the edges of integer types, with and without fractions, in `format`.
std::vector<uint64_t> edge_floats(const BinaryFormat& format) {
  std::vector<uint64_t> patterns = float_corners(format);
  for (const int power : {0, 7, 8, 15, 16, 31, 32, 63, 64}) {
    for (const int quarter : {-6, -4, -3, -2, -1, 0, 1, 2, 3, 4, 6}) {
      const Dyadic value{(cpp_int(1) << power) * 4 + quarter, -2};
      for (const Rounding rounding : {Rounding::rz, Rounding::rp}) {
        const uint64_t pattern = value.mantissa == 0 ? 0 : round_into(format, rounding, value);
        patterns.push_back(pattern);
        patterns.push_back(pattern ^ format.sign_bit());
      }
    }
  }
  return patterns;
}

/// All patterns of a 16-bit format, or only corners and a sample; corners and random bits of a wider one.
std::vector<Operands> patterns_of(const BinaryFormat& format, bool all) {
  const bool small = std::getenv("PTXWIRE_TEST_SMALL") != nullptr;
  if (format.bits() > 16 || !all || small) return combine({edge_floats(format)}, 2000);
  std::vector<Operands> cases;
  for (uint64_t pattern = 0; pattern < uint64_t{1} << format.bits(); ++pattern) cases.push_back({pattern});
  return cases;
}

uint64_t flush32(uint64_t x) { return (x & 0x7f800000u) == 0 ? x & 0x80000000u : x; }

/// The bits of `from` pattern x in `to`, by the definition of the conversion.
uint64_t expected_float(const FloatType& from, const FloatType& to, Rounding rounding, uint64_t x) {
  if (from.format.is_nan(x)) return to.nan;
  const uint64_t sign = from.format.is_negative(x) ? to.format.sign_bit() : 0;
  if (from.format.is_infinite(x)) return to.format.infinity() | sign;
  if (from.format.is_zero(x)) return sign;
  return round_into(to.format, rounding, from.format.value(x));
}

Op convert(Type to, Type from, Rounding rounding, const std::function<void(Modifiers&)>& adjust = {}) {
  return make_op(Opcode::cvt, to, [&](Modifiers& m) {
    m.source_type = from;
    m.rounding = rounding;
    if (adjust) adjust(m);
  });
}

}  // namespace

TEST_CASE("convert: integer to integer, wrapping and saturating, sign-extended over the register",
          "[exec][lane]") {
  for (const IntegerType& from : kIntegers) {
    for (const IntegerType& to : kIntegers) {
      for (const bool sat : {false, true}) {
        // The destination register is 32 bits wide for narrow types: .s8 and .s16 results are extended over
        // it.
        const unsigned bits = std::max(to.bits, 32u);
        check("cvt " + std::to_string(static_cast<int>(from.type)) + " to " +
                  std::to_string(static_cast<int>(to.type)),
              convert(to.type, from.type, Rounding::none, [&](Modifiers& m) { m.sat = sat; }),
              {bits, {from.bits}}, combine({integer_corners(from.bits)}, 500), [&](const Operands& x) {
                cpp_int value = integer_value(from, x[0]);
                if (sat) value = clamp(value, to);
                return integer_pattern(integer_value(to, integer_pattern(value, to.bits)), bits);
              });
      }
    }
  }
}

TEST_CASE("convert: registers wider than the type", "[exec][lane]") {
  for (const LaneVariant variant : variants()) {
    Warp warp;
    warp.set64(4, [](int lane) { return 0xfedcba9876543280u + static_cast<uint64_t>(lane); });
    Op op =
        convert(Type::s32, Type::s8, Rounding::none);  // low byte of a 64-bit register to a 64-bit register
    op.dst[0] = reg(0, 64);
    op.src[0] = reg(4, 64);
    select_lane_op(op, variant)(op, warp.frame(), 0xffffffffu);
    CHECK(warp.get64(0, 3) == 0xffffffffffffff83u);
    op = convert(Type::u32, Type::u16, Rounding::none);
    op.dst[0] = reg(0, 64);
    op.src[0] = reg(4, 64);
    select_lane_op(op, variant)(op, warp.frame(), 0xffffffffu);
    CHECK(warp.get64(0, 1) == 0x3281u);
    op = convert(Type::f32, Type::s16, Rounding::rn);
    op.dst[0] = reg(0, 64);
    op.src[0] = reg(4, 64);
    select_lane_op(op, variant)(op, warp.frame(), 0xffffffffu);
    CHECK(warp.get64(0, 0) == 0x464a0000u);  // 0x3280 = 12928.0f
  }
}

TEST_CASE("convert: integer to float in every rounding mode", "[exec][lane]") {
  for (const IntegerType& from : kIntegers) {
    std::vector<uint64_t> values = integer_corners(from.bits);
    for (unsigned i = 0; i < from.bits; ++i) {  // around every power of two, and midway between neighbours
      for (const uint64_t offset : {~uint64_t{1}, ~uint64_t{0}, uint64_t{0}, uint64_t{1}, uint64_t{2}})
        values.push_back(((uint64_t{1} << i) + offset) & low_bits(from.bits));
      for (const unsigned below : {8u, 9u, 11u, 12u, 24u, 25u, 53u, 54u})
        if (i >= below)
          values.push_back(((uint64_t{1} << i) + (uint64_t{1} << (i - below))) & low_bits(from.bits));
      if (i >= 54) values.push_back((uint64_t{1} << i) + (uint64_t{1} << (i - 24)) + 1);  // just above a tie
    }
    for (const FloatType& to : kFloats) {
      const auto bits = static_cast<unsigned>(to.format.bits());
      for (const Rounding rounding : {Rounding::rn, Rounding::rz, Rounding::rm, Rounding::rp}) {
        check("cvt to float", convert(to.type, from.type, rounding), {bits, {from.bits}},
              combine({values}, 1000), [&](const Operands& x) {
                const cpp_int value = integer_value(from, x[0]);
                return value == 0 ? 0 : round_into(to.format, rounding, Dyadic{value, 0});
              });
      }
    }
  }
}

TEST_CASE("convert: float to integer saturates; NaN gives 0, or the top bit for f64 and 64-bit integers",
          "[exec][lane]") {
  for (const FloatType& from : kFloats) {
    const auto bits = static_cast<unsigned>(from.format.bits());
    for (const IntegerType& to : kIntegers) {
      for (const Rounding rounding : {Rounding::rni, Rounding::rzi, Rounding::rmi, Rounding::rpi}) {
        const auto cases = patterns_of(from.format, to.type == Type::s32 && rounding == Rounding::rni);
        for (const bool ftz : {false, true}) {
          if (ftz && from.type != Type::f32) continue;
          check("cvt " + std::to_string(static_cast<int>(from.type)) + " to " +
                    std::to_string(static_cast<int>(to.type)),
                convert(to.type, from.type, rounding, [&](Modifiers& m) { m.ftz = ftz; }), {to.bits, {bits}},
                cases, [&](const Operands& operands) -> uint64_t {
                  const uint64_t x = ftz ? flush32(operands[0]) : operands[0];
                  if (from.format.is_nan(x))
                    return from.type == Type::f64 || to.bits == 64 ? uint64_t{1} << (to.bits - 1) : 0;
                  const cpp_int huge =
                      from.format.is_negative(x) ? cpp_int(-(cpp_int(1) << 70)) : cpp_int(1) << 70;
                  const cpp_int value =
                      from.format.is_infinite(x) ? huge : to_integer(rounding, from.format.value(x));
                  return integer_pattern(clamp(value, to), to.bits);
                });
        }
      }
    }
  }
}

TEST_CASE("convert: float to float in every rounding mode", "[exec][lane]") {
  for (const FloatType& from : kFloats) {
    const auto from_bits = static_cast<unsigned>(from.format.bits());
    auto cases = patterns_of(from.format, true);
    if (from_bits > 16) {  // values at and around the ties of every narrower format
      std::mt19937_64 generator(1);
      for (const FloatType& to : kFloats) {
        if (to.format.bits() >= from.format.bits()) continue;
        for (int i = 0; i < 1000; ++i) {
          const uint64_t pattern = generator() % to.format.largest();
          const Dyadic middle = to.format.value(pattern) + to.format.value(pattern + 1);
          uint64_t x = round_into(from.format, Rounding::rn, Dyadic{middle.mantissa, middle.exponent - 1});
          x += generator() % 3;
          cases.push_back({x - 1});
          cases.push_back({(x - 1) ^ from.format.sign_bit()});
        }
      }
    }
    for (const FloatType& to : kFloats) {
      const auto to_bits = static_cast<unsigned>(to.format.bits());
      const bool exact = to.format.exponent_bits >= from.format.exponent_bits &&
                         to.format.mantissa_bits >= from.format.mantissa_bits;
      if (to.type == from.type) continue;
      for (const Rounding rounding : {Rounding::rn, Rounding::rz, Rounding::rm, Rounding::rp}) {
        if (exact && rounding != Rounding::rn) continue;
        check("cvt " + std::to_string(static_cast<int>(from.type)) + " to " +
                  std::to_string(static_cast<int>(to.type)),
              convert(to.type, from.type, exact ? Rounding::none : rounding), {to_bits, {from_bits}}, cases,
              [&](const Operands& x) {
                // These two keep what they see of a payload: the ISA leaves the first open, and f64 supports
                // payloads.
                if (from.type == Type::bf16 && to.type == Type::f32) return x[0] << 16;
                if (from.format.is_nan(x[0]) && to.type == Type::f64 && from.type == Type::f32)
                  return (x[0] & 0x80000000u) << 32 | 0x7ff8000000000000u | (x[0] & 0x7fffffu) << 29;
                if (from.format.is_nan(x[0]) && to.type == Type::f64)
                  return (x[0] & 0x8000u) << 48 | 0x7ff8000000000000u |
                         (x[0] & low_bits(static_cast<unsigned>(from.format.mantissa_bits)))
                             << (52 - from.format.mantissa_bits);
                return expected_float(from, to, rounding, x[0]);
              });
      }
    }
  }
}

TEST_CASE("convert: ftz, sat, relu and satfinite", "[exec][lane]") {
  const FloatType& f16 = kFloats[0];
  const FloatType& bf16 = kFloats[1];
  const FloatType& f32 = kFloats[2];
  const auto cases = combine({edge_floats(kFloat)}, 3000);
  check("cvt.ftz.sat.f32.f32",
        convert(Type::f32, Type::f32, Rounding::none, [](Modifiers& m) { m.ftz = m.sat = true; }), {32, {32}},
        cases, [&](const Operands& x) -> uint64_t {
          if (kFloat.is_nan(x[0]) || kFloat.is_negative(x[0])) return 0;
          return std::min<uint64_t>(flush32(x[0]), f32.one);
        });
  check("cvt.ftz.f32.bf16",
        convert(Type::f32, Type::bf16, Rounding::none, [](Modifiers& m) { m.ftz = true; }), {32, {16}},
        patterns_of(kBrainFloat, true),
        [&](const Operands& x) { return kBrainFloat.is_nan(x[0]) ? f32.nan : flush32(x[0] << 16); });
  check("cvt.rn.ftz.f16.f32", convert(Type::f16, Type::f32, Rounding::rn, [](Modifiers& m) { m.ftz = true; }),
        {16, {32}}, cases,
        [&](const Operands& x) { return expected_float(f32, f16, Rounding::rn, flush32(x[0])); });
  check("cvt.rn.ftz.f32.f64", convert(Type::f32, Type::f64, Rounding::rn, [](Modifiers& m) { m.ftz = true; }),
        {32, {64}},
        combine({edge_floats(kDouble), {0x380fffffffffffffu, 0x3800000000000000u, 0xb800000000000000u}}),
        [&](const Operands& x) { return flush32(expected_float(kFloats[3], f32, Rounding::rn, x[0])); });
  for (const FloatType& to : {f16, bf16}) {
    for (const Rounding rounding : {Rounding::rn, Rounding::rz}) {
      for (const bool relu : {false, true}) {
        for (const bool satfinite : {false, true}) {
          const auto modifiers = [&](Modifiers& m) {
            m.relu = relu;
            m.satfinite = satfinite;
          };
          check("cvt.relu.satfinite", convert(to.type, Type::f32, rounding, modifiers), {16, {32}}, cases,
                [&](const Operands& x) -> uint64_t {
                  uint64_t result = expected_float(f32, to, rounding, x[0]);
                  if (to.format.is_nan(result)) return result;
                  if (relu && to.format.is_negative(result)) return 0;
                  if (satfinite && to.format.is_infinite(result)) --result;
                  return result;
                });
        }
      }
    }
  }
  for (const Rounding rounding : {Rounding::rna, Rounding::rn, Rounding::rz}) {
    check("cvt.tf32.f32", convert(Type::tf32, Type::f32, rounding), {32, {32}}, cases,
          [&](const Operands& x) -> uint64_t {
            if (kFloat.is_nan(x[0])) return f32.nan;
            if (kFloat.is_infinite(x[0]) || kFloat.is_zero(x[0])) return x[0];
            return round_into(kTensorFloat, rounding, kFloat.value(x[0])) << 13;
          });
  }
}

TEST_CASE("convert: rounding to an integral value keeps the type and the sign of zero", "[exec][lane]") {
  for (const FloatType& type : kFloats) {
    const auto bits = static_cast<unsigned>(type.format.bits());
    for (const Rounding rounding : {Rounding::rni, Rounding::rzi, Rounding::rmi, Rounding::rpi}) {
      check("cvt.rXi", convert(type.type, type.type, rounding), {bits, {bits}},
            patterns_of(type.format, rounding == Rounding::rni), [&](const Operands& x) {
              if (type.format.is_nan(x[0]))
                return type.type == Type::f64 ? x[0] | uint64_t{1} << 51 : type.nan;
              if (type.format.is_infinite(x[0])) return x[0];
              const cpp_int value = to_integer(rounding, type.format.value(x[0]));
              if (value == 0) return x[0] & type.format.sign_bit();
              return round_into(type.format, Rounding::rn, Dyadic{value, 0});
            });
    }
  }
}

TEST_CASE("convert: two f32 into a packed half pair, the first one on top", "[exec][lane]") {
  const auto corners = float_corners(kFloat);
  for (const auto& [packed, index] : {std::pair{Type::f16x2, 0}, std::pair{Type::bf16x2, 1}}) {
    const FloatType& to = kFloats[index];
    for (const Rounding rounding : {Rounding::rn, Rounding::rz}) {
      for (const bool relu : {false, true}) {
        check("cvt.x2.f32", convert(packed, Type::f32, rounding, [&](Modifiers& m) { m.relu = relu; }),
              {32, {32, 32}}, combine({corners, corners}), [&](const Operands& x) {
                const auto one = [&](uint64_t f32) -> uint64_t {
                  const uint64_t result = expected_float(kFloats[2], to, rounding, f32);
                  return relu && !to.format.is_nan(result) && to.format.is_negative(result) ? 0 : result;
                };
                return one(x[0]) << 16 | one(x[1]);
              });
      }
    }
  }
}

TEST_CASE("convert: e4m3 and e5m2, from f32 and f16x2 with saturation, and back, exhaustively",
          "[exec][lane]") {
  for (const auto& [type, format] :
       {std::pair{Type::e4m3x2, kE4m3Format}, std::pair{Type::e5m2x2, kE5m2Format}}) {
    // From every f16 pattern, through f16x2; then from f32 around every tie.
    const auto to_f8 = [f = format](const BinaryFormat& from, uint64_t x, bool relu) -> uint64_t {
      if (from.is_nan(x)) return 0x7f;
      const uint64_t sign = from.is_negative(x) ? 0x80 : 0;
      if (relu && sign != 0) return 0;
      if (from.is_infinite(x)) return f.largest() | sign;
      return from.is_zero(x) ? sign : round_into(f, Rounding::rn, from.value(x), true);
    };
    std::vector<Operands> pairs;
    for (uint64_t pattern = 0; pattern < 0x10000; ++pattern)
      pairs.push_back({pattern | (pattern * 40503 & 0xffff) << 16});
    for (const bool relu : {false, true}) {
      const auto modifiers = [&](Modifiers& m) {
        m.satfinite = true;
        m.relu = relu;
      };
      check("cvt.f8x2.f16x2", convert(type, Type::f16x2, Rounding::rn, modifiers), {16, {32}}, pairs,
            [&](const Operands& x) {
              return to_f8(kHalf, x[0] >> 16, relu) << 8 | to_f8(kHalf, x[0] & 0xffff, relu);
            });
      std::vector<uint64_t> values = float_corners(kFloat);
      for (uint64_t pattern = 0; pattern < format.largest(); ++pattern) {
        const Dyadic twice = format.value(pattern) + format.value(pattern + 1);
        const uint64_t tie = round_into(kFloat, Rounding::rn, Dyadic{twice.mantissa, twice.exponent - 1});
        for (const uint64_t value : {tie - 1, tie, tie + 1})
          values.push_back(value | (pattern % 2 == 0 ? 0x80000000u : 0));
      }
      std::vector<Operands> cases = combine({values}, 2000);
      for (size_t i = 0; i < cases.size(); ++i) cases[i][1] = cases[(i + 29) % cases.size()][0];
      check("cvt.f8x2.f32", convert(type, Type::f32, Rounding::rn, modifiers), {16, {32, 32}}, cases,
            [&](const Operands& x) { return to_f8(kFloat, x[0], relu) << 8 | to_f8(kFloat, x[1], relu); });
    }
    // Back: every pair of bytes. Every f8 value is exact in f16.
    std::vector<Operands> bytes;
    for (uint64_t pattern = 0; pattern < 0x10000; ++pattern) bytes.push_back({pattern});
    check("cvt.f16x2.f8x2", convert(Type::f16x2, type, Rounding::rn), {32, {16}}, bytes,
          [f = format](const Operands& x) {
            const auto one = [&](uint64_t byte) -> uint64_t {
              if (f.is_nan(byte)) return 0x7fff;
              const uint64_t sign = (byte & 0x80) << 8;
              if (f.is_infinite(byte)) return kHalf.infinity() | sign;
              return f.is_zero(byte) ? sign : round_into(kHalf, Rounding::rn, f.value(byte));
            };
            return one(x[0] >> 8) << 16 | one(x[0] & 0xff);
          });
  }
}

TEST_CASE("convert: known bit patterns", "[exec][lane]") {
  // Literature values, so that a mistake shared by format tables and tests cannot hide.
  const auto run = [](Op op, uint64_t x, uint64_t y) {
    Warp warp;
    warp.set32(4, [&](int) { return static_cast<uint32_t>(x); });
    warp.set32(5, [&](int) { return static_cast<uint32_t>(y); });
    op.dst[0] = reg(0);
    op.src = {reg(4), reg(5)};
    select_lane_op(op)(op, warp.frame(), 1);
    return warp.get32(0, 0);
  };
  const auto finite = [](Modifiers& m) { m.satfinite = true; };
  CHECK(run(convert(Type::f16, Type::f32, Rounding::rn), 0x477fe000, 0) == 0x7bff);  // 65504
  CHECK(run(convert(Type::f16, Type::f32, Rounding::rn), 0x477ff000, 0) ==
        0x7c00);  // 65520 rounds to infinity
  CHECK(run(convert(Type::f16, Type::f32, Rounding::rn), 0x33000000, 0) == 0x0000);  // 2^-25: tie to even
  CHECK(run(convert(Type::f16, Type::f32, Rounding::rn), 0x33000001, 0) == 0x0001);
  CHECK(run(convert(Type::bf16, Type::f32, Rounding::rn), 0x3f808000, 0) == 0x3f80);  // tie to even
  CHECK(run(convert(Type::bf16, Type::f32, Rounding::rn), 0x3f818000, 0) == 0x3f82);
  CHECK(run(convert(Type::bf16, Type::f32, Rounding::rz), 0x3f81ffff, 0) == 0x3f81);
  CHECK(run(convert(Type::e4m3x2, Type::f32, Rounding::rn, finite), 0x43e00000, 0x3f800000) ==
        0x7e38);  // 448, 1
  CHECK(run(convert(Type::e4m3x2, Type::f32, Rounding::rn, finite), 0x7f800000, 0xff800000) == 0x7efe);
  CHECK(run(convert(Type::e5m2x2, Type::f32, Rounding::rn, finite), 0x47600000, 0x7f800000) ==
        0x7b7b);                                                                          // 57344
  CHECK(run(convert(Type::s32, Type::f32, Rounding::rzi), 0x4f000000, 0) == 0x7fffffff);  // 2^31
  CHECK(run(convert(Type::s32, Type::f32, Rounding::rni), 0x40200000, 0) == 2);           // 2.5
  CHECK(run(convert(Type::u32, Type::f32, Rounding::rmi), 0xbf800000, 0) == 0);           // -1
  CHECK(run(convert(Type::f16x2, Type::e4m3x2, Rounding::rn), 0x7e01, 0) == 0x5f001800);  // 448 and 2^-9
}

TEST_CASE("convert: cvt.pack saturates and keeps the rest of c", "[exec][lane]") {
  struct Form {
    Type type;
    int bits, low, high;
  };
  for (const Form& form : {Form{Type::u16, 16, 0, 65535}, Form{Type::s16, 16, -32768, 32767},
                           Form{Type::u8, 8, 0, 255}, Form{Type::s8, 8, -128, 127}}) {
    std::vector<uint64_t> values = integer_corners(32);
    for (const int edge : {form.low - 1, form.low, form.high, form.high + 1})
      values.push_back(static_cast<uint32_t>(edge));
    const auto modifiers = [](Modifiers& m) {
      m.source_type = Type::s32;
      m.sat = true;
    };
    check("cvt.pack", make_op(Opcode::cvt_pack, form.type, modifiers), {32, {32, 32, 32}},
          combine({values, values, {0, 0x12345678}}), [&](const Operands& x) {
            const auto one = [&](uint64_t v) {
              const int64_t value = static_cast<int32_t>(v);
              const int64_t clamped = std::min<int64_t>(std::max<int64_t>(value, form.low), form.high);
              return static_cast<uint64_t>(clamped) & low_bits(static_cast<unsigned>(form.bits));
            };
            const uint64_t pair = one(x[1]) | one(x[0]) << form.bits;
            return form.bits == 16 ? pair : (pair | x[2] << 16) & 0xffffffffu;
          });
  }
}

}  // namespace ptxwire::sim::lane_test
