// The baseline and the AVX2 build of the same source give the same bits: random operands over every form
// there is.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>

#include "tests/sim/exec/lane_bench.hpp"

namespace ptxwire::sim::lane_test {
namespace {

using ptx::Modifiers;

/// Operand words that favour floats near 1, zeros and small integers over plain noise.
uint32_t interesting(std::mt19937_64& generator) {
  const auto noise = static_cast<uint32_t>(generator());
  switch (generator() % 6) {
    case 0:
      return noise % 70;
    case 1:
      return (noise & 0x807fffffu) | (110 + noise % 40) << 23;
    case 2:
      return noise & 0x807fffffu;
    case 3:
      return (noise & 0x83ff83ffu) | (noise % 31) << 26 | (noise % 29) << 10;
    case 4:
      return 0u - noise % 70;
    default:
      return noise;
  }
}

/// A random choice of every modifier that lane operations look at; most combinations have no semantics.
Op random_op(std::mt19937_64& generator) {
  const auto pick = [&](auto last) {
    return static_cast<decltype(last)>(generator() % (static_cast<uint64_t>(last) + 1));
  };
  const auto rarely = [&] { return generator() % 4 == 0; };
  Op op;
  op.opcode = pick(static_cast<Opcode>(static_cast<int>(Opcode::count) - 1));
  Modifiers& m = op.modifiers;
  m.type = pick(Type::s16x2);
  m.source_type = pick(Type::s16x2);
  m.rounding = rarely() ? pick(Rounding::rs) : Rounding::none;
  m.compare = pick(ptx::Compare::nan);
  m.bool_op = rarely() ? pick(ptx::BoolOp::xor_op) : ptx::BoolOp::none;
  m.half = pick(ptx::HalfSelect::wide);
  m.atomic = pick(ptx::AtomicOp::cas);
  m.shuffle = pick(ptx::ShuffleMode::idx);
  m.vote = pick(ptx::VoteMode::ballot);
  m.match = pick(ptx::MatchMode::all);
  m.prmt = pick(ptx::PrmtMode::rc16);
  m.shift = pick(ptx::ShiftMode::clamp);
  m.float_class = pick(ptx::FloatClass::subnormal);
  m.ftz = rarely();
  m.sat = rarely();
  m.satfinite = rarely();
  m.relu = rarely();
  m.approx = rarely();
  m.carry_in = rarely();
  m.carry_out = rarely();
  m.left = rarely();
  m.shift_amount = rarely();
  m.xor_sign = rarely();
  m.nan = rarely();
  if (m.type >= Type::e4m3 && m.type <= Type::e5m2x2) m.satfinite = true;
  // Operands far enough apart for any width; predicates where an operation may want them.
  op.dst[0] = generator() % 3 == 0 ? predicate(0) : reg(0);
  op.dst[1] = rarely() ? predicate(1) : Slot{};
  for (size_t s = 0; s < 5; ++s) op.src[s] = reg(static_cast<int>(4 + 4 * s));
  if (rarely()) op.src[2] = constant(1);
  const bool predicate_sources = m.type == Type::pred || op.opcode == Opcode::vote;
  if (predicate_sources) op.src[0] = predicate(2, rarely());
  if (m.type == Type::pred) op.src[1] = predicate(3);
  if (op.opcode == Opcode::setp || op.opcode == Opcode::set || op.opcode == Opcode::selp)
    op.src[2] = predicate(3);
  return op;
}

/// Operations write either a register or a predicate; the other kind of destination would be malformed.
bool destination_fits(const Op& op) {
  const bool wants_predicate = op.opcode == Opcode::setp || op.opcode == Opcode::testp ||
                               (op.modifiers.type == Type::pred && op.opcode != Opcode::vote) ||
                               (op.opcode == Opcode::vote && op.modifiers.vote != ptx::VoteMode::ballot);
  return wants_predicate == (op.dst[0].kind == Slot::Kind::predicate);
}

}  // namespace

TEST_CASE("lanes: the baseline and the AVX2 build agree bit for bit", "[exec][lane]") {
  if (!lane_variant_available(LaneVariant::avx2)) {
    WARN("skipped: this CPU has no AVX2");
    return;
  }
  const uint64_t seed = 20240607;
  CAPTURE(seed);
  std::mt19937_64 generator(seed);
  const int wanted = std::getenv("PTXWIRE_TEST_SMALL") != nullptr ? 4000 : 60000;
  int compared = 0;
  std::vector<bool> seen(static_cast<size_t>(Opcode::count));
  while (compared < wanted) {
    const Op op = random_op(generator);
    if (!destination_fits(op)) continue;
    const LaneOp baseline = select_lane_op(op, LaneVariant::baseline);
    const LaneOp avx2 = select_lane_op(op, LaneVariant::avx2);
    if ((baseline == nullptr) != (avx2 == nullptr))
      FAIL("only one build has opcode " << static_cast<int>(op.opcode));
    if (baseline == nullptr) continue;
    Warp first;
    for (uint32_t& word : first.rows) word = interesting(generator);
    for (uint32_t& word : first.predicates) word = static_cast<uint32_t>(generator());
    for (size_t i = 0; i < 64; ++i) {
      first.constants32[i] = static_cast<uint32_t>(i / 32 * 0x3f810123u);
      first.constants64[i] = i / 32 * 0x3f810123u;
    }
    first.carry = static_cast<uint32_t>(generator());
    Warp second = first;
    const uint32_t active =
        generator() % 3 == 0 ? 0xffffffffu : static_cast<uint32_t>(generator()) | 1u << generator() % 32;
    baseline(op, first.frame(), active);
    avx2(op, second.frame(), active);
    ++compared;
    seen[static_cast<size_t>(op.opcode)] = true;
    if (first.rows != second.rows || first.predicates != second.predicates || first.carry != second.carry) {
      FAIL("opcode " << static_cast<int>(op.opcode) << " type " << static_cast<int>(op.modifiers.type)
                     << " source type " << static_cast<int>(op.modifiers.source_type) << " rounding "
                     << static_cast<int>(op.modifiers.rounding));
    }
  }
  // Everything that has lane semantics took part.
  for (const Opcode opcode :
       {Opcode::mov,   Opcode::add,   Opcode::mad,   Opcode::fma,     Opcode::div,  Opcode::cvt,
        Opcode::setp,  Opcode::set,   Opcode::lop3,  Opcode::prmt,    Opcode::shfl, Opcode::vote,
        Opcode::match, Opcode::redux, Opcode::elect, Opcode::ex2,     Opcode::bfe,  Opcode::bfi,
        Opcode::slct,  Opcode::selp,  Opcode::dp4a,  Opcode::cvt_pack}) {
    CAPTURE(static_cast<int>(opcode));
    CHECK(seen[static_cast<size_t>(opcode)]);
  }
}

}  // namespace ptxwire::sim::lane_test
