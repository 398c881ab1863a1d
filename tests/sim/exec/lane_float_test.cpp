// f32 and f64 arithmetic against exact numbers rounded by definition, and the approximate functions against
// their stated errors.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "tests/sim/exec/exact_number.hpp"
#include "tests/sim/exec/lane_bench.hpp"

namespace ptxwire::sim::lane_test {
namespace {

using ptx::Modifiers;

constexpr uint64_t kNan32 = 0x7fffffff;
constexpr Rounding kModes[] = {Rounding::rn, Rounding::rz, Rounding::rm, Rounding::rp};

uint32_t bits_of(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return bits;
}
float float_of(uint64_t bits) {
  const auto low = static_cast<uint32_t>(bits);
  float x;
  std::memcpy(&x, &low, 4);
  return x;
}

uint64_t flush(uint64_t x) { return (x & 0x7f800000u) == 0 ? x & 0x80000000u : x; }
uint64_t saturate(uint64_t x) {
  if (kFloat.is_nan(x) || kFloat.is_negative(x)) return 0;
  return x > 0x3f800000u ? 0x3f800000u : x;
}

/// Random floats whose exponents lie close together, so that sums cancel and round, and products reach
/// subnormals.
std::vector<Operands> near_floats(size_t count) {
  std::mt19937_64 generator(99);
  std::vector<Operands> cases;
  for (size_t i = 0; i < count; ++i) {
    Operands operands{};
    const uint64_t base = generator() % 252 + 1;
    for (uint64_t& operand : operands) {
      const uint64_t exponent = std::min<uint64_t>(base + generator() % 28, 254);
      operand = (generator() & 0x807fffffu) | exponent << 23;
      if (generator() % 4 == 0) operand &= 0xfffff000u;  // few significant bits: exact results and ties
    }
    operands[1] = generator() % 3 == 0 ? (operands[1] & 0x807fffffu) | (254 - base) % 255 << 23 : operands[1];
    cases.push_back(operands);
  }
  return cases;
}

std::vector<Operands> float_cases(size_t sources) {
  std::vector<uint64_t> corners = float_corners(kFloat);
  if (sources == 3) {  // every third one keeps the cube small
    std::vector<uint64_t> fewer;
    for (size_t i = 0; i < corners.size(); i += 3) fewer.push_back(corners[i]);
    corners = fewer;
  }
  auto cases = combine(std::vector<std::vector<uint64_t>>(sources, corners), 500);
  const auto near = near_floats(1500);
  cases.insert(cases.end(), near.begin(), near.end());
  return cases;
}

using Ieee = uint64_t (*)(const IeeeArithmetic&, const Operands&);

struct Form {
  const char* name;
  Opcode opcode;
  size_t sources;
  Ieee evaluate;
};
constexpr uint64_t kOne = 0x3f800000u;
const Form kForms[] = {
    {"add", Opcode::add, 2, [](const IeeeArithmetic& f, const Operands& x) { return f.add(x[0], x[1]); }},
    {"sub", Opcode::sub, 2,
     [](const IeeeArithmetic& f, const Operands& x) { return f.add(x[0], x[1] ^ f.format.sign_bit()); }},
    {"mul", Opcode::mul, 2, [](const IeeeArithmetic& f, const Operands& x) { return f.mul(x[0], x[1]); }},
    {"fma", Opcode::fma, 3,
     [](const IeeeArithmetic& f, const Operands& x) { return f.fma(x[0], x[1], x[2]); }},
    {"mad", Opcode::mad, 3,
     [](const IeeeArithmetic& f, const Operands& x) { return f.fma(x[0], x[1], x[2]); }},
    {"div", Opcode::div, 2, [](const IeeeArithmetic& f, const Operands& x) { return f.div(x[0], x[1]); }},
    {"sqrt", Opcode::sqrt, 1, [](const IeeeArithmetic& f, const Operands& x) { return f.sqrt(x[0]); }},
    {"rcp", Opcode::rcp, 1,
     [](const IeeeArithmetic& f, const Operands& x) {
       const uint64_t one = ((uint64_t{1} << (f.format.exponent_bits - 1)) - 1) << f.format.mantissa_bits;
       return f.div(one, x[0]);
     }},
};

}  // namespace

TEST_CASE("float: every rounding of add, sub, mul, fma, div, sqrt, rcp.f32 is the correct one",
          "[exec][lane]") {
  for (const Form& form : kForms) {
    const auto cases = float_cases(form.sources);
    for (const Rounding rounding : kModes) {
      const IeeeArithmetic f{kFloat, rounding, kNan32};
      const Op op = make_op(form.opcode, Type::f32, [&](Modifiers& m) { m.rounding = rounding; });
      check(std::string(form.name) + ".f32 mode " + std::to_string(static_cast<int>(rounding)), op,
            {32, std::vector<unsigned>(form.sources, 32)}, cases,
            [&](const Operands& x) { return form.evaluate(f, x); });
    }
  }
}

TEST_CASE("float: .ftz flushes f32 inputs and results, .sat clamps", "[exec][lane]") {
  for (const Form& form : kForms) {
    const bool can_saturate = form.opcode != Opcode::div && form.sources != 1;
    const auto cases = float_cases(form.sources);
    for (const bool sat : {false, true}) {
      if (sat && !can_saturate) continue;
      for (const Rounding rounding : {Rounding::rn, Rounding::rm}) {
        const IeeeArithmetic f{kFloat, rounding, kNan32};
        const auto modifiers = [&](Modifiers& m) {
          m.rounding = rounding;
          m.ftz = true;
          m.sat = sat;
        };
        check(std::string(form.name) + ".ftz", make_op(form.opcode, Type::f32, modifiers),
              {32, std::vector<unsigned>(form.sources, 32)}, cases, [&](const Operands& x) {
                const uint64_t result = form.evaluate(f, {flush(x[0]), flush(x[1]), flush(x[2]), 0});
                return flush(sat ? saturate(result) : result);
              });
      }
    }
  }
  const IeeeArithmetic f{kFloat, Rounding::rn, kNan32};
  check("fma.sat", make_op(Opcode::fma, Type::f32, [](Modifiers& m) { m.sat = true; }), {32, {32, 32, 32}},
        float_cases(3), [&](const Operands& x) { return saturate(f.fma(x[0], x[1], x[2])); });
}

TEST_CASE("float: abs, neg, copysign, min and max with signed zeros and NaN", "[exec][lane]") {
  const auto cases = float_cases(2);
  for (const bool ftz : {false, true}) {
    const auto in = [=](uint64_t x) { return ftz ? flush(x) : x; };
    check("abs", make_op(Opcode::abs, Type::f32, [&](Modifiers& m) { m.ftz = ftz; }), {32, {32}}, cases,
          [&](const Operands& x) { return kFloat.is_nan(x[0]) ? kNan32 : in(x[0]) & 0x7fffffffu; });
    check("neg", make_op(Opcode::neg, Type::f32, [&](Modifiers& m) { m.ftz = ftz; }), {32, {32}}, cases,
          [&](const Operands& x) { return kFloat.is_nan(x[0]) ? kNan32 : in(x[0]) ^ 0x80000000u; });
    for (const bool is_min : {false, true}) {
      for (const bool nan : {false, true}) {
        for (const bool xor_sign : {false, true}) {
          const auto modifiers = [&](Modifiers& m) {
            m.ftz = ftz;
            m.nan = nan;
            m.xor_sign = xor_sign;
          };
          check(is_min ? "min" : "max", make_op(is_min ? Opcode::min : Opcode::max, Type::f32, modifiers),
                {32, {32, 32}}, cases, [&](const Operands& x) -> uint64_t {
                  uint64_t a = in(x[0]), b = in(x[1]);
                  const uint64_t sign = (a ^ b) & 0x80000000u;
                  if (xor_sign) a &= 0x7fffffffu, b &= 0x7fffffffu;
                  const bool a_nan = kFloat.is_nan(a), b_nan = kFloat.is_nan(b);
                  if ((a_nan && b_nan) || (nan && (a_nan || b_nan))) return kNan32;
                  // Total order of the patterns, -0 below +0: sign-magnitude to two's complement.
                  const auto key = [](uint64_t p) {
                    const auto magnitude = static_cast<int64_t>(p & 0x7fffffffu);
                    return (p & 0x80000000u) != 0 ? -magnitude - 1 : magnitude;
                  };
                  const bool take_a = b_nan || (!a_nan && (is_min ? key(a) <= key(b) : key(a) >= key(b)));
                  const uint64_t result = take_a ? a : b;
                  return xor_sign ? (result & 0x7fffffffu) | sign : result;
                });
        }
      }
    }
  }
  check("copysign.f32", make_op(Opcode::copysign, Type::f32), {32, {32, 32}}, cases,
        [](const Operands& x) { return (x[0] & 0x80000000u) | (x[1] & 0x7fffffffu); });
  const auto wide = float_corners(kDouble);
  check("copysign.f64", make_op(Opcode::copysign, Type::f64), {64, {64, 64}}, combine({wide, wide}),
        [](const Operands& x) { return (x[0] & kDouble.sign_bit()) | (x[1] & ~kDouble.sign_bit()); });
}

TEST_CASE("float: every rounding of f64 arithmetic is the correct one and keeps NaN payloads",
          "[exec][lane]") {
  const uint64_t quiet_bit = uint64_t{1} << 51;
  const uint64_t invalid = 0xfff8000000000000u;
  for (const Form& form : kForms) {
    std::vector<uint64_t> corners = float_corners(kDouble);
    if (form.sources == 3)
      corners = {0,
                 1,
                 0x3ff0000000000000u,
                 0xbff0000000000001u,
                 0x7fefffffffffffffu,
                 0x0010000000000000u,
                 0x7ff0000000000000u,
                 0x7ff0000000000123u,
                 0x8000000000000000u,
                 0x3cb0000000000000u};
    const auto cases = combine(std::vector<std::vector<uint64_t>>(form.sources, corners), 300);
    for (const Rounding rounding : kModes) {
      const IeeeArithmetic f{kDouble, rounding, invalid};
      const Op op = make_op(form.opcode, Type::f64, [&](Modifiers& m) { m.rounding = rounding; });
      check(std::string(form.name) + ".f64", op, {64, std::vector<unsigned>(form.sources, 64)}, cases,
            [&](const Operands& x) {
              for (size_t i = 0; i < form.sources; ++i)
                if (kDouble.is_nan(x[i])) return x[i] | quiet_bit;
              return form.evaluate(f, x);
            });
    }
  }
  const auto corners = float_corners(kDouble);
  for (const bool is_min : {false, true}) {
    check("min/max.f64", make_op(is_min ? Opcode::min : Opcode::max, Type::f64), {64, {64, 64}},
          combine({corners, corners}), [&](const Operands& x) {
            if (kDouble.is_nan(x[0])) return kDouble.is_nan(x[1]) ? x[0] | quiet_bit : x[1];
            if (kDouble.is_nan(x[1])) return x[0];
            const auto key = [](uint64_t p) {
              const auto magnitude = static_cast<int64_t>(p & ~kDouble.sign_bit());
              return kDouble.is_negative(p) ? -magnitude - 1 : magnitude;
            };
            return (key(x[0]) <= key(x[1])) == is_min ? x[0] : x[1];
          });
  }
  check("abs.f64", make_op(Opcode::abs, Type::f64), {64, {64}}, combine({corners}),
        [](const Operands& x) { return kDouble.is_nan(x[0]) ? x[0] : x[0] & ~kDouble.sign_bit(); });
  check("neg.f64", make_op(Opcode::neg, Type::f64), {64, {64}}, combine({corners}),
        [](const Operands& x) { return x[0] ^ kDouble.sign_bit(); });
}

TEST_CASE("float: testp", "[exec][lane]") {
  using ptx::FloatClass;
  for (const auto& [type, format] : {std::pair{Type::f32, kFloat}, std::pair{Type::f64, kDouble}}) {
    for (const FloatClass test : {FloatClass::finite, FloatClass::infinite, FloatClass::number,
                                  FloatClass::notanumber, FloatClass::normal, FloatClass::subnormal}) {
      const auto bits = static_cast<unsigned>(format.bits());
      check("testp", make_op(Opcode::testp, type, [&](Modifiers& m) { m.float_class = test; }), {1, {bits}},
            combine({float_corners(format)}), [test, f = format](const Operands& x) -> uint64_t {
              const bool nan = f.is_nan(x[0]), infinite = f.is_infinite(x[0]);
              const uint64_t exponent = x[0] & f.infinity();
              switch (test) {
                case FloatClass::finite:
                  return !nan && !infinite;
                case FloatClass::infinite:
                  return infinite;
                case FloatClass::number:
                  return !nan;
                case FloatClass::notanumber:
                  return nan;
                case FloatClass::normal:
                  return f.is_zero(x[0]) || (exponent != 0 && !nan && !infinite);
                case FloatClass::subnormal:
                  return exponent == 0 && !f.is_zero(x[0]);
                case FloatClass::none:
                  break;
              }
              return 0;
            });
    }
  }
}

namespace {

/// Runs a unary f32 function on one value.
float apply(Opcode opcode, float x, LaneVariant variant, bool ftz = false) {
  Warp warp;
  warp.set32(4, [&](int) { return bits_of(x); });
  Op op = make_op(opcode, Type::f32, [&](Modifiers& m) {
    m.approx = true;
    m.ftz = ftz;
  });
  op.dst[0] = reg(0);
  op.src[0] = reg(4);
  select_lane_op(op, variant)(op, warp.frame(), 1);
  return float_of(warp.get32(0, 0));
}

}  // namespace

TEST_CASE("float: approximate functions stay within the errors of the ISA", "[exec][lane]") {
  std::mt19937_64 generator(5);
  for (const LaneVariant variant : variants()) {
    double worst_log = 0, worst_exp_ulp = 0, worst_sin = 0, worst_root = 0, worst_tanh = 0;
    for (int i = 0; i < 4000; ++i) {
      const float x =
          std::ldexp(static_cast<float>(generator() >> 40) + 1.0f, static_cast<int>(generator() % 200) - 120);
      const long double root = 1.0L / sqrtl(x);
      worst_root =
          std::max(worst_root, static_cast<double>(fabsl(apply(Opcode::rsqrt, x, variant) - root) / root));
      const long double log = log2l(x);
      const double log_error = static_cast<double>(fabsl(apply(Opcode::lg2, x, variant) - log));
      worst_log =
          std::max(worst_log, x > 0.5f && x < 2.0f ? log_error : log_error / static_cast<double>(fabsl(log)));
      const float y = static_cast<float>(static_cast<double>(generator() % 2000000) / 10000.0 - 100.0);
      const auto exact = static_cast<float>(exp2l(y));
      worst_exp_ulp =
          std::max(worst_exp_ulp,
                   std::abs(static_cast<double>(bits_of(apply(Opcode::ex2, y, variant))) - bits_of(exact)));
      const float angle = y / 16.0f;
      worst_sin =
          std::max(worst_sin, static_cast<double>(fabsl(apply(Opcode::sin, angle, variant) - sinl(angle))));
      worst_sin =
          std::max(worst_sin, static_cast<double>(fabsl(apply(Opcode::cos, angle, variant) - cosl(angle))));
      if (y != 0)
        worst_tanh =
            std::max(worst_tanh, static_cast<double>(fabsl(apply(Opcode::tanh, y, variant) / tanhl(y) - 1)));
    }
    CHECK(worst_root < std::exp2(-22.9));
    CHECK(worst_log < std::exp2(-22));
    CHECK(worst_exp_ulp <= 2);
    CHECK(worst_sin < std::exp2(-20.5));
    CHECK(worst_tanh < std::exp2(-11));
  }
}

TEST_CASE("float: corner values of the approximate functions are those of the ISA's tables", "[exec][lane]") {
  const float inf = INFINITY, subnormal = float_of(0x007fffffu);
  struct Row {
    Opcode opcode;
    float input;
    uint32_t expected;
    bool ftz = false;
  };
  const auto nan = static_cast<uint32_t>(kNan32);
  const Row rows[] = {{Opcode::rcp, -inf, 0x80000000u},
                      {Opcode::rcp, -0.0f, 0xff800000u},
                      {Opcode::rcp, 0.0f, 0x7f800000u},
                      {Opcode::rcp, inf, 0},
                      {Opcode::rcp, NAN, nan},
                      {Opcode::sqrt, -inf, nan},
                      {Opcode::sqrt, -1.0f, nan},
                      {Opcode::sqrt, -0.0f, 0x80000000u},
                      {Opcode::sqrt, inf, 0x7f800000u},
                      {Opcode::rsqrt, -inf, nan},
                      {Opcode::rsqrt, -2.0f, nan},
                      {Opcode::rsqrt, -0.0f, 0xff800000u},
                      {Opcode::rsqrt, 0.0f, 0x7f800000u},
                      {Opcode::rsqrt, inf, 0},
                      {Opcode::sin, inf, nan},
                      {Opcode::sin, -0.0f, 0x80000000u},
                      {Opcode::cos, -inf, nan},
                      {Opcode::cos, -0.0f, kOne},
                      {Opcode::lg2, -inf, nan},
                      {Opcode::lg2, -1.0f, nan},
                      {Opcode::lg2, -0.0f, 0xff800000u},
                      {Opcode::lg2, inf, 0x7f800000u},
                      {Opcode::ex2, -inf, 0},
                      {Opcode::ex2, -0.0f, kOne},
                      {Opcode::ex2, inf, 0x7f800000u},
                      {Opcode::ex2, NAN, nan},
                      {Opcode::tanh, -inf, 0xbf800000u},
                      {Opcode::tanh, inf, kOne},
                      {Opcode::tanh, -0.0f, 0x80000000u},
                      {Opcode::tanh, subnormal, 0x007fffffu},
                      {Opcode::rcp, subnormal, 0x7f800000u, true},
                      {Opcode::lg2, -subnormal, 0xff800000u, true},
                      {Opcode::ex2, -127.0f, 0, true},
                      {Opcode::ex2, -127.0f, 0x00400000u},
                      {Opcode::rsqrt, subnormal, 0x7f800000u, true}};
  for (const LaneVariant variant : variants()) {
    for (const Row& row : rows) {
      CAPTURE(static_cast<int>(row.opcode), row.input, row.ftz);
      CHECK(bits_of(apply(row.opcode, row.input, variant, row.ftz)) == row.expected);
    }
  }
}

TEST_CASE("float: div.approx loses quotients of divisors above 2^126, div.full does not", "[exec][lane]") {
  const auto divide = [](float a, float b, bool approx) {
    Warp warp;
    warp.set32(4, [&](int) { return bits_of(a); });
    warp.set32(5, [&](int) { return bits_of(b); });
    Op op = make_op(Opcode::div, Type::f32, [&](Modifiers& m) {
      m.approx = approx;
      m.full = !approx;
    });
    op.dst[0] = reg(0);
    op.src = {reg(4), reg(5)};
    select_lane_op(op)(op, warp.frame(), 1);
    return warp.get32(0, 0);
  };
  CHECK(divide(3.0f, -0x1p127f, true) == 0x80000000u);
  CHECK(divide(-3.0f, -0x1.8p126f, true) == 0);
  CHECK(divide(INFINITY, 0x1p127f, true) == kNan32);
  CHECK(divide(0x1p127f, 0x1p126f, true) == 0x40000000u);
  CHECK(divide(0x1p127f, 0x1p127f, false) == kOne);
  CHECK(divide(1.0f, 3.0f, true) == bits_of(1.0f / 3.0f));
  CHECK(divide(3.0f, INFINITY, true) == 0);
}

TEST_CASE("float: rcp and rsqrt.approx.ftz.f64 work on the upper word", "[exec][lane]") {
  const auto run = [](Opcode opcode, uint64_t x) {
    Warp warp;
    warp.set64(4, [&](int) { return x; });
    Op op = make_op(opcode, Type::f64, [](Modifiers& m) { m.approx = m.ftz = true; });
    op.dst[0] = reg(0, 64);
    op.src[0] = reg(4, 64);
    select_lane_op(op)(op, warp.frame(), 1);
    return warp.get64(0, 0);
  };
  CHECK(run(Opcode::rcp, 0x4000000000000000u) == 0x3fe0000000000000u);
  CHECK(run(Opcode::rcp, 0x40000000ffffffffu) == 0x3fe0000000000000u);  // the lower word is ignored
  CHECK(run(Opcode::rcp, 0x000fffffffffffffu) == 0x7ff0000000000000u);  // subnormal: as zero
  CHECK(run(Opcode::rcp, 0xfff0000000000000u) == 0x8000000000000000u);
  CHECK(run(Opcode::rcp, 0x7ff8000000000001u) == 0x7fffffff00000000u);
  CHECK(run(Opcode::rsqrt, 0x4010000000000000u) == 0x3fe0000000000000u);
  CHECK(run(Opcode::rsqrt, 0x8000000000000001u) == 0xfff0000000000000u);
  CHECK(run(Opcode::rsqrt, 0xbff0000000000000u) == 0x7fffffff00000000u);
  CHECK((run(Opcode::rcp, 0x4008000000000000u) & 0xffffffffu) == 0);
}

}  // namespace ptxwire::sim::lane_test
