// shfl, vote, match, redux, activemask and elect against the ISA's per-thread pseudo-code.
#include <catch2/catch.hpp>

#include "tests/sim/exec/lane_bench.hpp"

namespace ptxwire::sim::lane_test {
namespace {

using ptx::Modifiers;

bool bit(uint32_t value, int index) { return (value >> index & 1) != 0; }

constexpr uint32_t kActive[] = {0xffffffffu, 0x0000ffffu, 0x80000001u, 0x5a0f33c1u, 0x00000100u};

/// The member mask of each lane: all active lanes, or two groups that run the same instruction together.
uint32_t members(bool split, uint32_t active, int lane) {
  if (!split) return active;
  return lane % 4 == 1 ? active & 0x22222222u : active & ~0x22222222u;
}

}  // namespace

TEST_CASE("warp: shfl in every mode, with clamps, segments and predicates", "[exec][lane]") {
  using ptx::ShuffleMode;
  for (const LaneVariant variant : variants()) {
    for (const ShuffleMode mode : {ShuffleMode::up, ShuffleMode::down, ShuffleMode::bfly, ShuffleMode::idx}) {
      for (const uint32_t c : {0x1fu, 0x0u, 0x1c1fu, 0x1c00u, 0x181fu, 0x100fu, 0x1e01u, 0x0507u}) {
        for (uint32_t b = 0; b < 40; ++b) {
          for (const uint32_t active : kActive) {
            Warp warp;
            warp.set32(4, [](int lane) { return 1000u + static_cast<uint32_t>(lane); });
            warp.set32(5, [&](int lane) { return b + (b % 3 == 2 ? static_cast<uint32_t>(lane) * 5 : 0); });
            warp.set32(6, [&](int) { return c; });
            warp.set32(7, [&](int) { return active; });
            warp.predicates[0] = 0x12345678;
            Op op = make_op(Opcode::shfl, Type::b32, [&](Modifiers& m) { m.shuffle = mode; });
            op.dst = {reg(0), predicate(0)};
            op.src = {reg(4), reg(5), reg(6), reg(7)};
            const Warp before = warp;
            select_lane_op(op, variant)(op, warp.frame(), active);
            bool right = true;
            for (int lane = 0; lane < 32; ++lane) {
              if (!bit(active, lane)) {
                right = right && warp.get32(0, lane) == before.get32(0, lane);
                right = right && bit(warp.predicates[0], lane) == bit(0x12345678, lane);
                continue;
              }
              const int bval = before.get32(5, lane) & 31, cval = c & 31, segmask = c >> 8 & 31;
              const int max_lane = (lane & segmask) | (cval & ~segmask), min_lane = lane & segmask;
              int j = 0;
              bool in_range = false;
              switch (mode) {
                case ShuffleMode::up:
                  j = lane - bval;
                  in_range = j >= max_lane;
                  break;
                case ShuffleMode::down:
                  j = lane + bval;
                  in_range = j <= max_lane;
                  break;
                case ShuffleMode::bfly:
                  j = lane ^ bval;
                  in_range = j <= max_lane;
                  break;
                default:
                  j = min_lane | (bval & ~segmask);
                  in_range = j <= max_lane;
                  break;
              }
              if (!in_range) j = lane;
              if (bit(active, j)) right = right && warp.get32(0, lane) == 1000u + static_cast<uint32_t>(j);
              right = right && bit(warp.predicates[0], lane) == in_range;
            }
            if (!right)
              FAIL("mode " << static_cast<int>(mode) << " c " << c << " b " << b << " active " << active);
          }
        }
      }
    }
  }
  SUCCEED();
}

TEST_CASE("warp: vote and ballot, one or two groups of lanes", "[exec][lane]") {
  using ptx::VoteMode;
  for (const LaneVariant variant : variants()) {
    for (const VoteMode mode : {VoteMode::all, VoteMode::any, VoteMode::uni, VoteMode::ballot}) {
      for (const uint32_t votes : {0u, 0xffffffffu, 0x22222222u, 0x0000ff01u}) {
        for (const bool negated : {false, true}) {
          for (const bool split : {false, true}) {
            for (const uint32_t active : kActive) {
              Warp warp;
              warp.predicates = {0x0f0f0f0f, votes};
              warp.set32(5, [&](int lane) { return members(split, active, lane); });
              Op op = make_op(Opcode::vote, mode == VoteMode::ballot ? Type::b32 : Type::pred,
                              [&](Modifiers& m) { m.vote = mode; });
              op.dst[0] = mode == VoteMode::ballot ? reg(0) : predicate(0);
              op.src = {predicate(1, negated), reg(5)};
              const Warp before = warp;
              select_lane_op(op, variant)(op, warp.frame(), active);
              for (int lane = 0; lane < 32; ++lane) {
                const uint32_t group = members(split, active, lane);
                const uint32_t yes = (negated ? ~votes : votes) & group;
                const bool decision = mode == VoteMode::all   ? yes == group
                                      : mode == VoteMode::any ? yes != 0
                                                              : yes == 0 || yes == group;
                bool right = true;
                if (mode == VoteMode::ballot) {
                  right = warp.get32(0, lane) == (bit(active, lane) ? yes : before.get32(0, lane));
                } else {
                  right =
                      bit(warp.predicates[0], lane) == (bit(active, lane) ? decision : bit(0x0f0f0f0f, lane));
                }
                if (!right) FAIL("vote mode " << static_cast<int>(mode) << " lane " << lane);
              }
            }
          }
        }
      }
    }
  }
  SUCCEED();
}

TEST_CASE("warp: match.any and match.all on 32 and 64 bits", "[exec][lane]") {
  using ptx::MatchMode;
  for (const LaneVariant variant : variants()) {
    for (const unsigned bits : {32u, 64u}) {
      for (const uint64_t values :
           {uint64_t{1}, uint64_t{2}, uint64_t{5}, uint64_t{32}}) {  // distinct values
        for (const MatchMode mode : {MatchMode::any, MatchMode::all}) {
          for (const bool split : {false, true}) {
            for (const uint32_t active : kActive) {
              // 64-bit values differ in the upper word only: comparing low words would find them equal.
              const auto value = [&](int lane) {
                return (static_cast<uint64_t>(lane) % values) << (bits == 64 ? 40 : 0);
              };
              Warp warp;
              if (bits == 64) warp.set64(4, value);
              if (bits == 32) warp.set32(4, [&](int lane) { return static_cast<uint32_t>(value(lane)); });
              warp.set32(8, [&](int lane) { return members(split, active, lane); });
              Op op = make_op(Opcode::match, bits == 64 ? Type::b64 : Type::b32,
                              [&](Modifiers& m) { m.match = mode; });
              op.dst = {reg(0), mode == MatchMode::all ? predicate(0) : Slot{}};
              op.src = {reg(4, bits), reg(8)};
              const Warp before = warp;
              select_lane_op(op, variant)(op, warp.frame(), active);
              bool right = true;
              for (int lane = 0; lane < 32; ++lane) {
                if (!bit(active, lane)) {
                  right =
                      right && warp.get32(0, lane) == before.get32(0, lane) && !bit(warp.predicates[0], lane);
                  continue;
                }
                const uint32_t group = members(split, active, lane);
                uint32_t equal = 0;
                for (int other = 0; other < 32; ++other)
                  equal |= static_cast<uint32_t>(bit(group, other) && value(other) == value(lane)) << other;
                const bool all = equal == group;
                right = right && warp.get32(0, lane) == (mode == MatchMode::any ? equal : all ? group : 0);
                if (mode == MatchMode::all) right = right && bit(warp.predicates[0], lane) == all;
              }
              CHECK(right);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("warp: redux", "[exec][lane]") {
  using ptx::AtomicOp;
  struct Form {
    AtomicOp op;
    Type type;
    std::function<uint32_t(uint32_t, uint32_t)> combine;
  };
  const auto as_signed = [](uint32_t x) { return static_cast<int32_t>(x); };
  const Form forms[] = {
      {AtomicOp::add, Type::s32, [](uint32_t a, uint32_t b) { return a + b; }},
      {AtomicOp::add, Type::u32, [](uint32_t a, uint32_t b) { return a + b; }},
      {AtomicOp::min, Type::u32, [](uint32_t a, uint32_t b) { return std::min(a, b); }},
      {AtomicOp::max, Type::u32, [](uint32_t a, uint32_t b) { return std::max(a, b); }},
      {AtomicOp::min, Type::s32, [=](uint32_t a, uint32_t b) { return as_signed(a) < as_signed(b) ? a : b; }},
      {AtomicOp::max, Type::s32, [=](uint32_t a, uint32_t b) { return as_signed(a) > as_signed(b) ? a : b; }},
      {AtomicOp::and_op, Type::b32, [](uint32_t a, uint32_t b) { return a & b; }},
      {AtomicOp::or_op, Type::b32, [](uint32_t a, uint32_t b) { return a | b; }},
      {AtomicOp::xor_op, Type::b32, [](uint32_t a, uint32_t b) { return a ^ b; }}};
  std::mt19937 generator(17);
  for (const LaneVariant variant : variants()) {
    for (const Form& form : forms) {
      for (const bool split : {false, true}) {
        for (const uint32_t active : kActive) {
          Warp warp;
          warp.set32(4, [&](int) { return static_cast<uint32_t>(generator()); });
          warp.set32(5, [&](int lane) { return members(split, active, lane); });
          Op op = make_op(Opcode::redux, form.type, [&](Modifiers& m) { m.atomic = form.op; });
          op.dst[0] = reg(0);
          op.src = {reg(4), reg(5)};
          const Warp before = warp;
          select_lane_op(op, variant)(op, warp.frame(), active);
          bool right = true;
          for (int lane = 0; lane < 32; ++lane) {
            if (!bit(active, lane)) {
              right = right && warp.get32(0, lane) == before.get32(0, lane);
              continue;
            }
            uint32_t total = before.get32(4, lane);
            for (int other = 0; other < 32; ++other)
              if (other != lane && bit(members(split, active, lane), other))
                total = form.combine(total, before.get32(4, other));
            right = right && warp.get32(0, lane) == total;
          }
          CHECK(right);
        }
      }
    }
  }
}

TEST_CASE("warp: activemask, and elect names one leader of each group", "[exec][lane]") {
  for (const LaneVariant variant : variants()) {
    for (const uint32_t active : kActive) {
      Warp warp;
      Op mask = make_op(Opcode::activemask, Type::b32);
      mask.dst[0] = reg(0);
      select_lane_op(mask, variant)(mask, warp.frame(), active);
      for (int lane = 0; lane < 32; ++lane)
        CHECK(warp.get32(0, lane) == (bit(active, lane) ? active : 0xdeadbeefu));
      for (const bool split : {false, true}) {
        for (const bool wants_lane : {false, true}) {
          warp.set32(4, [&](int lane) { return members(split, active, lane); });
          warp.set32(1, [](int) { return 77u; });
          warp.predicates[0] = 0xffffffffu;
          Op op = make_op(Opcode::elect, Type::none);
          op.dst = {wants_lane ? reg(1) : sink(), predicate(0)};
          op.src[0] = reg(4);
          select_lane_op(op, variant)(op, warp.frame(), active);
          for (int lane = 0; lane < 32; ++lane) {
            const uint32_t group = members(split, active, lane);
            const int leader = bit(active, lane) ? __builtin_ctz(group) : -1;
            CHECK(bit(warp.predicates[0], lane) == (bit(active, lane) ? lane == leader : true));
            const uint32_t expected = wants_lane && bit(active, lane) ? static_cast<uint32_t>(leader) : 77u;
            CHECK(warp.get32(1, lane) == expected);
          }
        }
      }
    }
  }
}

}  // namespace ptxwire::sim::lane_test
