// Time of one warp operation: 32 lanes, fully active unless the name says "partial". One case per operation
// class, and the operations that communication kernels execute most.
#include <benchmark/benchmark.h>

#include <array>
#include <cstring>
#include <functional>
#include <vector>

#include "sim/exec/lane_ops.hpp"

namespace {

using namespace ptxwire;  // NOLINT(google-build-using-namespace)
using ptx::Opcode;
using ptx::Slot;
using ptx::Type;
using sim::LaneVariant;

struct Case {
  const char* name;
  Opcode opcode;
  Type type;
  std::function<void(ptx::Op&)> adjust;
};

Slot slot(Slot::Kind kind, int index, bool wide = false) {
  Slot result;
  result.kind = kind;
  result.index = static_cast<uint16_t>(index);
  result.rows = wide ? 2 : 1;
  return result;
}

void run(benchmark::State& state, const Case& c, LaneVariant variant, uint32_t active) {
  ptx::Op op;
  op.opcode = c.opcode;
  op.modifiers.type = c.type;
  op.dst[0] = slot(Slot::Kind::reg, 0);
  for (int s = 0; s < 4; ++s) op.src[static_cast<size_t>(s)] = slot(Slot::Kind::reg, 4 + 4 * s);
  if (c.adjust) c.adjust(op);
  const sim::LaneOp lane_op = select_lane_op(op, variant);
  if (lane_op == nullptr) {
    state.SkipWithError("no semantics");
    return;
  }
  alignas(64) std::array<uint32_t, 32 * 32> rows;
  std::vector<uint32_t> constants32(64), predicates(8, 0x0ff00ff0);
  std::vector<uint64_t> constants64(64);
  for (size_t i = 0; i < rows.size(); ++i) {
    const float value = 1.0f + static_cast<float>(i % 97);
    std::memcpy(&rows[i], &value, 4);
  }
  for (size_t i = 0; i < 64; ++i) constants64[i] = constants32[i] = 0x0123;
  const sim::LaneFrame frame{rows.data(), predicates.data(), constants32.data(), constants64.data(), nullptr};
  for (auto _ : state) {
    lane_op(op, frame, active);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations());
}

const std::vector<Case> kCases = {
    {"mov.b32", Opcode::mov, Type::b32, {}},
    {"add.s32", Opcode::add, Type::s32, {}},
    {"add.s64", Opcode::add, Type::s64, {}},
    {"mul.lo.s32", Opcode::mul, Type::s32, {}},
    {"mul.wide.s32", Opcode::mul, Type::s32, [](ptx::Op& op) { op.modifiers.half = ptx::HalfSelect::wide; }},
    {"mad.lo.s32", Opcode::mad, Type::s32, [](ptx::Op& op) { op.modifiers.half = ptx::HalfSelect::lo; }},
    {"rem.s32", Opcode::rem, Type::s32, {}},
    {"shl.b32", Opcode::shl, Type::b32, {}},
    {"shl.b64", Opcode::shl, Type::b64, {}},
    {"and.b32", Opcode::and_op, Type::b32, {}},
    {"prmt.b32 0x0123", Opcode::prmt, Type::b32,
     [](ptx::Op& op) { op.src[2] = slot(Slot::Kind::constant, 0); }},
    {"selp.b32", Opcode::selp, Type::b32, [](ptx::Op& op) { op.src[2] = slot(Slot::Kind::predicate, 1); }},
    {"setp.lt.s32", Opcode::setp, Type::s32,
     [](ptx::Op& op) {
       op.modifiers.compare = ptx::Compare::lt;
       op.dst[0] = slot(Slot::Kind::predicate, 0);
     }},
    {"setp.eq.s64", Opcode::setp, Type::s64,
     [](ptx::Op& op) {
       op.modifiers.compare = ptx::Compare::eq;
       op.dst[0] = slot(Slot::Kind::predicate, 0);
     }},
    {"add.f32", Opcode::add, Type::f32, {}},
    {"fma.rn.f32", Opcode::fma, Type::f32, [](ptx::Op& op) { op.modifiers.rounding = ptx::Rounding::rn; }},
    {"fma.rz.f32", Opcode::fma, Type::f32, [](ptx::Op& op) { op.modifiers.rounding = ptx::Rounding::rz; }},
    {"max.f32", Opcode::max, Type::f32, {}},
    {"div.rn.f32", Opcode::div, Type::f32, [](ptx::Op& op) { op.modifiers.rounding = ptx::Rounding::rn; }},
    {"ex2.approx.f32", Opcode::ex2, Type::f32, [](ptx::Op& op) { op.modifiers.approx = true; }},
    {"add.bf16", Opcode::add, Type::bf16, {}},
    {"mul.bf16x2", Opcode::mul, Type::bf16x2, {}},
    {"fma.rn.f16x2", Opcode::fma, Type::f16x2, {}},
    {"cvt.f32.bf16", Opcode::cvt, Type::f32, [](ptx::Op& op) { op.modifiers.source_type = Type::bf16; }},
    {"cvt.rn.bf16.f32", Opcode::cvt, Type::bf16,
     [](ptx::Op& op) {
       op.modifiers.source_type = Type::f32;
       op.modifiers.rounding = ptx::Rounding::rn;
     }},
    {"cvt.f32.f16", Opcode::cvt, Type::f32, [](ptx::Op& op) { op.modifiers.source_type = Type::f16; }},
    {"cvt.rn.f16.f32", Opcode::cvt, Type::f16,
     [](ptx::Op& op) {
       op.modifiers.source_type = Type::f32;
       op.modifiers.rounding = ptx::Rounding::rn;
     }},
    {"cvt.s64.s32", Opcode::cvt, Type::s64,
     [](ptx::Op& op) {
       op.modifiers.source_type = Type::s32;
       op.dst[0] = slot(Slot::Kind::reg, 0, true);
     }},
    {"cvt.rn.satfinite.e4m3x2.f32", Opcode::cvt, Type::e4m3x2,
     [](ptx::Op& op) {
       op.modifiers.source_type = Type::f32;
       op.modifiers.rounding = ptx::Rounding::rn;
       op.modifiers.satfinite = true;
     }},
    {"cvt.rn.f16x2.e4m3x2", Opcode::cvt, Type::f16x2,
     [](ptx::Op& op) {
       op.modifiers.source_type = Type::e4m3x2;
       op.modifiers.rounding = ptx::Rounding::rn;
     }},
    {"shfl.sync.bfly.b32", Opcode::shfl, Type::b32,
     [](ptx::Op& op) { op.modifiers.shuffle = ptx::ShuffleMode::bfly; }},
    {"vote.sync.all.pred", Opcode::vote, Type::pred,
     [](ptx::Op& op) {
       op.modifiers.vote = ptx::VoteMode::all;
       op.dst[0] = slot(Slot::Kind::predicate, 0);
       op.src[0] = slot(Slot::Kind::predicate, 1);
       op.src[1] = slot(Slot::Kind::constant, 0);
     }},
};

}  // namespace

int main(int argc, char** argv) {
  for (const LaneVariant variant : {LaneVariant::baseline, LaneVariant::avx2}) {
    if (!sim::lane_variant_available(variant)) continue;
    const std::string suffix = variant == LaneVariant::avx2 ? "/avx2" : "/baseline";
    for (const Case& c : kCases) {
      benchmark::RegisterBenchmark((c.name + suffix).c_str(),
                                   [&c, variant](benchmark::State& s) { run(s, c, variant, ~0u); });
    }
    benchmark::RegisterBenchmark(("add.s32 partial" + suffix).c_str(),
                                 [variant](benchmark::State& s) { run(s, kCases[1], variant, 0x5a0f33c1u); });
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
