// Bit-field instructions, logic, shifts, permutes and moves against the pseudo-code of the ISA.
#include <catch2/catch.hpp>

#include "tests/sim/exec/lane_bench.hpp"

namespace ptxwire::sim::lane_test {
namespace {

using ptx::Modifiers;
using ptx::ShiftMode;

bool bit(uint64_t value, int64_t index) { return (value >> index & 1) != 0; }
uint64_t low_bits(unsigned bits) { return bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }

const std::vector<uint64_t> kAmounts = {0,  1,  5,  15,  16,  17,  31,          32,         33,
                                        63, 64, 65, 127, 255, 256, 0x80000000u, 0xffffffffu};

}  // namespace

TEST_CASE("bits: popc, clz, brev, bfind", "[exec][lane]") {
  for (const unsigned bits : {32u, 64u}) {
    std::vector<uint64_t> values = integer_corners(bits);
    for (unsigned i = 0; i < bits; ++i) values.push_back(uint64_t{1} << i);
    for (unsigned i = 0; i < bits; ++i) values.push_back(low_bits(bits) << i & low_bits(bits));
    const auto cases = combine({values});
    const Type b = bits == 64 ? Type::b64 : Type::b32;
    check("popc", make_op(Opcode::popc, b), {32, {bits}}, cases, [=](const Operands& x) {
      uint64_t count = 0;
      for (unsigned i = 0; i < bits; ++i) count += bit(x[0], i);
      return count;
    });
    check("clz", make_op(Opcode::clz, b), {32, {bits}}, cases, [=](const Operands& x) {
      uint64_t count = 0;
      while (count < bits && !bit(x[0], static_cast<int64_t>(bits - 1 - count))) ++count;
      return count;
    });
    check("brev", make_op(Opcode::brev, b), {bits, {bits}}, cases, [=](const Operands& x) {
      uint64_t reversed = 0;
      for (unsigned i = 0; i < bits; ++i) reversed |= uint64_t{bit(x[0], i)} << (bits - 1 - i);
      return reversed;
    });
    for (const bool is_signed : {false, true}) {
      for (const bool shift_amount : {false, true}) {
        const Type type =
            bits == 64 ? (is_signed ? Type::s64 : Type::u64) : (is_signed ? Type::s32 : Type::u32);
        check("bfind", make_op(Opcode::bfind, type, [&](Modifiers& m) { m.shift_amount = shift_amount; }),
              {32, {bits}}, cases, [=](const Operands& x) -> uint64_t {
                const bool sign = is_signed && bit(x[0], bits - 1);
                for (int64_t i = bits - 1; i >= 0; --i) {
                  if (bit(x[0], i) != sign) return static_cast<uint64_t>(shift_amount ? bits - 1 - i : i);
                }
                return 0xffffffffu;
              });
      }
    }
  }
}

TEST_CASE("bits: bfe and bfi, positions and lengths beyond the register", "[exec][lane]") {
  for (const unsigned bits : {32u, 64u}) {
    for (const bool is_signed : {false, true}) {
      const Type type =
          bits == 64 ? (is_signed ? Type::s64 : Type::u64) : (is_signed ? Type::s32 : Type::u32);
      check("bfe", make_op(Opcode::bfe, type), {bits, {bits, 32, 32}},
            combine({integer_corners(bits), kAmounts, kAmounts}), [=](const Operands& x) {
              const int64_t msb = bits - 1;
              const int64_t pos = x[1] & 0xff, len = x[2] & 0xff;
              const bool sign = is_signed && len != 0 && bit(x[0], std::min(pos + len - 1, msb));
              uint64_t result = 0;
              for (int64_t i = 0; i <= msb; ++i)
                result |= uint64_t{i < len && pos + i <= msb ? bit(x[0], pos + i) : sign} << i;
              return result;
            });
    }
    const Type b = bits == 64 ? Type::b64 : Type::b32;
    const std::vector<uint64_t> values = {0, low_bits(bits), 0x123456789abcdef5u & low_bits(bits)};
    check("bfi", make_op(Opcode::bfi, b), {bits, {bits, bits, 32, 32}},
          combine({values, values, kAmounts, kAmounts}), [=](const Operands& x) {
            uint64_t result = x[1];
            const int64_t pos = x[2] & 0xff, len = x[3] & 0xff;
            for (int64_t i = 0; i < len && pos + i < bits; ++i)
              result = (result & ~(uint64_t{1} << (pos + i))) | uint64_t{bit(x[0], i)} << (pos + i);
            return result;
          });
  }
}

TEST_CASE("bits: fns finds the n-th set bit in both directions", "[exec][lane]") {
  std::vector<uint64_t> bases, offsets;
  for (uint64_t i = 0; i < 32; ++i) bases.push_back(i);
  for (int i = -33; i <= 33; ++i) offsets.push_back(static_cast<uint32_t>(i));
  offsets.push_back(0x80000000u);
  check("fns", make_op(Opcode::fns, Type::b32), {32, {32, 32, 32}},
        combine({{0, 0xaaaaaaaau, 0xffffffffu, 1, 0x80000001u, 0x00ff0f00u}, bases, offsets}, 0),
        [](const Operands& x) -> uint64_t {
          const int64_t offset = static_cast<int32_t>(x[2]);
          if (offset == 0) return bit(x[0], static_cast<int64_t>(x[1])) ? x[1] : 0xffffffffu;
          int64_t count = std::abs(offset) - 1;
          for (int64_t pos = static_cast<int64_t>(x[1]); pos >= 0 && pos<32; pos += offset> 0 ? 1 : -1) {
            if (bit(x[0], pos) && count-- == 0) return static_cast<uint64_t>(pos);
          }
          return 0xffffffffu;
        });
}

TEST_CASE("bits: bmsk and szext", "[exec][lane]") {
  for (const bool clamp : {false, true}) {
    const auto mode = [&](Modifiers& m) { m.shift = clamp ? ShiftMode::clamp : ShiftMode::wrap; };
    check("bmsk", make_op(Opcode::bmsk, Type::b32, mode), {32, {32, 32}}, combine({kAmounts, kAmounts}),
          [=](const Operands& x) {
            const uint64_t pos = clamp ? x[0] : x[0] & 31,
                           width = clamp ? std::min<uint64_t>(x[1], 32) : x[1] & 31;
            uint64_t result = 0;
            for (uint64_t i = pos; i < 32 && i < pos + width; ++i) result |= uint64_t{1} << i;
            return result;
          });
    for (const Type type : {Type::u32, Type::s32}) {
      check("szext", make_op(Opcode::szext, type, mode), {32, {32, 32}},
            combine({integer_corners(32), kAmounts}), [=](const Operands& x) -> uint64_t {
              if (clamp && x[1] >= 32) return x[0];
              const uint64_t n = x[1] & 31;
              if (n == 0) return 0;
              uint64_t result = 0;
              for (uint64_t i = 0; i < 32; ++i) {
                const bool above = type == Type::s32 && bit(x[0], static_cast<int64_t>(n - 1));
                result |= uint64_t{i < n ? bit(x[0], static_cast<int64_t>(i)) : above} << i;
              }
              return result;
            });
    }
  }
}

TEST_CASE("bits: dp4a and dp2a", "[exec][lane]") {
  const auto part = [](uint64_t word, unsigned width, int index, bool is_signed) {
    const int64_t value =
        static_cast<int64_t>(word >> (width * static_cast<unsigned>(index)) & low_bits(width));
    return is_signed && bit(static_cast<uint64_t>(value), width - 1) ? value - (int64_t{1} << width) : value;
  };
  const auto corners = integer_corners(32);
  const std::vector<uint64_t> accumulators = {0, 1, 0x7fffffff, 0xffffffff};
  for (const bool a_signed : {false, true}) {
    for (const bool b_signed : {false, true}) {
      const auto types = [&](Modifiers& m) { m.source_type = b_signed ? Type::s32 : Type::u32; };
      const Type type = a_signed ? Type::s32 : Type::u32;
      check("dp4a", make_op(Opcode::dp4a, type, types), {32, {32, 32, 32}},
            combine({corners, corners, accumulators}), [=](const Operands& x) {
              int64_t sum = static_cast<int64_t>(x[2]);
              for (int i = 0; i < 4; ++i) sum += part(x[0], 8, i, a_signed) * part(x[1], 8, i, b_signed);
              return static_cast<uint64_t>(sum) & 0xffffffffu;
            });
      for (const int select : {0, 2}) {
        const auto half = [&](Modifiers& m) {
          types(m);
          m.half = select == 0 ? ptx::HalfSelect::lo : ptx::HalfSelect::hi;
        };
        check("dp2a", make_op(Opcode::dp2a, type, half), {32, {32, 32, 32}},
              combine({corners, corners, accumulators}), [=](const Operands& x) {
                int64_t sum = static_cast<int64_t>(x[2]);
                for (int i = 0; i < 2; ++i)
                  sum += part(x[0], 16, i, a_signed) * part(x[1], 8, select + i, b_signed);
                return static_cast<uint64_t>(sum) & 0xffffffffu;
              });
      }
    }
  }
}

TEST_CASE("bits: logic on every width and on predicates", "[exec][lane]") {
  const std::pair<Type, unsigned> widths[] = {
      {Type::pred, 1}, {Type::b16, 16}, {Type::b32, 32}, {Type::b64, 64}};
  for (const auto& [type, bits] : widths) {
    const auto corners = bits == 1 ? std::vector<uint64_t>{0, 1} : integer_corners(bits);
    const auto cases = combine({corners, corners}, 500);
    const uint64_t mask = low_bits(bits);
    check("and", make_op(Opcode::and_op, type), {bits, {bits, bits}}, cases,
          [](const Operands& x) { return x[0] & x[1]; });
    check("or", make_op(Opcode::or_op, type), {bits, {bits, bits}}, cases,
          [](const Operands& x) { return x[0] | x[1]; });
    check("xor", make_op(Opcode::xor_op, type), {bits, {bits, bits}}, cases,
          [](const Operands& x) { return x[0] ^ x[1]; });
    check("not", make_op(Opcode::not_op, type), {bits, {bits}}, cases,
          [=](const Operands& x) { return ~x[0] & mask; });
    check("mov", make_op(Opcode::mov, type), {bits, {bits}}, cases, [](const Operands& x) { return x[0]; });
    if (bits == 1) continue;
    check("cnot", make_op(Opcode::cnot, type), {bits, {bits}}, cases,
          [](const Operands& x) { return uint64_t{x[0] == 0}; });
    check("selp", make_op(Opcode::selp, type), {bits, {bits, bits, 1}}, combine({corners, corners, {0, 1}}),
          [](const Operands& x) { return x[2] != 0 ? x[0] : x[1]; });
  }
}

TEST_CASE("bits: shifts clamp their amount at the width", "[exec][lane]") {
  const std::pair<Type, unsigned> widths[] = {{Type::b16, 16}, {Type::b32, 32}, {Type::b64, 64}};
  for (const auto& [type, bits_of] : widths) {
    const unsigned bits = bits_of;
    const auto cases = combine({integer_corners(bits), kAmounts});
    check("shl", make_op(Opcode::shl, type), {bits, {bits, 32}}, cases,
          [=](const Operands& x) { return x[1] >= bits ? 0 : x[0] << x[1] & low_bits(bits); });
  }
  const std::pair<Type, unsigned> typed[] = {{Type::u16, 16}, {Type::s16, 16}, {Type::u32, 32},
                                             {Type::s32, 32}, {Type::u64, 64}, {Type::s64, 64},
                                             {Type::b16, 16}, {Type::b64, 64}};
  for (const auto& [type, bits_of] : typed) {
    const unsigned bits = bits_of;
    const bool is_signed = ptx::is_signed_integer(type);
    check("shr", make_op(Opcode::shr, type), {bits, {bits, 32}}, combine({integer_corners(bits), kAmounts}),
          [=](const Operands& x) {
            const bool fill = is_signed && bit(x[0], bits - 1);
            uint64_t result = 0;
            for (uint64_t i = 0; i < bits; ++i)
              result |= uint64_t{i + x[1] < bits ? bit(x[0], static_cast<int64_t>(i + x[1])) : fill} << i;
            return result;
          });
  }
}

TEST_CASE("bits: shf concatenates and shifts, wrapping or clamping", "[exec][lane]") {
  for (const bool left : {false, true}) {
    for (const bool wrap : {false, true}) {
      const auto mode = [&](Modifiers& m) {
        m.left = left;
        m.shift = wrap ? ShiftMode::wrap : ShiftMode::clamp;
      };
      const auto corners = integer_corners(32);
      check("shf", make_op(Opcode::shf, Type::b32, mode), {32, {32, 32, 32}},
            combine({corners, corners, kAmounts}), [=](const Operands& x) -> uint64_t {
              const uint64_t n = wrap ? x[2] & 31 : std::min<uint64_t>(x[2], 32);
              // ISA: shf.l: (b << n) | (a >> (32-n)); shf.r: (b << (32-n)) | (a >> n)
              if (left) return (x[1] << n | x[0] >> (32 - n)) & 0xffffffffu;
              return (x[1] << (32 - n) | x[0] >> n) & 0xffffffffu;
            });
    }
  }
}

TEST_CASE("bits: lop3 computes every table, and its predicate", "[exec][lane]") {
  for (const LaneVariant variant : variants()) {
    for (uint32_t table = 0; table < 256; ++table) {
      Warp warp;
      const uint32_t a = 0xf0f0aa55, b = 0xcc33cc0f, c = 0xaa5a0ff0;
      warp.set32(4, [&](int lane) { return a * static_cast<uint32_t>(lane + 1); });
      warp.set32(5, [&](int lane) { return b + static_cast<uint32_t>(lane); });
      warp.set32(6, [&](int) { return c; });
      for (int i = 0; i < 32; ++i) warp.constants32[static_cast<size_t>(i)] = table;
      warp.predicates[1] = 0x00ff00ff;
      Op op = make_op(Opcode::lop3, Type::b32, [](Modifiers& m) { m.bool_op = ptx::BoolOp::and_op; });
      op.dst[0] = reg(0);
      op.dst[1] = predicate(0);
      op.src = {reg(4), reg(5), reg(6), constant(0), predicate(1)};
      select_lane_op(op, variant)(op, warp.frame(), 0xffffffffu);
      bool right = true;
      for (int lane = 0; lane < 32; ++lane) {
        uint32_t expected = 0;
        for (int i = 0; i < 32; ++i) {
          const uint32_t index = uint32_t{bit(warp.get32(4, lane), i)} << 2 |
                                 uint32_t{bit(warp.get32(5, lane), i)} << 1 |
                                 uint32_t{bit(warp.get32(6, lane), i)};
          expected |= (table >> index & 1) << i;
        }
        right = right && warp.get32(0, lane) == expected;
        right = right && bit(warp.predicates[0], lane) == (expected != 0 && bit(0x00ff00ff, lane));
      }
      CHECK(right);
    }
  }
}

TEST_CASE("bits: prmt, generic and the six modes", "[exec][lane]") {
  const auto byte_of = [](const Operands& x, uint64_t index) {
    return (index < 4 ? x[0] >> (8 * index) : x[1] >> (8 * (index - 4))) & 0xff;
  };
  const auto corners = std::vector<uint64_t>{0x03020100, 0x87868584, 0xff007f80, 0xdeadbeef};
  const auto generic = [&](const Operands& x) {
    uint64_t result = 0;
    for (unsigned i = 0; i < 4; ++i) {
      const uint64_t control = x[2] >> (4 * i) & 0xf;
      const uint64_t byte = byte_of(x, control & 7);
      result |= ((control & 8) != 0 ? (byte >= 0x80 ? 0xff : 0) : byte) << (8 * i);
    }
    return result;
  };
  check("prmt", make_op(Opcode::prmt, Type::b32), {32, {32, 32, 32}},
        combine({corners, corners, {0x3210, 0x0123, 0x7654, 0xfedc, 0xba98, 0x5410, 0x12345678}}), generic);
  // Rows of the ISA's table: sources of d.b3, b2, b1, b0 for c[1:0] = 0, 1, 2, 3.
  const uint64_t table[6][4][4] = {
      {{3, 2, 1, 0}, {4, 3, 2, 1}, {5, 4, 3, 2}, {6, 5, 4, 3}},  // f4e
      {{5, 6, 7, 0}, {6, 7, 0, 1}, {7, 0, 1, 2}, {0, 1, 2, 3}},  // b4e
      {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}},  // rc8
      {{3, 2, 1, 0}, {3, 2, 1, 1}, {3, 2, 2, 2}, {3, 3, 3, 3}},  // ecl
      {{0, 0, 0, 0}, {1, 1, 1, 0}, {2, 2, 1, 0}, {3, 2, 1, 0}},  // ecr
      {{1, 0, 1, 0}, {3, 2, 3, 2}, {1, 0, 1, 0}, {3, 2, 3, 2}},  // rc16
  };
  for (int mode = 0; mode < 6; ++mode) {
    const Op op = make_op(Opcode::prmt, Type::b32,
                          [&](Modifiers& m) { m.prmt = static_cast<ptx::PrmtMode>(mode + 1); });
    check("prmt mode", op, {32, {32, 32, 32}}, combine({corners, corners, {0, 1, 2, 3, 7}}),
          [&](const Operands& x) {
            const uint64_t* row = table[mode][x[2] & 3];
            return byte_of(x, row[0]) << 24 | byte_of(x, row[1]) << 16 | byte_of(x, row[2]) << 8 |
                   byte_of(x, row[3]);
          });
  }
  for (const uint32_t control :
       {0x0123u, 0x5410u, 0x7632u, 0xc84fu}) {  // constant controls have a path of their own
    for (const LaneVariant variant : variants()) {
      Warp warp;
      warp.set32(4, [](int lane) { return 0x80402010u * static_cast<uint32_t>(lane + 1); });
      warp.set32(5, [](int lane) { return 0x01fe8107u + static_cast<uint32_t>(lane); });
      for (int i = 0; i < 32; ++i) warp.constants32[static_cast<size_t>(i)] = control;
      Op op = make_op(Opcode::prmt, Type::b32);
      op.dst[0] = reg(0);
      op.src = {reg(4), reg(5), constant(0)};
      select_lane_op(op, variant)(op, warp.frame(), 0xffffffffu);
      for (int lane = 0; lane < 32; ++lane)
        CHECK(warp.get32(0, lane) == generic({warp.get32(4, lane), warp.get32(5, lane), control, 0}));
    }
  }
}

