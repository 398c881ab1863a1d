// Register allocation against definitions: liveness by searching paths op by op, interference pair by pair,
// and a warp whose diverged lanes run the allocated code in rows beside lanes that own every virtual
// register.
#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>

#include "ptx_frontend/lower/register_allocation.hpp"
#include "tests/ptx_frontend/lower/virtual_programs.hpp"

namespace ptxwire::ptx {
namespace {

using test::add_branch;
using test::add_op;
using test::random_code;

std::vector<uint32_t> successors_of(const VirtualCode& code, uint32_t i) {
  const Op& op = code.ops[i];
  std::vector<uint32_t> next;
  const bool guarded = op.guard.present();
  if (op.opcode == Opcode::bra) next.push_back(op.target);
  if ((op.opcode != Opcode::bra && op.opcode != Opcode::ret) || guarded) next.push_back(i + 1);
  return next;
}

bool reads(const VirtualCode& code, uint32_t i, VirtualRegister r) {
  bool found = false;
  for_each_use(code, i, [&](VirtualRegister used) { found = found || used == r; });
  return found;
}

bool surely_writes(const VirtualCode& code, uint32_t i, VirtualRegister r) {
  bool found = false;
  for_each_definition(code, i, [&](VirtualRegister written) { found = found || written == r; });
  return found && !code.ops[i].guard.present();
}

/// Is there a path from `start` to a read of r without an unconditional write before it?
bool live_before(const VirtualCode& code, uint32_t start, VirtualRegister r) {
  std::vector<bool> seen(code.ops.size(), false);
  std::vector<uint32_t> work = {start};
  while (!work.empty()) {
    const uint32_t i = work.back();
    work.pop_back();
    if (i >= code.ops.size() || seen[i]) continue;
    seen[i] = true;
    if (reads(code, i, r)) return true;
    if (surely_writes(code, i, r)) continue;
    for (const uint32_t next : successors_of(code, i)) work.push_back(next);
  }
  return false;
}

bool live_after(const VirtualCode& code, uint32_t i, VirtualRegister r) {
  for (const uint32_t next : successors_of(code, i))
    if (live_before(code, next, r)) return true;
  return false;
}

bool overlap(const VirtualCode& code, const RegisterAllocation& allocation, VirtualRegister a,
             VirtualRegister b) {
  const bool predicate_a = code.classes[a] == RegisterClass::predicate;
  if (predicate_a != (code.classes[b] == RegisterClass::predicate)) return false;
  const uint32_t end_a = allocation.index[a] + rows_of(code.classes[a]);
  const uint32_t end_b = allocation.index[b] + rows_of(code.classes[b]);
  return allocation.index[a] < end_b && allocation.index[b] < end_a;
}

struct Allocated {
  ControlFlowGraph graph;
  LiveIntervals intervals;
  RegisterAllocation allocation;
};

Allocated allocate(const VirtualCode& code) {
  Allocated result;
  result.graph = build_control_flow(code);
  result.intervals = compute_liveness(code, result.graph);
  result.allocation = allocate_registers(code, result.intervals);
  return result;
}

}  // namespace

TEST_CASE("liveness: random functions agree with a search of paths", "[contract]") {
  std::mt19937 random(11);
  for (int round = 0; round < 60; ++round) {
    const VirtualCode code = random_code(random, 30, 8, round % 2 == 0);
    const Allocated result = allocate(code);
    CAPTURE(round);
    for (uint32_t i = 0; i < code.ops.size(); ++i)
      for (VirtualRegister r = 0; r < code.classes.size(); ++r) {
        CAPTURE(i, r);
        REQUIRE(is_live_at(result.intervals, r, 2 * i) == live_before(code, i, r));
      }
  }
}

TEST_CASE("register allocation: no write hits a register that is still needed", "[contract]") {
  std::mt19937 random(12);
  for (int round = 0; round < 80; ++round) {
    const VirtualCode code = random_code(random, 40, 14, round % 2 == 0);
    const Allocated result = allocate(code);
    CAPTURE(round);
    for (uint32_t i = 0; i < code.ops.size(); ++i) {
      std::vector<VirtualRegister> written, used;
      for_each_definition(code, i, [&](VirtualRegister r) { written.push_back(r); });
      for_each_use(code, i, [&](VirtualRegister r) { used.push_back(r); });
      for (const VirtualRegister d : written) {
        for (VirtualRegister r = 0; r < code.classes.size(); ++r)
          if (r != d && live_after(code, i, r)) REQUIRE_FALSE(overlap(code, result.allocation, d, r));
        for (const VirtualRegister r : used)
          if (r != d) REQUIRE_FALSE(overlap(code, result.allocation, d, r));
        for (const VirtualRegister r : written)
          if (r != d) REQUIRE_FALSE(overlap(code, result.allocation, d, r));
      }
    }
  }
}

TEST_CASE("register allocation: classes keep their alignment and never share rows", "[contract]") {
  std::mt19937 random(13);
  const VirtualCode code = random_code(random, 200, 60, true);
  const Allocated result = allocate(code);
  std::vector<int> class_of_row(result.allocation.rows, -1);
  for (VirtualRegister r = 0; r < code.classes.size(); ++r) {
    const RegisterClass c = code.classes[r];
    if (c == RegisterClass::predicate) {
      REQUIRE(result.allocation.index[r] < result.allocation.predicates);
      continue;
    }
    if (result.intervals.of(r).empty()) continue;
    REQUIRE(result.allocation.index[r] % rows_of(c) == 0);
    for (uint32_t row = result.allocation.index[r]; row < result.allocation.index[r] + rows_of(c); ++row) {
      REQUIRE(row < result.allocation.rows);
      REQUIRE((class_of_row[row] == -1 || class_of_row[row] == static_cast<int>(c)));
      class_of_row[row] = static_cast<int>(c);
    }
  }
}

TEST_CASE("register allocation: a chain of short lives needs two rows", "[analytic]") {
  VirtualCode code;
  VirtualRegister last = code.new_register(RegisterClass::row);
  add_op(code, Opcode::mov, {last});
  for (int i = 0; i < 1000; ++i) {
    const VirtualRegister next = code.new_register(RegisterClass::row);
    add_op(code, Opcode::add, {next}, {last});
    last = next;
  }
  add_op(code, Opcode::st, {}, {last});
  add_op(code, Opcode::ret);
  const Allocated result = allocate(code);
  CHECK(result.allocation.rows == 2);
  CHECK(peak_pressure(code, result.intervals) == 1);
}

namespace {

/// A value that depends on everything the op reads.
uint64_t mix(uint64_t seed, uint64_t value) {
  seed ^= value + 0x9E3779B97F4A7C15ULL + (seed << 6) + (seed >> 2);
  return seed * 0xD6E8FEB86659FD93ULL;
}

constexpr uint32_t kLanes = 32;

/// A register file as program.hpp lays it out.
struct Rows {
  explicit Rows(const RegisterAllocation& allocation)
      : bytes(allocation.rows * 128 + 128, 0), predicates(allocation.predicates + 1, 0) {}

