#include "tests/sim/exec/lane_bench.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace ptxwire::sim::lane_test {
namespace {

constexpr int kRows = 32;
constexpr uint32_t kFiller = 0xdeadbeef;
constexpr uint32_t kSomeLanes = 0x5a0f33c1;
constexpr int kSourceRow[4] = {4, 8, 12, 16};

uint64_t mask_of(unsigned bits) { return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }

uint64_t read(const Warp& warp, Slot slot, unsigned bits, int lane) {
  if (bits == 1) return warp.predicates[slot.index] >> lane & 1;
  return (bits == 64 ? warp.get64(slot.index, lane) : warp.get32(slot.index, lane)) & mask_of(bits);
}

void write(Warp& warp, Slot slot, unsigned bits, int lane, uint64_t value) {
  if (bits == 1) {
    uint32_t& word = warp.predicates[slot.index];
    word = (word & ~(1u << lane)) | static_cast<uint32_t>(value & 1) << lane;
  } else if (bits == 64) {
    std::memcpy(&warp.rows[static_cast<size_t>(32 * slot.index + 2 * lane)], &value, 8);
  } else {
    // Bits above a narrow value are unspecified: whatever they hold must not matter.
    const uint32_t above = bits < 32 ? kFiller << bits : 0;
    warp.rows[static_cast<size_t>(32 * slot.index + lane)] =
        static_cast<uint32_t>(value & mask_of(bits)) | above;
  }
}

std::string describe(const std::string& name, const Operands& operands, size_t count, uint64_t got,
                     uint64_t want) {
  std::ostringstream text;
  text << name << std::hex;
  for (size_t i = 0; i < count; ++i) text << (i == 0 ? "(0x" : ", 0x") << operands[i];
  text << ") = 0x" << got << ", expected 0x" << want;
  return text.str();
}

struct Batch {
  const std::string& name;
  const Widths& widths;
  const Operands* cases;
  std::vector<uint64_t> expected;
};

/// One warp of cases with the given lanes active; returns the first complaint or nothing.
std::string run_batch(const Op& op, LaneOp lane_op, const Batch& batch, uint32_t active) {
  Warp warp;
  const Slot destination = op.dst[0];
  for (int lane = 0; lane < 32; ++lane) write(warp, destination, batch.widths.destination, lane, kFiller);
  for (size_t s = 0; s < batch.widths.sources.size(); ++s) {
    for (int lane = 0; lane < 32; ++lane)
      write(warp, op.src[s], batch.widths.sources[s], lane, batch.cases[lane][s]);
  }
  const Warp before = warp;
  lane_op(op, warp.frame(), active);
  for (int lane = 0; lane < 32; ++lane) {
    const bool is_active = (active >> lane & 1) != 0;
    const unsigned bits = batch.widths.destination;
    const uint64_t got = read(warp, destination, bits, lane);
    const uint64_t want =
        is_active ? batch.expected[static_cast<size_t>(lane)] : read(before, destination, bits, lane);
    if (got != want) {
      const std::string where = is_active ? batch.name : batch.name + ", inactive lane";
      return describe(where, batch.cases[lane], batch.widths.sources.size(), got, want);
    }
  }
  return {};
}

}  // namespace

Slot reg(int row, unsigned bits) {
  Slot slot;
  slot.kind = Slot::Kind::reg;
  slot.index = static_cast<uint16_t>(row);
  slot.rows = bits > 64 ? 4 : bits > 32 ? 2 : 1;
  return slot;
}
Slot predicate(int index, bool negated) {
  Slot slot;
  slot.kind = Slot::Kind::predicate;
  slot.index = static_cast<uint16_t>(index);
  slot.negated = negated;
  return slot;
}
Slot constant(int index) {
  Slot slot;
  slot.kind = Slot::Kind::constant;
  slot.index = static_cast<uint16_t>(index);
  return slot;
}
Slot sink() {
  Slot slot;
  slot.kind = Slot::Kind::sink;
  return slot;
}