TEST_CASE("bits: slct selects by sign; -0 and flushed subnormals count as zero", "[exec][lane]") {
  for (const unsigned bits : {16u, 32u, 64u}) {
    const Type type = bits == 16 ? Type::b16 : bits == 32 ? Type::f32 : Type::u64;
    const std::vector<uint64_t> values = {1, 2};
    check("slct.s32", make_op(Opcode::slct, type, [](Modifiers& m) { m.source_type = Type::s32; }),
          {bits, {bits, bits, 32}}, combine({values, values, integer_corners(32)}),
          [](const Operands& x) { return (x[2] & 0x80000000u) == 0 ? x[0] : x[1]; });
    const std::vector<uint64_t> floats = {0,           0x80000000u, 0x3f800000u, 0xbf800000u, 1,
                                          0x80000001u, 0x807fffffu, 0x80800000u, 0x7f800000u, 0xff800000u,
                                          0x7fc00000u, 0xffc00000u, 0x7f800001u};
    for (const bool flush : {false, true}) {
      const auto modifiers = [&](Modifiers& m) {
        m.source_type = Type::f32;
        m.ftz = flush;
      };
      check("slct.f32", make_op(Opcode::slct, type, modifiers), {bits, {bits, bits, 32}},
            combine({values, values, floats}), [=](const Operands& x) {
              const uint64_t magnitude = x[2] & 0x7fffffffu;
              const bool negative = (x[2] & 0x80000000u) != 0;
              const bool nan = magnitude > 0x7f800000u;
              const bool zero = magnitude == 0 || (flush && magnitude < 0x00800000u);
              return !nan && (!negative || zero) ? x[0] : x[1];
            });
    }
  }
}