  uint64_t get(RegisterClass c, uint32_t index, uint32_t lane) const {
    uint64_t value = 0;
    if (c == RegisterClass::predicate) return predicates[index] >> lane & 1;
    if (c == RegisterClass::row) {
      std::memcpy(&value, &bytes[index * 128 + lane * 4], 4);
      return value;
    }
    std::memcpy(&value, &bytes[index * 128 + lane * 8], 8);
    uint64_t high = 0;
    if (c == RegisterClass::quad) std::memcpy(&high, &bytes[index * 128 + 256 + lane * 8], 8);
    return c == RegisterClass::quad ? mix(value, high) : value;
  }

  void set(RegisterClass c, uint32_t index, uint32_t lane, uint64_t value) {
    if (c == RegisterClass::predicate) {
      predicates[index] = (predicates[index] & ~(1U << lane)) | static_cast<uint32_t>(value & 1) << lane;
      return;
    }
    std::memcpy(&bytes[index * 128 + lane * (c == RegisterClass::row ? 4 : 8)], &value,
                c == RegisterClass::row ? 4 : 8);
    const uint64_t high = ~value;
    if (c == RegisterClass::quad) std::memcpy(&bytes[index * 128 + 256 + lane * 8], &high, 8);
  }

  std::vector<uint8_t> bytes;
  std::vector<uint32_t> predicates;
};

struct Lane {
  uint32_t pc = 0;
  uint32_t steps = 0;
  std::vector<uint64_t> registers;  // one per virtual register, never shared
};

}  // namespace

TEST_CASE("register allocation: diverged lanes compute what they would with registers of their own",
          "[contract]") {
  std::mt19937 random(14);
  for (int round = 0; round < 60; ++round) {
    const VirtualCode code = random_code(random, 50, 16, true);
    const Allocated result = allocate(code);
    Rows rows(result.allocation);
    // The layout that Rows gives a register: what lands in a row is cut to 32 bits, a predicate to one.
    const auto cut = [&](VirtualRegister r, uint64_t value) {
      switch (code.classes[r]) {
        case RegisterClass::predicate:
          return value & 1;
        case RegisterClass::row:
          return value & 0xFFFFFFFFU;
        case RegisterClass::pair:
          return value;
        default:
          return mix(value, ~value);
      }
    };
    std::vector<Lane> lanes(kLanes);
    for (Lane& lane : lanes) lane.registers.assign(code.classes.size(), 0);
    CAPTURE(round);
    for (int turn = 0; turn < 6000; ++turn) {
      const uint32_t l = random() % kLanes;
      Lane& lane = lanes[l];
      if (lane.pc >= code.ops.size() || lane.steps > 400) continue;
      ++lane.steps;
      const uint32_t i = lane.pc;
      const Op& op = code.ops[i];
      uint64_t own = mix(i, l);
      bool guard = true;
      for_each_use(code, i, [&](VirtualRegister r) {
        const uint64_t expected = lane.registers[r];
        const uint64_t found = rows.get(code.classes[r], result.allocation.index[r], l);
        CAPTURE(i, r, l);
        REQUIRE(found == expected);
        own = mix(own, expected);
      });
      if (op.guard.present()) guard = (lane.registers[code.operands[i].guard] & 1) != 0;
      lane.pc = i + 1;
      if (!guard) continue;
      if (op.opcode == Opcode::bra) lane.pc = op.target;
      if (op.opcode == Opcode::ret) lane.pc = UINT32_MAX;
      for_each_definition(code, i, [&](VirtualRegister r) {
        own = mix(own, r);
        lane.registers[r] = cut(r, own);
        rows.set(code.classes[r], result.allocation.index[r], l, own);
      });
    }
  }
}

namespace {

/// Code shaped like a large unrolled kernel: short-lived values, some long-lived ones, branches over short
/// distances.
VirtualCode large_kernel(std::mt19937& random, uint32_t length) {
  VirtualCode code;
  const VirtualRegister guard = code.new_register(RegisterClass::predicate);
  add_op(code, Opcode::setp, {guard});
  std::vector<VirtualRegister> kept, recent;
  for (int k = 0; k < 100; ++k) {
    kept.push_back(code.new_register(k % 3 == 0 ? RegisterClass::pair : RegisterClass::row));
    add_op(code, Opcode::mov, {kept.back()});
  }
  recent = kept;
  const auto first = static_cast<uint32_t>(code.ops.size());
  for (uint32_t i = 0; i < length; ++i) {
    if (random() % 20 == 0) {
      const uint32_t from = i > 200 ? i - 200 : 0;
      add_branch(code, first + from + random() % (i - from + 1), guard);
      continue;
    }
    const VirtualRegister result = code.new_register(static_cast<RegisterClass>(random() % 3));
    add_op(code, Opcode::add, {result},
           {recent[recent.size() - 1 - random() % 50], kept[random() % kept.size()]});
    recent.push_back(result);
  }
  add_op(code, Opcode::ret);
  return code;
}

}  // namespace

TEST_CASE("register allocation: a function of 50,000 ops takes well under a second", "[timing]") {
  std::mt19937 random(15);
  const VirtualCode code = large_kernel(random, 50000);
  const auto begin = std::chrono::steady_clock::now();
  const Allocated result = allocate(code);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  CHECK(result.allocation.rows >= 133);  // the 100 kept ones alone
  CHECK(elapsed.count() < 5.0);          // with sanitizers on a loaded machine; a tenth of a second otherwise
}

}  // namespace ptxwire::ptx