Warp::Warp() : rows(32 * kRows, kFiller), predicates(16, 0), constants32(32 * 8, 0), constants64(32 * 8, 0) {}
LaneFrame Warp::frame() {
  return {rows.data(), predicates.data(), constants32.data(), constants64.data(), &carry};
}
void Warp::set32(int row, const std::function<uint32_t(int)>& value) {
  for (int lane = 0; lane < 32; ++lane) rows[static_cast<size_t>(32 * row + lane)] = value(lane);
}
void Warp::set64(int row, const std::function<uint64_t(int)>& value) {
  for (int lane = 0; lane < 32; ++lane) {
    const uint64_t bits = value(lane);
    std::memcpy(&rows[static_cast<size_t>(32 * row + 2 * lane)], &bits, 8);
  }
}
uint64_t Warp::get64(int row, int lane) const {
  uint64_t bits;
  std::memcpy(&bits, &rows[static_cast<size_t>(32 * row + 2 * lane)], 8);
  return bits;
}

std::vector<LaneVariant> variants() {
  std::vector<LaneVariant> found{LaneVariant::baseline};
  if (lane_variant_available(LaneVariant::avx2)) found.push_back(LaneVariant::avx2);
  return found;
}

Op make_op(Opcode opcode, Type type, const std::function<void(ptx::Modifiers&)>& adjust) {
  Op op;
  op.opcode = opcode;
  op.modifiers.type = type;
  if (adjust) adjust(op.modifiers);
  return op;
}

void check(const std::string& name, Op op, const Widths& widths, const std::vector<Operands>& cases,
           const Reference& reference) {
  op.dst[0] = widths.destination == 1 ? predicate(0) : reg(0, widths.destination);
  for (size_t s = 0; s < widths.sources.size(); ++s) {
    op.src[s] =
        widths.sources[s] == 1 ? predicate(static_cast<int>(1 + s)) : reg(kSourceRow[s], widths.sources[s]);
  }
  std::vector<Operands> padded = cases;
  while (padded.size() % 32 != 0) padded.push_back(cases[padded.size() % cases.size()]);
  for (Operands& operands : padded) {
    for (size_t s = 0; s < widths.sources.size(); ++s) operands[s] &= mask_of(widths.sources[s]);
  }
  std::string complaint;
  for (size_t first = 0; first < padded.size() && complaint.empty(); first += 32) {
    Batch batch{name, widths, &padded[first], {}};
    for (size_t lane = 0; lane < 32; ++lane) batch.expected.push_back(reference(padded[first + lane]));
    for (const LaneVariant variant : variants()) {
      const LaneOp lane_op = select_lane_op(op, variant);
      if (lane_op == nullptr) FAIL(name << ": no semantics");
      for (const uint32_t active : {0xffffffffu, kSomeLanes}) {
        if (complaint.empty()) complaint = run_batch(op, lane_op, batch, active);
      }
      if (complaint.empty() && widths.destination != 1 && !widths.sources.empty() && widths.sources[0] > 1) {
        Op in_place = op;  // the destination takes the register of the first source, also where one is wider
        in_place.dst[0] = reg(kSourceRow[0], widths.destination);
        complaint = run_batch(in_place, lane_op, batch, 0xffffffffu);
      }
    }
  }
  INFO(complaint);
  CHECK(complaint.empty());
}

std::vector<Operands> combine(const std::vector<std::vector<uint64_t>>& corners, size_t random) {
  std::vector<Operands> cases{Operands{}};
  for (size_t position = 0; position < corners.size(); ++position) {
    std::vector<Operands> longer;
    longer.reserve(cases.size() * corners[position].size());
    for (const Operands& partial : cases) {
      for (const uint64_t value : corners[position]) {
        Operands extended = partial;
        extended[position] = value;
        longer.push_back(extended);
      }
    }
    cases = std::move(longer);
  }
  std::mt19937_64 generator(20240229);
  const bool small = std::getenv("PTXWIRE_TEST_SMALL") != nullptr;
  for (size_t i = 0; i < (small ? random / 10 : random); ++i)
    cases.push_back({generator(), generator(), generator(), generator()});
  return cases;
}

std::vector<uint64_t> integer_corners(unsigned bits) {
  const uint64_t all = mask_of(bits), top = uint64_t{1} << (bits - 1);
  return {0,   1,       2,       3,       7,       all,         all - 1,
          top, top - 1, top + 1, all / 3, all / 5, all / 3 * 2, 0x1234567890abcdefull & all};
}

}  // namespace ptxwire::sim::lane_test