TEST_CASE("bits: mov packs and unpacks from the low end, also onto its own registers", "[exec][lane]") {
  struct Form {
    Type type;
    unsigned whole, part;
  };
  for (const Form& form : {Form{Type::b16, 16, 8}, Form{Type::b32, 32, 16}, Form{Type::b32, 32, 8},
                           Form{Type::b64, 64, 32}, Form{Type::b64, 64, 16}}) {
    const size_t parts = form.whole / form.part;
    check("mov pack", make_op(Opcode::mov_pack, form.type),
          {form.whole, std::vector<unsigned>(parts, form.part)}, combine({}, 640), [&](const Operands& x) {
            uint64_t whole = 0;
            for (size_t i = 0; i < parts; ++i) whole |= (x[i] & low_bits(form.part)) << (form.part * i);
            return whole;
          });
    for (const LaneVariant variant : variants()) {
      Warp warp;
      std::mt19937_64 generator(11);
      std::array<uint64_t, 32> values;
      for (auto& value : values) value = generator() & low_bits(form.whole);
      const auto value = [&](int lane) { return values[static_cast<size_t>(lane)]; };
      if (form.whole == 64) warp.set64(4, value);
      if (form.whole < 64) warp.set32(4, [&](int lane) { return static_cast<uint32_t>(value(lane)); });
      Op op = make_op(Opcode::mov_unpack, form.type);
      op.src[0] = reg(4, form.whole);
      for (size_t i = 0; i < parts; ++i)
        op.dst[i] = reg(static_cast<int>(4 + i), form.part);  // overlaps the source
      op.dst[1] = sink();
      select_lane_op(op, variant)(op, warp.frame(), 0xffffffffu);
      for (size_t i = 0; i < parts; ++i) {
        if (i == 1) continue;
        for (int lane = 0; lane < 32; ++lane)
          CHECK(warp.get32(static_cast<int>(4 + i), lane) ==
                (value(lane) >> (form.part * i) & low_bits(form.part)));
      }
    }
  }
}

TEST_CASE("bits: 128-bit moves, packs and unpacks", "[exec][lane]") {
  for (const LaneVariant variant : variants()) {
    Warp warp;
    warp.set64(4, [](int lane) { return 0x1111111111111111u * static_cast<uint64_t>(lane); });
    warp.set64(6, [](int lane) { return ~static_cast<uint64_t>(lane); });
    const Warp before = warp;
    Op pack = make_op(Opcode::mov_pack, Type::b128);
    pack.dst[0] = reg(8, 128);
    pack.src = {reg(6, 64), reg(4, 64)};
    select_lane_op(pack, variant)(pack, warp.frame(), 0xffff0000u);
    Op move = make_op(Opcode::mov, Type::b128);
    move.dst[0] = reg(10, 128);  // overlaps its source by two rows
    move.src[0] = reg(8, 128);
    const Warp packed = warp;
    select_lane_op(move, variant)(move, warp.frame(), 0xffffffffu);
    Op unpack = make_op(Opcode::mov_unpack, Type::b128);
    unpack.dst = {reg(12, 64), reg(10, 64)};  // swapped onto its own rows
    unpack.src[0] = reg(10, 128);
    select_lane_op(unpack, variant)(unpack, warp.frame(), 0xffffffffu);
    for (int lane = 0; lane < 32; ++lane) {
      const uint64_t filler = 0xdeadbeefdeadbeefu;
      CHECK(packed.get64(8, lane) == (lane < 16 ? filler : before.get64(6, lane)));
      CHECK(packed.get64(10, lane) == (lane < 16 ? filler : before.get64(4, lane)));
      CHECK(warp.get64(12, lane) == packed.get64(8, lane));
      CHECK(warp.get64(10, lane) == packed.get64(10, lane));
    }
  }
}

TEST_CASE("bits: createpolicy makes the policies that libraries write as literals", "[exec][lane]") {
  const std::pair<ptx::EvictPriority, uint64_t> literals[] = {
      {ptx::EvictPriority::evict_first, 0x12f0000000000000u},
      {ptx::EvictPriority::evict_last, 0x14f0000000000000u},
      {ptx::EvictPriority::evict_normal, 0x10f0000000000000u}};
  for (const auto& [priority, literal] : literals) {
    Warp warp;
    Op op = make_op(Opcode::createpolicy, Type::b64);
    op.modifiers.l2 = priority;
    op.dst[0] = reg(0, 64);
    op.src[0] = reg(4);
    warp.set32(4, [](int lane) { return lane == 3 ? 0x3f000000u : 0x3f800000u; });  // 0.5 in lane 3, else 1.0
    select_lane_op(op)(op, warp.frame(), 0xffffffffu);
    CHECK(warp.get64(0, 0) == literal);
    CHECK(warp.get64(0, 3) == (literal & ~(uint64_t{0x8} << 52)));
  }
}

TEST_CASE("bits: an op whose result nobody wants does nothing, a foreign op has no lane semantics",
          "[exec][lane]") {
  Warp warp;
  const Warp before = warp;
  Op op = make_op(Opcode::add, Type::s32);
  op.dst[0] = sink();
  op.src = {reg(4), reg(5)};
  REQUIRE(select_lane_op(op) != nullptr);
  select_lane_op(op)(op, warp.frame(), 0xffffffffu);
  CHECK(warp.rows == before.rows);
  CHECK(select_lane_op(make_op(Opcode::ld, Type::u32)) == nullptr);
  CHECK(select_lane_op(make_op(Opcode::add, Type::f32x2)) == nullptr);
  CHECK(select_lane_op(make_op(Opcode::invalid, Type::none)) == nullptr);
}

}  // namespace ptxwire::sim::lane_test
